from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenantry_registry import script


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import './a.js'", ["./a.js"]),
        ("import a from './a.js'", ["./a.js"]),
        ('import a, {b as c, default as d} from\n"./a.js";', ["./a.js"]),
        ("import * as ns from './a.js' with {type: 'json'}", ["./a.js"]),
        ("import {'string name' as x} from './a.js'", ["./a.js"]),
        ("import from from './a.js'", ["./a.js"]),
        ("import defer * as x from './a.js'; import source y from './b.wasm'", ["./a.js", "./b.wasm"]),
        (
            "export * from './a.js'; export * as n from './b.js'; export {x} from './c.js'",
            ["./a.js", "./b.js", "./c.js"],
        ),
        ("export const from = './no.js'; export default './no.js'; export {a}; './no'", []),
        ("const m = await import('./a.js')", ["./a.js"]),
        ("import(`./a.js`); import('./b.js', {with: {type: 'json'}})", ["./a.js", "./b.js"]),
        ("import.defer('./a.js'); import.source('./b.wasm'); import.meta.url", ["./a.js", "./b.wasm"]),
        ("import(x + './no.js'); import('./no' + x); import(`./${x}.js`)", []),
        ("new URL('./a.png', import.meta.url); new URL('./no.png', base); new URL(x, import.meta.url)", ["./a.png"]),
        ("x.import('./no.js'); y?.import('./no.js'); importScripts('./no.js')", []),
        ("// import './no.js'\n/* import './no.js' */ 'import \"./no.js\"'; `import './no.js'`", []),
        ("const r = /import '.\\/no.js'/; import './a.js'", ["./a.js"]),
        ("a = b / c; import './a.js'; d = e / f", ["./a.js"]),
        ("if (x) /['\"]/.test(y); import './a.js'", ["./a.js"]),
        ("(x) / 2; '/'; import './a.js'", ["./a.js"]),
        ("function f() {} /'/.test(x); import './a.js'", ["./a.js"]),
        ("x = {} / 2; import './a.js' // /", ["./a.js"]),
        ("x = [1] / 2; import './a.js' // /", ["./a.js"]),
        ("return /'/; import './a.js'", ["./a.js"]),
        ("x = `a${ {b: `c${import('./a.js')}`} }d`; import './b.js'", ["./a.js", "./b.js"]),
        ("/[/'\"]/.x; import './a.js'", ["./a.js"]),
        ("import '\\u002e/\\x61\\u{2e}js'", ["./a.js"]),
        ("import './a\\\nb.js'", ["./ab.js"]),
        ("#!/usr/bin/env node\nimport './a.js'", ["./a.js"]),
        ("class A { #x = 1; import() { return this.#x / 2 } } import './a.js'", ["./a.js"]),
        ("import {a; './no.js'", []),
        ("import a './no.js'", []),
        ("import {a} from `./no.js`", []),
        ("import a from b from './a.js'", ["./a.js"]),
        ("import", []),
        ("export", []),
        ("import '", []),
        ("import(", []),
        ("import x from", []),
        ("}}) import './a.js' `", ["./a.js"]),
        ("let x = 1_000.5e+3n / .5; import './a.js'", ["./a.js"]),
        ("nothing here", []),
    ],
)
def test_specifiers_are_found_where_modules_are_loaded(source: str, expected: list[str]) -> None:
    found = script.specifiers(source)
    assert [specifier.value for specifier in found] == expected
    for specifier in found:
        assert source[specifier.start] == source[specifier.end - 1]


def test_escapes_beyond_unicode_stand_for_the_replacement_character() -> None:
    (specifier,) = script.specifiers("import '\\u{110000}\\n\\q'")
    assert specifier.value == "\ufffd\nq"


@given(st.text(alphabet="import export from'\"`/${}()[]\\*\n.;:=>x1", max_size=80))
def test_the_lexer_reads_anything_to_its_end_without_losing_a_character(source: str) -> None:
    last = 0
    for token in script.tokens(source):
        between = source[last : token.start]
        assert not between.strip() or between.lstrip().startswith(("//", "/*", "#!"))
        assert source[token.start : token.end] == token.text != ""
        last = token.end
    script.specifiers(source)
