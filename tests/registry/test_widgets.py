"""The widget compiler: which URLs it changes, that it changes nothing else, and what its hashes depend on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenantry_registry.errors import PlatformError
from tenantry_registry.manifest import ORIGIN
from tenantry_registry.names import Name
from tenantry_registry.widgets import Compiled, asset_key, bare_uri, compile_widget, published_uri, split_uri

NAME = Name("acme", "zoo")
HERE = "https://T/"


def compiled(page: str | bytes, files: dict[str, bytes] | None = None, **declared: Any) -> Compiled:
    data = page.encode() if isinstance(page, str) else page
    bundle = {"server.py": b"", "w/a/index.html": data, **{f"w/a/{path}": b for path, b in (files or {}).items()}}
    return compile_widget({"name": "a", "file": "w/a/index.html", **declared}, bundle, uses_files=False)


def written(page: str, files: dict[str, bytes] | None = None) -> str:
    """The compiled HTML, with `https://T/` for the tree's address."""
    widget = compiled(page, files)
    return widget.html.decode().replace(f"{ORIGIN}/assets/{widget.tree.hash}/", HERE)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<img src='a.png'>", "<img src='https://T/a.png'>"),
        ('<img src="./a.png">', '<img src="https://T/a.png">'),
        ("<img src=a.png>", '<img src="https://T/a.png">'),
        ("<img src=/a.png>", '<img src="https://T/a.png">'),
        ("<img src='sub/../a.png?x=1&amp;y=2#z'>", "<img src='https://T/a.png?x=1&amp;y=2#z'>"),
        ("<img src='a b\".png'>", "<img src='https://T/a%20b%22.png'>"),
        ("<img src='a%20b.png'>", "<img src='https://T/a%20b.png'>"),
        ("<img src='a\\b.png'>", "<img src='https://T/a/b.png'>"),
        ("<img src=' a\n.png '>", "<img src='https://T/a.png'>"),
        ("<img src='./'>", "<img src='https://T/index.html'>"),
        ("<img src='?x'>", "<img src='https://T/index.html?x'>"),
        ("<img src='../../x.png'>", "<img src='https://T/x.png'>"),
        (
            "<img srcset='a.png, b.png 2x,c.png 100w'>",
            "<img srcset='https://T/a.png, https://T/b.png 2x,https://T/c.png 100w'>",
        ),
        ("<img srcset='a.png (x, y), b,c.png'>", "<img srcset='https://T/a.png (x, y), https://T/b,c.png'>"),
        ("<img srcset='a.png, '>", "<img srcset='https://T/a.png, '>"),
        ("<source srcset=a.png>", '<source srcset="https://T/a.png">'),
        (
            "<link rel=preload imagesrcset='a.png 1x' href=b.png>",
            "<link rel=preload imagesrcset='https://T/a.png 1x' href=\"https://T/b.png\">",
        ),
        ("<video src=a.mp4 poster=b.png></video>", '<video src="https://T/a.mp4" poster="https://T/b.png"></video>'),
        ("<audio src=a><track src=b></audio>", '<audio src="https://T/a"><track src="https://T/b"></audio>'),
        ("<object data=a></object><embed src=b>", '<object data="https://T/a"></object><embed src="https://T/b">'),
        ("<input type=image src=a>", '<input type=image src="https://T/a">'),
        ("<body background=a>", '<body background="https://T/a">'),
        ("<link rel='icon stylesheet' href=a>", "<link rel='icon stylesheet' href=\"https://T/a\">"),
        ("<link rel=modulepreload href=a.js>", '<link rel=modulepreload href="https://T/a.js">'),
        (
            "<svg><image href=a /><image xlink:href='b'/><use href='c.svg#i'/></svg>",
            "<svg><image href=\"https://T/a\" /><image xlink:href='https://T/b'/><use href='https://T/c.svg#i'/></svg>",
        ),
        (
            "<svg><path fill='url(a.svg#x)' mask='url(#m)'/></svg>",
            "<svg><path fill='url(\"https://T/a.svg#x\")' mask='url(#m)'/></svg>",
        ),
        (
            "<svg><style>a{b:url(c.png)} /*&amp;*/</style></svg>",
            '<svg><style>a{b:url("https://T/c.png")} /*&amp;*/</style></svg>',
        ),
        (
            "<meta http-equiv=Refresh content='3; URL=\"b.html\" x'>",
            "<meta http-equiv=Refresh content='3; URL=\"https://T/b.html\" x'>",
        ),
        ("<meta http-equiv=refresh content='3;b.html'>", "<meta http-equiv=refresh content='3;https://T/b.html'>"),
        ("<p style='background:url(a.png)'>", "<p style='background:url(\"https://T/a.png\")'>"),
        ('<p style="background:url(a.png)">', '<p style="background:url(&quot;https://T/a.png&quot;)">'),
        ("<p style=background:url(a.png)>", '<p style="background:url(&quot;https://T/a.png&quot;)">'),
        (
            "<style>@import 'a.css';\r\nb{c:url( d.png )}</style>",
            '<style>@import "https://T/a.css";\r\nb{c:url("https://T/d.png")}</style>',
        ),
        (
            "<script type=module>import a from './a.js'\r\nimport('./b.js')</script>",
            "<script type=module>import a from 'https://T/a.js'\r\nimport('https://T/b.js')</script>",
        ),
        (
            "<script>import(`./a.js`); x = new URL('b.png', import.meta.url)</script>",
            "<script>import(`https://T/a.js`); x = new URL('https://T/b.png', import.meta.url)</script>",
        ),
        (
            "<script type=module>import 'bare'; import '/c.js'</script>",
            "<script type=module>import 'bare'; import 'https://T/c.js'</script>",
        ),
        ("<script src=a.js></script>", '<script src="https://T/a.js"></script>'),
        (
            '<script type=importmap>{"imports": {"x": "./x.js", "y/": "./y/", "./z.js": "/q.js"}}</script>',
            '<script type=importmap>{"imports": {"x": "https://T/x.js", "y/": "https://T/y/", "https://T/z.js": "https://T/q.js"}}</script>',
        ),
        (
            "<iframe srcdoc='<img src=a.png><p>x'></iframe>",
            "<iframe srcdoc='<img src=\"https://T/a.png\"><p>x'></iframe>",
        ),
        ("<template><img src=a></template>", '<template><img src="https://T/a"></template>'),
        (
            "<script src=a.js integrity=sha256-x></script>",
            '<script crossorigin src="https://T/a.js" integrity=sha256-x></script>',
        ),
        (
            "<link rel=stylesheet href=a.css integrity=x crossorigin=anonymous>",
            '<link rel=stylesheet href="https://T/a.css" integrity=x crossorigin=anonymous>',
        ),
    ],
)
def test_a_url_that_the_html_loads_becomes_absolute(before: str, after: str) -> None:
    assert written(before) == after


@pytest.mark.parametrize(
    "page",
    [
        "<a href=b.html><area href=c><form action=d><q cite=e>",
        "<img src='https://a.example/b.png'><img src=//a.example/c><img src='data:image/png,x'><img src=''>",
        "<img src='#x'>",
        "<link rel=canonical href=x><link rel=alternate href=y><link href=z>",
        "<!-- <img src=a> --><noscript><img src=a></noscript>",
        "<meta name=refresh content='3; url=x'><meta http-equiv=refresh content=3><meta http-equiv=refresh>",
        "<style>a{b:url(#c)} @namespace url(x); p{content:'url(y)'}</style>",
        "<script type='application/json'>{\"a\": \"./b\"}</script><script type=text/template>import './x'</script>",
        "<script>const x = './a.js'; fetch('./data.json')</script><script></script>",
        "<p data-src=a.png style='color:red'>text ./a.png</p>",
        "<svg><path fill='url(#a)' d='M0'/><style>a{b:c} &amp;</style></svg>",
        "<iframe srcdoc='<p>x'></iframe><iframe></iframe>",
        "<script src=https://a.example/x.js integrity=x></script>",
        '<script type=importmap>{"imports": {"x": "https://a.example/x.js", "y": "bare", "z": "//z.js"}}</script>',
        "\ttabs\r\n and \r ends &nbsp; &notanentity; <b  a = 'c'  >",
    ],
)
def test_everything_else_stays_as_it_was_written(page: str) -> None:
    assert written(page) == page


def test_a_page_of_windows_newlines_changes_in_its_urls_alone() -> None:
    page = "<!doctype html>\r\n<p>\r\n<img src=a.png>\r\n<b title='x&amp;y'>\r\n"
    assert written(page) == page.replace("a.png", f'"{HERE}a.png"')


ELEMENTS = st.sampled_from(
    [
        "<img src={}>",
        "<img src='{}'>",
        '<img src="{}">',
        "<video poster='{}'>",
        "<link rel=stylesheet href='{}'>",
        "<style>a{{b:url('{}')}}</style>",
        "<style>a{{b:url({})}}</style>",
        "<p style='a:url({})'>",
        "<script type=module>import './{}'</script>",
        "<script type=module src='{}'></script>",
        "<img srcset='{} 2x'>",
        "<svg><image href='{}'/></svg>",
        "<iframe srcdoc=\"<img src='{}'>\"></iframe>",
        "<!-- {} -->",
        "<b>{}</b>",
        "<meta http-equiv=refresh content='1;url={}'>",
        "<svg><style>a{{b:url({})}}</style></svg>",
        "<p\r\n>",
    ]
)
URLS = st.text(alphabet="abc/.-_%20?&=#\u00e4 ", min_size=1, max_size=12).filter(lambda url: not url.startswith("//"))


@given(st.lists(st.tuples(ELEMENTS, URLS), max_size=8))
@pytest.mark.row("R01")
def test_no_url_that_the_html_loads_is_left_relative(parts: list[tuple[str, str]]) -> None:
    once = compiled("".join(element.format(url) for element, url in parts))
    again = compiled(once.html)
    assert [reference.url for reference in again.references if reference.path is not None] == []
    assert again.html == once.html


def test_a_url_is_reported_with_its_line_and_the_file_it_means() -> None:
    page = "<p>\n<img src='sub/a%20b.png?x'>\n<style>\n\na{b:url(c.png)}</style>\n"
    page += '<iframe srcdoc="\n<img src=d>"></iframe>'
    found = compiled(page).references
    assert [(r.url, r.path, r.line) for r in found] == [
        ("sub/a%20b.png?x", "sub/a b.png", 2),
        ("c.png", "c.png", 5),
        ("d", "d", 6),
    ]


def test_a_tree_is_the_html_and_every_file_beside_it() -> None:
    widget = compiled("<p>", {"a.js": b"1", "sub/b.png": b"2", ".hidden": b"3", "sub/.git/x": b"4"})
    assert set(widget.tree.files) == {"index.html", "a.js", "sub/b.png"}
    assert widget.tree.files["index.html"] == b"<p>"
    assert asset_key(NAME, widget.tree.hash, "sub/b.png") == f"site/acme/zoo/{widget.tree.hash}/sub/b.png"


@pytest.mark.row("R01")
def test_the_same_content_has_the_same_uri_and_one_byte_makes_another() -> None:
    same = compiled("<p>", {"a.js": b"1"}).uri
    assert compiled("<p>", {"a.js": b"1"}).uri == same
    others = {
        compiled("<p>", {"a.js": b"2"}).uri,
        compiled("<p>", {"b.js": b"1"}).uri,
        compiled("<p> ", {"a.js": b"1"}).uri,
        compiled("<p>", {"a.js": b"1"}, name="b").uri,
        compiled("<p>", {"a.js": b"1"}, border=True).uri,
        compiled("<p>", {"a.js": b"1"}, csp={"connect": ["https://a.example"]}).uri,
    }
    assert len(others) == 6
    assert same not in others


def test_a_widget_of_a_string_has_no_files_beside_it() -> None:
    widget = compile_widget({"name": "a", "html": "<img src=a.png>"}, {}, uses_files=False)
    assert widget.folder == widget.file == ""
    assert [reference.path for reference in widget.references] == ["a.png"]
    assert "a.png" not in widget.tree.files


def test_the_entry_tells_where_everything_is_kept() -> None:
    widget = compiled("<p>x")
    entry = widget.entry(NAME)
    assert (entry.uri, entry.tree, entry.size, entry.meta) == (widget.uri, widget.tree.hash, 4, widget.meta)
    assert entry.key == f"site/acme/zoo/{widget.hash}/index.html"


def test_uris_can_be_taken_apart_and_nothing_else_passes_for_one() -> None:
    assert split_uri(published_uri(bare_uri("a-b"), "0123456789")) == ("a-b", "0123456789")
    assert split_uri(bare_uri("a")) == ("a", "")
    assert split_uri("ui://other/a.html") is None
    assert published_uri("ui://weather/app", "0123456789") == "ui://weather/app.0123456789"


@pytest.mark.parametrize(
    ("declared", "code"),
    [
        ({"file": "w/a/none.html"}, "widget.missing"),
        ({}, "widget.missing"),
        ({"file": "index.html"}, "widget.at-root"),
        ({"file": "./w/../index.html"}, "widget.at-root"),
        ({"file": "../x.html"}, "widget.missing"),
    ],
)
def test_a_widget_that_can_not_be_compiled_is_refused_with_a_code(declared: dict[str, Any], code: str) -> None:
    with pytest.raises(PlatformError) as error:
        compile_widget({"name": "a", **declared}, {"index.html": b"", "server.py": b""}, uses_files=False)
    assert error.value.code == code
