"""Who may do what: one table of function, actions and key prefixes, from which the roles' policies are written.

The folder is the role and the role is the permission. What is not in a row is not allowed; tests/infra evaluates the
synthesised policies, action by resource, for what must be allowed and for what must be denied. No statement names a
tenant: a gateway serves them all, and what keeps tenants apart in it is code. What keeps tenants' code away from the
data is that its function's role has no row here at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from aws_cdk import aws_iam as iam

from tenantry_infra.place import Place

READ: Final = ("s3:GetObject",)
WRITE: Final = ("s3:PutObject",)
REMOVE: Final = ("s3:DeleteObject",)
ERASE: Final = ("s3:DeleteObject", "s3:DeleteObjectVersion")
COUNT: Final = ("dynamodb:UpdateItem",)
READ_AND_FORGET: Final = ("dynamodb:Query", "dynamodb:DeleteItem")


@dataclass(frozen=True, slots=True)
class Permission:
    """The rights of one function: S3 actions by key prefix, prefixes it may list, tables, keys, functions, logs."""

    objects: Mapping[tuple[str, ...], tuple[str, ...]]
    lists: tuple[str, ...] = ()
    list_versions: bool = False
    tables: Mapping[str, tuple[str, ...]] = ()  # type: ignore[assignment]
    data_key: tuple[str, ...] = ("kms:Decrypt", "kms:GenerateDataKey")
    secrets_key: tuple[str, ...] = ()
    invokes: tuple[str, ...] = ()
    reads_logs_of: tuple[str, ...] = ()


SANDBOXES: Final = ("sandbox-public", "sandbox-closed")
# Everything that is kept of a tenant stands below one of these (tenantry_registry.tenants.ROOMS): what erasing empties.
OF_TENANTS: Final = (
    "bundles", "releases", "site", "widgets", "plugins", "secrets", "state", "pending", "files", "usage", "uploads",
    "publishes", "contracts", "tokens", "audit", "logs",
)  # fmt: skip

PERMISSIONS: Final[Mapping[str, Permission]] = {
    # Reads what it serves; writes files/, state/, pending/ and usage. Signing a download or an upload needs the
    # right that the signed request uses.
    "gateway": Permission(
        objects={
            READ: (
                "tenants",
                "plugins",
                "releases",
                "widgets",
                "site",
                "bundles",
                "secrets",
                "state",
                "pending",
                "files",
                "keys",
            ),
            WRITE: ("files", "state", "pending"),
            REMOVE: ("pending", "files"),
        },
        lists=("files",),
        tables={"limits": COUNT, "usage": COUNT},
        secrets_key=("kms:Decrypt",),
        invokes=SANDBOXES,
    ),
    # Writes secrets and can't read them back: neither the object nor the key.
    "control": Permission(
        objects={
            READ: (
                "tenants",
                "tokens",
                "plugins",
                "releases",
                "widgets",
                "publishes",
                "contracts",
                "audit",
                "files",
                "keys",
            ),
            WRITE: ("tenants", "tokens", "plugins", "uploads", "publishes", "contracts", "secrets", "audit", "keys"),
            ERASE: ("tenants", *OF_TENANTS),
        },
        lists=("tenants", *OF_TENANTS),
        list_versions=True,
        tables={"usage": READ_AND_FORGET},
        secrets_key=("kms:GenerateDataKey",),
        invokes=("publisher",),
        reads_logs_of=("gateway", "publisher"),
    ),
    # Unpacks what a tenant sent. No right on tokens, tenants, secrets.
    "publisher": Permission(
        objects={
            READ: ("uploads", "bundles", "releases", "widgets", "site", "plugins", "publishes", "contracts"),
            WRITE: ("bundles", "releases", "widgets", "site", "plugins", "publishes", "audit"),
            REMOVE: ("uploads",),
        },
        lists=("releases", "widgets", "site"),
        invokes=SANDBOXES,
    ),
}

# The sandbox with the open internet has no permission at all. The closed one runs in a network, and Lambda makes its
# interfaces with the function's own role; function code with the same role is denied them (Lambda developer guide,
# "Giving Lambda functions access to resources in a VPC": lambda:SourceFunctionArn).
INTERFACES: Final = (
    "ec2:CreateNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:DeleteNetworkInterface",
    "ec2:AssignPrivateIpAddresses",
    "ec2:UnassignPrivateIpAddresses",
)  # fmt: skip


def statements(room: str, place: Place, *, data_key: str, secrets_key: str) -> list[iam.PolicyStatement]:
    """The policy of the function `room`; `data_key` and `secrets_key` are the keys' ARNs."""
    rights = PERMISSIONS[room]
    found = [
        _allow(actions, *(f"{place.bucket_arn}/{prefix}/*" for prefix in prefixes))
        for actions, prefixes in rights.objects.items()
    ]
    if rights.lists:
        listing = _allow(("s3:ListBucket",), place.bucket_arn)
        listing.add_condition("StringLike", {"s3:prefix": [f"{prefix}/*" for prefix in rights.lists]})
        found.append(listing)
    if rights.list_versions:
        versions = _allow(("s3:ListBucketVersions",), place.bucket_arn)
        versions.add_condition("StringLike", {"s3:prefix": [f"{prefix}/*" for prefix in rights.lists]})
        found.append(versions)
    found += [_allow(actions, place.table_arn(table)) for table, actions in dict(rights.tables).items()]
    found.append(_allow(rights.data_key, data_key))
    if rights.secrets_key:
        found.append(_allow(rights.secrets_key, secrets_key))
    found += [
        _allow(("lambda:InvokeFunction",), place.function_arn(other), f"{place.function_arn(other)}:*")
        for other in rights.invokes
    ]
    found += [  # AWS's pages name a log group with and without the star at its end
        _allow(("logs:FilterLogEvents",), place.log_group_arn(other), f"{place.log_group_arn(other)}:*")
        for other in rights.reads_logs_of
    ]
    own = f"{place.log_group_arn(room)}:*"
    return [*found, _allow(("logs:CreateLogStream", "logs:PutLogEvents"), own)]


def closed_statements(place: Place) -> list[iam.PolicyStatement]:
    """The policy of the sandbox in the closed network: interfaces for Lambda, nothing for the code it runs."""
    denied = iam.PolicyStatement(
        sid="NotForFunctionCode", effect=iam.Effect.DENY, actions=list(INTERFACES), resources=["*"]
    )
    denied.add_condition("ArnEquals", {"lambda:SourceFunctionArn": place.function_arn("sandbox-closed")})
    return [iam.PolicyStatement(sid="ForLambdaItself", actions=list(INTERFACES), resources=["*"]), denied]


def _allow(actions: tuple[str, ...], *resources: str) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=list(actions), resources=list(resources))
