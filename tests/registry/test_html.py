from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenantry_registry import html
from tenantry_registry.errors import PlatformError
from tenantry_registry.html import Element, Source


def elements(written: str) -> tuple[Source, list[Element]]:
    source = Source(written)
    return source, html.elements(source)


@pytest.mark.parametrize(
    ("written", "value", "raw"),
    [
        ('<img src="a.png">', "a.png", "a.png"),
        ("<img src='a&amp;b'>", "a&b", "a&amp;b"),
        ("<img src=a.png>", "a.png", "a.png"),
        ("<img src=a.png alt>", "a.png", "a.png"),
        ("<img src = a.png/>", "a.png/", "a.png/"),
        ("<img src=&amp;a>", "&a", "&amp;a"),
        ("<img alt src='a'>", "a", "a"),
        ('<img src="">', "", ""),
        ("<img src='a' src='b'>", "a", "a"),
        ("<img src==a>", "=a", "=a"),
        ("<img src='\r\na\r\n'>", "\na\n", "\r\na\r\n"),
        ("\r\r\n<p>\r\n<IMG\r\nSRC=a.png\r\n>", "a.png", "a.png"),
        ("<img src=a\x00b>", "a\ufffdb", "a\x00b"),
        ("<img src=\x00>", "\ufffd", "\x00"),
        ("<svg><image href='a'/></svg>", "a", "a"),
    ],
)
def test_an_attribute_is_found_at_its_place_in_what_was_written(written: str, value: str, raw: str) -> None:
    source, found = elements(written)
    attribute = next(a for e in found for name, a in e.attributes.items() if name in ("src", "href"))
    assert attribute.value == value
    assert source.written[source.at(attribute.start) : source.at(attribute.end)] == raw


@pytest.mark.parametrize("written", ["<img src>", "<img src=>", "<img src= >"])
def test_an_attribute_without_a_value_has_no_place(written: str) -> None:
    _, found = elements(written)
    assert found[-1].attributes["src"].value == ""


@pytest.mark.parametrize("written", ["<img src='a", "<img src=a", "<img src", "<img", "<img src=", "<", "<img src='a'"])
def test_a_tag_that_never_ends_is_no_element(written: str) -> None:
    assert all(element.name != "img" for element in elements(written)[1])


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("<style>a{}</style>", "a{}"),
        ("<style>\r\na{}\r\n</style >", "\na{}\n"),
        ("<script>if(a<b&&c)'</scr'+'ipt>'</script>", "if(a<b&&c)'</scr'+'ipt>'"),
        ("<script><!-- <script></script> --></script>", "<!-- <script></script> -->"),
        ("<style>a{}", "a{}"),
        ("<style></style>", ""),
        ("<style>a\x00b</style>", "a\ufffdb"),
    ],
)
def test_raw_text_is_as_long_as_its_source(written: str, text: str) -> None:
    source, found = elements(written)
    element = next(e for e in found if e.name in ("style", "script"))
    assert element.text == text
    assert element.raw
    assert source.text[element.text_start : element.text_end].replace("\x00", "\ufffd") == text


def test_style_inside_svg_is_markup() -> None:
    source, found = elements("<svg><style>a&amp;b<![CDATA[c]]></style><style/><style>d</style></svg>")
    first, empty, last = (e for e in found if e.name == "style")
    assert (first.raw, first.text) == (False, "a&bc")
    assert source.text[first.text_start : first.text_end] == "a&amp;b<![CDATA[c]]>"
    assert (empty.text, last.text) == ("", "d")


def test_an_open_style_inside_svg_ends_where_the_next_begins_or_the_document_does() -> None:
    _, found = elements("<svg><style>a<style>b")
    assert [e.text for e in found if e.name == "style"] == ["a", "b"]


def test_comments_noscript_and_text_hold_no_elements() -> None:
    _, found = elements("<!-- <img src=a> --><noscript><img src=b></noscript><title><img src=c></title><textarea><img>")
    assert [e.name for e in found] == ["noscript", "title", "textarea"]


def test_a_template_holds_elements() -> None:
    assert "img" in [e.name for e in elements("<template><img src=a></template>")[1]]


def test_lines_are_counted_from_one_whatever_ends_them() -> None:
    source, found = elements("<p>\r\n<b>\r<i>\n<u>")
    assert [(e.name, source.line(e.start)) for e in found] == [("p", 1), ("b", 2), ("i", 3), ("u", 4)]


def test_edits_leave_everything_else_as_it_was_written() -> None:
    source = Source("a\r\nb\rc\nd")
    assert source.replaced([(2, 3, "B"), (0, 0, ">"), (6, 7, "")]) == ">a\r\nB\rc\n"
    assert source.replaced([]) == source.written


def test_a_byte_order_mark_is_dropped_and_other_encodings_are_refused() -> None:
    assert html.read(b"\xef\xbb\xbf<p>").written == "<p>"
    with pytest.raises(PlatformError) as error:
        html.read("<p>\u00e4".encode("latin-1"))
    assert error.value.code == "widget.encoding"


MARKUP = "<>/='\"& \r\nabimg!-;#x0style script svg src\x00"


@given(st.text(alphabet=MARKUP, max_size=80))
def test_whatever_is_written_places_are_inside_it(written: str) -> None:
    source, found = elements(written)
    for element in found:
        assert 0 <= element.start < len(source.text)
        assert source.text[element.start] == "<"
        for attribute in element.attributes.values():
            assert element.start <= attribute.start <= attribute.end <= len(source.text)
        if element.raw:
            text = source.text[element.text_start : element.text_end]
            assert text.replace("\x00", "\ufffd") == element.text
