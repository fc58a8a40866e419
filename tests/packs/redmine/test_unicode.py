"""Any text in any field: every answer parses, and every text comes back as far as XML can hold it."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import given
from hypothesis import strategies as st

from dogubako.tools import ToolResult

from .made import JsonObject, Reply, answered, document, issue, made, paged, text_of
from .wired import Bench, bench

UNWRITABLE: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
ODD: Final = st.sampled_from(
    [
        *("\ud800", "\udfff\ud800", "\x00", "\x1b[31m", "\ufffe\uffff", "\U0001fffe", "\ufffd", "\t\x0b\x0c"),
        *("]]>", "<![CDATA[", "</issue>", "<?xml?>", "&#0;", "--", "'\""),
        *("a\r\nb\rc", "\x7f\x85\u2028", "\u202e道具箱", " ", "\ufeff"),
    ]
)
ANY_TEXT: Final = st.lists(st.text(st.characters(codec=None), max_size=6) | ODD, max_size=3).map("".join)
TEXTS: Final = st.lists(ANY_TEXT, min_size=12, max_size=12)


def said(text: str) -> str:
    """What a reader of JSON makes of it: two halves of a character become one."""
    return str(json.loads(json.dumps(text)))


def shown(text: str) -> str:
    """What a reader of the document gets: line ends of one kind, and U+FFFD for what XML cannot hold."""
    return UNWRITABLE.sub("\ufffd", said(text)).replace("\r\n", "\n").replace("\r", "\n")


def lost(texts: Sequence[str]) -> int:
    return sum(len(UNWRITABLE.findall(said(text))) for text in texts)


def issue_with(texts: Sequence[str]) -> JsonObject:
    """An issue that has all of these in it, each in another place."""
    subject, description, name, person, field, one, two, note, old, new, filename, child = texts
    journal = {
        "id": 1,
        "user": {"id": 5, "name": person},
        "notes": note,
        "details": [{"property": "attr", "name": "subject", "old_value": old, "new_value": new}],
    }
    return issue(
        7,
        subject=subject,
        description=description,
        status={"id": 1, "name": name},
        custom_fields=[{"id": 2, "name": field, "value": [one, two]}],
        attachments=[{"id": 3, "filename": filename}],
        children=[{"id": 8, "subject": child}],
        journals=[journal],
    )


def found(root: ElementTree.Element, path: str) -> str:
    """An empty text is left out, so what is not there is empty."""
    return root.findtext(path) or ""


@dataclass(kw_only=True)
class Kept:
    """One toolbox for all examples, because a new one for each would take longer than all the rest."""

    portal: BlockingPortal
    bench: Bench
    places: dict[str, Reply]

    def ask(self, places: dict[str, Reply], tool: str, **arguments: Any) -> ToolResult:
        self.places.clear()
        self.places |= places
        result: ToolResult = self.portal.call(self.bench.box.call, tool, arguments)
        return result


@contextmanager
def kept(folder: Path, form: str) -> Iterator[Kept]:
    places: dict[str, Reply] = {}
    opened = bench(folder, answers=made(places), REDMINE_FORMAT=form)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(opened) as running:
        yield Kept(portal=portal, bench=running, places=places)


@pytest.fixture(scope="module")
def in_xml(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    with kept(tmp_path_factory.mktemp("xml"), "xml") as redmine:
        yield redmine


@pytest.fixture(scope="module")
def in_json(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    with kept(tmp_path_factory.mktemp("json"), "json") as redmine:
        yield redmine


@given(texts=TEXTS)
def test_every_text_of_an_issue_comes_back(in_xml: Kept, texts: list[str]) -> None:
    root = document(in_xml.ask({"/issues/7": {"issue": issue_with(texts)}}, "show_issue", id=7))

    places = ("subject", "description", "status", "journals/journal/user", "custom_fields/field/name")
    values = [one.text or "" for one in root.findall("custom_fields/field/value")]
    history = ("notes", "changes/change/from", "changes/change/to")
    read = [found(root, place) for place in places] + values
    read += [found(root, f"journals/journal/{place}") for place in history]
    read += [found(root, "attachments/attachment/filename"), found(root, "children/issue/subject")]
    assert read == [shown(text) for text in texts]
    assert int(root.get("replaced_characters", 0)) == lost(texts)


@given(texts=TEXTS)
def test_every_text_of_a_list_comes_back(in_xml: Kept, texts: list[str]) -> None:
    rows = [issue(number, subject=text) for number, text in enumerate(texts, 1)]
    root = document(in_xml.ask({"/issues": paged("issues", rows)}, "list_issues"))

    assert [found(row, "subject") for row in root] == [shown(text) for text in texts]
    assert int(root.get("replaced_characters", 0)) == lost(texts)


@given(text=ANY_TEXT, title=ANY_TEXT, comments=ANY_TEXT)
def test_every_text_of_a_wiki_page_comes_back(in_xml: Kept, text: str, title: str, comments: str) -> None:
    page = {"title": title, "text": text, "comments": comments, "version": 1}
    project = {"project": {"id": 1, "name": "Web Shop", "identifier": "webshop"}}
    places: dict[str, Reply] = {"/projects/1": project, "/projects/1/wiki/Page": {"wiki_page": page}}
    root = document(in_xml.ask(places, "show_wiki_page", project_id=1, title="Page"))

    read = [found(root, place) for place in ("text", "title", "comments")]
    assert read == [shown(one) for one in (text, title, comments)]


@given(texts=TEXTS)
def test_json_keeps_all_but_half_characters(in_json: Kept, texts: list[str]) -> None:
    result = in_json.ask({"/issues/7": {"issue": issue_with(texts)}}, "show_issue", id=7)
    told = json.loads(text_of(result))["data"]["issue"]

    whole = [re.sub("[\ud800-\udfff]", "\ufffd", said(text)) for text in texts]
    assert told.get("subject", "") == whole[0]
    assert told["custom_fields"][0]["value"] == whole[5:7]
    assert told["journals"]["rows"][0].get("notes", "") == whole[7]


@given(reasons=st.lists(ANY_TEXT, min_size=1, max_size=3))
def test_any_reason_makes_a_message(in_xml: Kept, reasons: list[str]) -> None:
    places: dict[str, Reply] = {"/issues": lambda _: answered(422, {"errors": reasons})}
    result = in_xml.ask(places, "list_issues")

    assert result.code == "API_ERROR"
    message = str(result.content[0]["text"])
    assert message.startswith("Failed to list issues: ")
    json.dumps(result.to_mcp(), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        pytest.param("plain", None, id="nothing to replace"),
        pytest.param("a\x00b\x0bc", "2", id="control characters"),
        pytest.param("\ufffe\uffff", "2", id="noncharacters"),
        pytest.param("\ud83d", "1", id="half a character"),
        pytest.param("\ufffd", None, id="one that was replaced before"),
        pytest.param("a\r\nb", None, id="a line end"),
    ],
)
async def test_the_answer_says_how_much_was_replaced(tmp_path: Path, text: str, replaced: str | None) -> None:
    places: dict[str, Reply] = {"/issues/7": {"issue": issue(7, subject=text)}}
    async with bench(tmp_path, answers=made(places), REDMINE_FORMAT="xml") as redmine:
        root = document(await redmine.call("show_issue", id=7))

    assert root.get("replaced_characters") == replaced


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        pytest.param("a\x00b", "a\ufffdb", id="a zero byte"),
        pytest.param("]]>", "]]>", id="the end of a section"),
        pytest.param("line\r\nline", "line\nline", id="a line end"),
    ],
)
async def test_what_was_written_comes_back_from_the_sandbox(tmp_path: Path, text: str, stays: str) -> None:
    async with bench(tmp_path, REDMINE_FORMAT="xml") as redmine:
        saved = await redmine.call("save_wiki_page", project_id="webshop", title="Odd", text=text)
        root = document(await redmine.call("show_wiki_page", project_id="webshop", title="Odd"))

    assert not saved.is_error
    assert found(root, "text") == stays
