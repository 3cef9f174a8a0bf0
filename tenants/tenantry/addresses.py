"""Which addresses a tool's download may go to: public ones. Everything else is somebody's inside (CWE-918)."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

_NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
_6TO4 = IPv6Network("2002::/16")
_TEREDO = IPv6Network("2001::/32")
_COMPATIBLE = IPv6Network("::/96")


def is_public(text: str) -> bool:
    """Whether an address, as the resolver writes it, is public: also not private by way of an IPv6 form of IPv4."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address) and (inner := _embedded(address)) is not None:
        return _is_public(inner)
    return _is_public(address)


def is_loopback(text: str) -> bool:
    address = ip_address(text.partition("%")[0])
    inner = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (inner or address).is_loopback


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    return address.is_global and not address.is_multicast and not address.is_reserved


def _embedded(address: IPv6Address) -> IPv4Address | None:
    number = int(address)
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _6TO4:
        return IPv4Address((number >> 80) & 0xFFFFFFFF)
    if any(address in network for network in _NAT64) or (address in _COMPATIBLE and number > 1):
        return IPv4Address(number & 0xFFFFFFFF)
    if address in _TEREDO:
        return IPv4Address(~number & 0xFFFFFFFF)
    return None
