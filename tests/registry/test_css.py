from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenantry_registry import css


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a{b:url(x.png)}", [("url(x.png)", "x.png")]),
        ("a{b:url( x.png )}", [("url( x.png )", "x.png")]),
        ("a{b:url('x y.png')}", [("'x y.png'", "x y.png")]),
        ('a{b:URL("x\\"y")}', [('"x\\"y"', 'x"y')]),
        ("a{b:u\\72l(x.png)}", [("u\\72l(x.png)", "x.png")]),
        ("@import 'a.css';", [("'a.css'", "a.css")]),
        ("@import url(a.css) screen;b{c:'no'}", [("url(a.css)", "a.css")]),
        ('@IMPORT "a.css" layer(x) supports(display:grid);', [('"a.css"', "a.css")]),
        ("@namespace url(http://www.w3.org/2000/svg);@namespace x 'y';", []),
        ("@namespace url('http://www.w3.org/1999/xhtml');a{b:url(c)}", [("url(c)", "c")]),
        (
            "a{b:image-set('x.png' 1x, url(y.png) 2x type('image/png'))}",
            [("'x.png'", "x.png"), ("url(y.png)", "y.png")],
        ),
        ("@font-face{src:local('x'),url(f.woff2)format('woff2')}", [("url(f.woff2)", "f.woff2")]),
        ("/* url(no.png) */a{content:'url(no.png)'}", []),
        ("a{--x:url(x.png)}", [("url(x.png)", "x.png")]),
        ("@media (min-width:1px){a{b:url(x)}}", [("url(x)", "x")]),
        ("a[href=url]{b:[url(x)] (url(y))}", [("url(x)", "x"), ("url(y)", "y")]),
        ("background:url(x", [("url(x", "x")]),
        ("a{b:url(a b)}c{d:url(e)}", [("url(e)", "e")]),
        ("a{b:1}", []),
        ("a{b:\n\nurl(x)}\n.c{d:src('e')}", [("url(x)", "x"), ("'e'", "e")]),
        ("@import '", [("'", "")]),
    ],
)
def test_urls_are_found_where_css_loads_something(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(text[found.start : found.end], found.url) for found in css.urls(text)] == expected


def test_a_replacement_is_written_so_that_no_character_can_end_it() -> None:
    whole, string = css.urls("a{b:url(x)}@import 'y';")
    assert css.written(whole, "https://a/x%20y") == 'url("https://a/x%20y")'
    assert css.written(string, "https://a/y") == '"https://a/y"'


@given(st.text(alphabet="url(src)'\"\\\n;{}@import /*image-set, x", max_size=60))
def test_whatever_the_text_the_places_are_inside_it_and_in_order(text: str) -> None:
    last = 0
    for found in css.urls(text.replace("\r", "")):
        assert last <= found.start < found.end <= len(text)
        last = found.end
