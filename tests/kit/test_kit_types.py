"""Type checkers see what the kit promises: misuse is underlined before anything runs."""

from __future__ import annotations

from pathlib import Path

from mypy import api

RIGHT = '''
from pydantic import BaseModel
from tenantry import Context, Plugin, Profile, Result

plugin = Plugin()


class Confirm(BaseModel):
    sure: bool


@plugin.tool(read_only=True, destructive=False, open_world=False)
def ask(ctx: Context, count: int = 1) -> Result[Confirm]:
    """Asks."""
    given: Confirm = ctx.elicit("Sure?", Confirm)
    visited: bool = ctx.elicit("Pay.", url="https://pay.example")
    locale: str = ctx.locale or "en"
    return Result(given, content=f"{visited} {locale}", meta={"a": 1})


@plugin.profile
def whoami(ctx: Context) -> Profile:
    return Profile(id=ctx.user.sub)


@plugin.prompt(title="Story")
def story(animal: str) -> str:
    """Tells."""
    return animal


@plugin.prompt
def plain() -> str:
    """Plain."""
    return ask.__name__ + str(whoami) + story("a")
'''
WRONG = '''
from tenantry import CSP, Context, Plugin, Widget

plugin = Plugin()
Widget("a.html", csp=CSP(frame=["https://a.example"]))  # [arg-type]
Widget("a.html", display_modes=["modal"])  # [list-item]


@plugin.tool(read_only=True, destructive=False)  # [call-arg]
def forgotten(ctx: Context) -> str:
    """Forgotten."""
    ctx.subject + 1  # [operator]
    return str(ctx.elicit("Sure?", str, url="x"))  # [call-overload]


@plugin.tool(read_only=True, destructive=False, open_world=False, visibility=["host"])  # [list-item]
def hidden() -> str:
    """Hidden."""
    return ""
'''


def test_right_code_passes_strictly_and_each_wrong_line_is_reported(tmp_path: Path):
    files = [tmp_path / "right.py", tmp_path / "wrong.py"]
    for path, code in zip(files, (RIGHT, WRONG), strict=True):
        path.write_text(code)
    cache = Path(__file__).parents[2] / ".mypy_cache" / "authors"
    options = ["--strict", "--follow-imports=silent", "--no-error-summary", "--config-file=", f"--cache-dir={cache}"]
    told, trouble, _ = api.run([*options, *map(str, files)])
    assert not trouble
    errors = [line.split(":") for line in told.splitlines() if ": error: " in line]
    reported = {(Path(name).name, int(number), "[" + rest[-1].rpartition("[")[2]) for name, number, *rest in errors}
    expected = {
        ("wrong.py", number, text.rpartition("# ")[2])
        for number, text in enumerate(WRONG.splitlines(), 1)
        if "# [" in text
    }
    assert reported == expected
