"""The rule of module scripts: static imports are followed as a browser follows them."""

from __future__ import annotations

import pytest
from tenantry_registry.rules_modules import check_modules
from tenantry_registry.widgets import compile_widget

PAGE = "<script type=module src=./app.js></script>"


def told(page: str, **files: str) -> list[tuple[str, str, str]]:
    paths = {f"w/a/{path.replace('__', '/')}.js": text.encode() for path, text in files.items()}
    bundle = {"w/a/index.html": page.encode(), **paths}
    declared = {"name": "a", "file": "w/a/index.html"}
    widget = compile_widget(declared, bundle, uses_files=False)
    return [(f.code, str(f.place), f.message) for f in check_modules([widget, widget])]


def test_a_mistyped_import_is_told_once_with_its_line() -> None:
    found = told(PAGE, app="// the widget\nimport { call } from './brigde.js'\n", bridge="")
    assert found == [("asset.missing", "w/a/app.js:2", "'./brigde.js' is not beside app.js.")]


def test_imports_are_followed_from_module_to_module_and_cycles_end() -> None:
    files = {"app": "import './lib/b.js?v=1'", "lib__b": "export * from '../app.js'\nexport { x } from './no.js'"}
    assert told(PAGE, **files) == [("asset.missing", "w/a/lib/b.js:2", "'./no.js' is not beside lib/b.js.")]


def test_an_inline_module_is_where_the_walk_may_begin() -> None:
    found = told("<script type=module>import './app.js'</script>", app="import './no.js'")
    assert found == [("asset.missing", "w/a/app.js:1", "'./no.js' is not beside app.js.")]


def test_a_module_from_outside_its_folder_or_from_the_host_s_root_does_not_load() -> None:
    assert [code for code, _, _ in told(PAGE, app="import '../../x.js'")] == ["asset.outside"]
    found = told(PAGE, app="import '/b.js'", b="")
    assert found == [("asset.missing", "w/a/app.js:1", "'/b.js' is not beside app.js.")]


@pytest.mark.parametrize(
    ("page", "code"),
    [
        (PAGE, "import('./no.js'); import 'react'; import 'https://cdn.example/x.js'; import '//cdn.example/x.js'"),
        (PAGE, "new URL('./no.png', import.meta.url)"),
        ("<script src=app.js></script>", "import './no.js'"),
        ("<script type=module src=https://cdn.example/app.js></script>", "import './no.js'"),
        ("<script type=module src=//cdn.example/app.js></script>", "import './no.js'"),
        ("<script type=module src=gone.js></script>", "import './no.js'"),
    ],
)
def test_what_a_browser_can_do_without_or_what_others_judge_is_left_alone(page: str, code: str) -> None:
    assert told(page, app=code) == []


def test_a_widget_written_as_a_string_has_no_modules() -> None:
    widget = compile_widget({"name": "a", "html": PAGE}, {}, uses_files=False)
    assert list(check_modules([widget])) == []
