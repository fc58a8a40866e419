"""REDMINE_FORMAT=json: the same content as the documents have, for every kind of answer."""

import json
import re
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import pytest

from .made import NOTICE, JsonObject, document, issue, made, paged, text_of
from .wired import bench

READING: Final[list[tuple[str, JsonObject]]] = [
    ("list_issues", {"limit": 3}),
    ("list_issues", {"limit": 2, "fields": ["subject", "Customer"]}),
    ("show_issue", {"id": 1}),
    ("show_issue", {"id": 140, "journal_limit": 2, "journal_offset": 3}),
    ("list_projects", {}),
    ("show_project", {"id": "webshop"}),
    ("list_memberships", {"project_id": "webshop"}),
    ("list_versions", {"project_id": "webshop"}),
    ("show_version", {"id": 1}),
    ("list_time_entries", {"limit": 3}),
    ("show_time_entry", {"id": 1}),
    ("list_time_entry_activities", {}),
    ("list_users", {}),
    ("show_user", {"id": "dev"}),
    ("show_current_user", {}),
    ("list_groups", {}),
    ("show_group", {"id": 12}),
    ("list_wiki_pages", {"project_id": "webshop"}),
    ("show_wiki_page", {"project_id": "webshop", "title": "Wiki"}),
    ("list_news", {}),
    ("list_files", {"project_id": "webshop"}),
    ("search_redmine", {"q": "checkout"}),
    ("show_attachment", {"id": 1, "show_as": "details"}),
    ("list_issue_statuses", {}),
    ("list_trackers", {}),
    ("list_priorities", {}),
    ("list_roles", {"permissions": True}),
    ("list_queries", {}),
    ("list_custom_fields", {}),
]

LISTED: Final = ("permissions", "enabled_standard_fields")


def words_of_data(value: Any) -> list[str]:
    """Every value in it, as one would write it."""
    if isinstance(value, dict):
        return [word for one in value.values() for word in words_of_data(one)]
    if isinstance(value, list):
        return [word for one in value for word in words_of_data(one)]
    if isinstance(value, bool):
        return ["true" if value else "false"]
    return [plain(str(value).replace("\r\n", "\n"))]


def plain(word: str) -> str:
    """A document has no types, so that 2.0 and 2 are the same in it."""
    return f"{float(word):g}" if re.fullmatch(r"\d+\.\d+", word) else word


def words_of_document(root: ElementTree.Element) -> list[str]:
    """The same of a document. Short lists are written with commas, so that these are taken apart."""
    words: list[str] = []
    for element in root.iter():
        words += [value for name, value in element.attrib.items() if name not in ("untrusted", "notice")]
        text = element.text or ""
        words += text.split(", ") if element.tag in LISTED else [text] if text else []
    return [plain(word) for word in words]


@pytest.mark.parametrize(("tool", "arguments"), [pytest.param(*one, id=f"{one[0]} {one[1]}") for one in READING])
async def test_both_formats_say_the_same(tmp_path: Path, tool: str, arguments: JsonObject) -> None:
    async with bench(tmp_path, REDMINE_FORMAT="xml") as redmine:
        root = document(await redmine.call(tool, **arguments))
    async with bench(tmp_path, REDMINE_FORMAT="json") as redmine:
        result = await redmine.call(tool, **arguments)

    answer = json.loads(text_of(result))
    assert set(answer) == {"success", "message", "data"}
    data = answer["data"]
    assert data.pop("notice") == NOTICE
    assert sorted(words_of_data(data)) == sorted(words_of_document(root))


async def test_a_list_names_its_next_call_until_the_last_page(tmp_path: Path) -> None:
    rows = [issue(number) for number in (1, 2, 3)]
    async with bench(tmp_path, answers=made({"/issues": paged("issues", rows)}), REDMINE_FORMAT="json") as redmine:
        first = await redmine.data("list_issues", limit=2)
        last = await redmine.data("list_issues", limit=2, offset=2)

    assert first["next"] == "list_issues(limit: 2, offset: 2)"
    assert (first["total_count"], first["offset"], first["limit"]) == (3, 0, 2)
    assert "next" not in last


async def test_a_history_names_its_next_call_too(tmp_path: Path) -> None:
    async with bench(tmp_path, REDMINE_FORMAT="json") as redmine:
        data = await redmine.data("show_issue", id=140, journal_limit=3)

    assert data["next"] == 'show_issue(id: 140, include: ["journals"], journal_limit: 3, journal_offset: 3)'
    assert len(data["issue"]["journals"]["rows"]) == 3


async def test_a_cut_answer_names_only_the_call_that_continues_it(tmp_path: Path) -> None:
    async with bench(tmp_path, REDMINE_FORMAT="json") as redmine:
        answer = json.loads(text_of(await redmine.call("list_issues", limit=100)))

    shown = len(answer["data"]["issues"])
    assert "next" not in answer["data"]
    assert answer["_truncated"]["next"] == f"list_issues(limit: 100, offset: {shown})"


async def test_references_keep_their_ids_and_custom_fields_their_values(tmp_path: Path) -> None:
    async with bench(tmp_path, REDMINE_FORMAT="json") as redmine:
        shown = (await redmine.data("show_issue", id=1))["issue"]

    assert shown["status"] == {"id": 2, "name": "In Progress"}
    fields = {field["name"]: field for field in shown["custom_fields"]}
    assert fields["Affected areas"] == {"id": 4, "name": "Affected areas", "value": ["Cart", "Shipping"]}
    assert fields["Customer"]["value"] == "Müller & Söhne <GmbH>"


async def test_what_is_done_is_said_in_the_message(tmp_path: Path) -> None:
    async with bench(tmp_path, REDMINE_FORMAT="json") as redmine:
        saved = json.loads(text_of(await redmine.call("save_wiki_page", project_id="webshop", title="New", text="x")))
        deleted = json.loads(
            text_of(await redmine.call("delete_wiki_page", project_id="webshop", title="New", confirm=True))
        )

    assert saved["message"] == "Wiki page 'New' was created"
    assert (deleted["message"], deleted["data"]) == ("Wiki page 'New' was deleted", {"wiki_page": {"title": "New"}})


async def test_messages_can_be_japanese(tmp_path: Path) -> None:
    rows = [issue(1)]
    answers = made({"/issues": paged("issues", rows)})
    async with bench(tmp_path, answers=answers, REDMINE_FORMAT="json", DOGUBAKO_LANG="ja") as redmine:
        assert json.loads(text_of(await redmine.call("list_issues")))["message"] == "1件中1件"
