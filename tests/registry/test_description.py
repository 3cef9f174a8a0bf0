from __future__ import annotations

from typing import Any

import pytest
from tenantry_registry.description import place, read
from tenantry_registry.errors import PlatformError

TOOL = {"name": "a", "inputSchema": {"type": "object"}}


@pytest.mark.parametrize(
    ("raw", "code", "says"),
    [
        ({"kind": "other"}, "describe.invalid", "kind"),
        ({"kind": "kit", "tools": [{"name": "a"}]}, "describe.invalid", "tools.0.inputSchema"),
        ({"kind": "kit", "tools": [{**TOOL, "colour": 1}]}, "describe.invalid", "tools.0.colour"),
        ({"kind": "kit", "widgets": [{"name": "a/b"}]}, "describe.invalid", "widgets.0.name"),
        ({"kind": "kit", "tools": [TOOL] * 1001}, "describe.invalid", "tools"),
        ({"kind": "kit", "tools": "none"}, "describe.invalid", "tools"),
        ({"kind": "kit", "protocol": 2}, "describe.protocol", "protocol 2"),
    ],
)
def test_what_code_says_of_itself_is_refused_where_its_shape_is_wrong(
    raw: dict[str, Any], code: str, says: str
) -> None:
    with pytest.raises(PlatformError) as error:
        read(raw)
    assert error.value.code == code
    assert says in error.value.message


def test_a_newer_kit_may_say_more_about_the_whole() -> None:
    assert read({"kind": "kit", "tools": [TOOL], "news": 1}).tools == [TOOL]


def test_an_entry_knows_where_its_author_wrote_it() -> None:
    assert str(place({"source": {"file": "server.py", "line": 3}})) == "server.py:3"
    assert str(place({"source": {"file": "server.py"}})) == "server.py"
    assert str(place({})) == ""
