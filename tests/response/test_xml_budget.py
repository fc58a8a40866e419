"""XML is well formed whatever characters come in, fits any budget, and is cut between whole elements."""

from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dogubako.output import NextPage, Xml, XmlElement, example_call
from dogubako.response.builder import ToolResponseBuilder
from dogubako.response.tokens import count_tokens
from dogubako.response.xml import Rendered, fit_xml, render
from dogubako.testing import parse_call
from dogubako.tools import ToolResult
from tests.hypothesis_profiles import examples

BUDGETS = st.integers(500, 3_000)
ODD = st.sampled_from(["\ud800", "\x00", "]]>", "<b>&amp;", "a\r\nb\rc", "\ufffe\uffff", "'\"", "\t\x0b", "道具箱"])
TEXTS = st.one_of(st.text(max_size=20), ODD)
LONG_TEXTS = st.builds(lambda text, times: text * times, TEXTS, st.integers(1, 600))
ATTRIBUTES = st.dictionaries(TEXTS, st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS), max_size=4)
LEAVES = st.builds(XmlElement, TEXTS, ATTRIBUTES, LONG_TEXTS)
# Only leaves are repeated; repeated parents of repeated parents would be millions.
ALIKE = st.builds(
    lambda child, times: [child] * times, st.builds(XmlElement, TEXTS, ATTRIBUTES, TEXTS), st.integers(1, 90)
)
LISTS = st.builds(XmlElement, TEXTS, ATTRIBUTES, ALIKE)
ELEMENTS = st.recursive(
    LEAVES | LISTS, lambda inner: st.builds(XmlElement, TEXTS, ATTRIBUTES, st.lists(inner, max_size=3)), max_leaves=8
)


def spent(result: ToolResult) -> int:
    return count_tokens(result.content[0]["text"])


def parsed(result: ToolResult) -> ElementTree.Element:
    text = result.content[0]["text"]
    assert text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n')
    return ElementTree.fromstring(text)


def built(root: XmlElement, max_tokens: int = 25_000, page: NextPage | None = None) -> ToolResult:
    return ToolResponseBuilder(max_tokens=max_tokens).success(Xml(root=root, page=page))


@given(ELEMENTS, BUDGETS)
@settings(max_examples=examples(150), deadline=None)
def test_any_element_becomes_a_document_that_parses_and_fits(root: XmlElement, max_tokens: int) -> None:
    result = built(root, max_tokens)

    assert spent(result) <= result.tokens <= max_tokens
    assert (parsed(result).find("truncated") is not None) >= result.trimmed


@given(ELEMENTS)
@settings(max_examples=examples(60), deadline=None)
def test_nothing_is_cut_that_fits(root: XmlElement) -> None:
    result = built(root, 1_000_000)

    assert not result.trimmed
    assert "<truncated" not in result.content[0]["text"]


@given(st.text(max_size=60))
def test_text_that_xml_can_say_comes_back_the_same(text: str) -> None:
    root = parsed(built(XmlElement("note", {"said": text}, text)))

    allowed = "".join(character if _sayable(character) else "\ufffd" for character in text)
    expected = allowed.replace("\r\n", "\n").replace("\r", "\n")
    assert (root.text or "") == expected
    assert root.get("said") == expected


def _sayable(character: str) -> bool:
    point = ord(character)
    return character in "\t\n\r" or 0x20 <= point <= 0xD7FF or 0xE000 <= point <= 0xFFFD or point >= 0x10000


@given(st.integers(1, 200), TEXTS, BUDGETS, st.booleans())
@settings(max_examples=examples(100), deadline=None)
def test_the_next_call_begins_where_the_shown_elements_end(
    total: int, subject: str, max_tokens: int, below: bool
) -> None:
    issues = [XmlElement("issue", {"id": number}, subject + "x" * 10) for number in range(total)]
    page = NextPage("issues", lambda shown: example_call("list_issues", offset=shown))
    listing = XmlElement("issues", {"total": total}, issues)
    root = XmlElement("answer", {}, [XmlElement("project", {}, "Toolbox"), listing]) if below else listing

    document = parsed(built(root, max_tokens, page))

    shown = document.findall(".//issue")
    assert [issue.get("id") for issue in shown] == [str(number) for number in range(len(shown))]
    assert len(shown) >= 1
    note = document.find("truncated")
    assert (note is None) is (len(shown) == total)
    if note is not None:
        assert parse_call(note.get("next") or "") == ("list_issues", {"offset": len(shown)})
        assert f"{total - len(shown):,} of {total:,} elements of issues" in (note.text or "")


def test_a_first_element_that_is_too_long_is_shortened_and_the_others_are_counted() -> None:
    issues = [XmlElement("issue", {"id": number}, [XmlElement("text", {}, "words " * 900)]) for number in range(5)]
    page = NextPage("issues", lambda shown: example_call("list_issues", offset=shown))

    document = parsed(built(XmlElement("issues", {}, issues), 900, page))

    assert [issue.get("id") for issue in document.findall("issue")] == ["0"]
    note = document.find("truncated")
    assert note is not None
    assert "4 of 5 elements of issues" in (note.text or "")
    assert note.get("next") == "list_issues(offset: 1)"


def test_a_text_at_the_root_keeps_its_place_beside_the_note() -> None:
    document = parsed(built(XmlElement("log", {"level": "info"}, "line\n" * 2_000), 500))

    assert document.get("level") == "info"
    assert (document.findtext("text") or "").startswith("line\nline\n")
    assert "characters of log" in (document.findtext("truncated") or "")


def test_a_page_of_text_has_nothing_to_page() -> None:
    page = NextPage("log", lambda shown: example_call("get_log", offset=shown))

    assert parsed(built(XmlElement("log", {}, "line\n" * 2_000), 500, page)).find("truncated") is not None


def test_different_children_share_the_room_and_small_ones_stay_whole() -> None:
    root = XmlElement(
        "issue",
        {},
        [
            XmlElement("subject", {}, "Short"),
            XmlElement("description", {}, "long " * 2_000),
            XmlElement("notes", {}, "long too " * 2_000),
        ],
    )

    document = parsed(built(root, 2_000))

    assert document.findtext("subject") == "Short"
    assert (document.findtext("description") or "").startswith("long long")
    assert (document.findtext("notes") or "").startswith("long too long too")


def test_many_different_children_are_left_out_whole() -> None:
    root = XmlElement("all", {}, [XmlElement(f"field{number}", {}, "some words here") for number in range(400)])

    document = parsed(built(root, 600))

    shown = [child for child in document if child.tag != "truncated"]
    assert 0 < len(shown) < 400
    assert all(child.text == "some words here" for child in shown)


def test_an_attribute_that_does_not_fit_is_left_out_and_counted() -> None:
    document = parsed(built(XmlElement("root", {"id": "7", "huge": "x" * 50_000}, "text"), 500))

    assert document.attrib == {"id": "7"}
    assert document.findtext("text") == "text"
    assert "1 of 2 fields of root" in (document.findtext("truncated") or "")


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        pytest.param({"on": True, "off": False}, {"on": "true", "off": "false"}, id="booleans"),
        pytest.param({"none": None, "n": 1.5}, {"n": "1.5"}, id="nothing is left out"),
        pytest.param({"a b": 1, "a_b": 2}, {"a_b": "2"}, id="two keys of one name"),
        pytest.param({"1st": "x", "": "y"}, {"_1st": "x", "_": "y"}, id="names that are none"),
        pytest.param({"q": "\"'<&>\n\t"}, {"q": "\"'<&>\n\t"}, id="quotes and white space"),
    ],
)
def test_attributes_are_written_so_that_they_can_be_read(attributes: dict[str, Any], expected: dict[str, str]) -> None:
    assert parsed(built(XmlElement("x", attributes))).attrib == expected


def test_a_long_name_is_cut_and_everything_else_is_kept() -> None:
    root = XmlElement(
        "issue", {"k" * 5_000_000: 1}, [XmlElement("l" * 5_000_000, {}, "text"), XmlElement("id", {}, "7")]
    )
    result = ToolResponseBuilder().success(Xml(root=root))

    written = ElementTree.fromstring(result.text)
    assert written.attrib == {"k" * 200: "1"}
    assert [(child.tag, child.text) for child in written] == [("l" * 200, "text"), ("id", "7")]


@settings(max_examples=examples(100), deadline=None)
@given(ELEMENTS, st.integers(30, 3_000), st.booleans())
def test_what_was_rendered_before_is_cut_and_written_the_same(root: XmlElement, budget: int, pages: bool) -> None:
    known, path = Rendered(), root.tag if pages else None
    whole = render(root, known)
    kept, cuts = fit_xml(root, budget, path, known)

    assert whole == render(root)
    assert (kept, cuts) == fit_xml(root, budget, path)
    assert render(kept, known) == render(kept)
