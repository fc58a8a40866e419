"""Whole documents, one per kind of answer: what an agent reads, and what it may send back."""

from pathlib import Path
from typing import Any, Final

import pytest

from dogubako.testing import parse_call

from .made import DECLARATION, NOTICE, JsonObject, Reply, document, issue, made, paged, text_of
from .wired import bench

SAID: Final = f'notice="{NOTICE}"'
DEVA: Final = {"id": 6, "name": "Déva Roy"}
CHANGES: Final = [
    {"property": "attr", "name": "status_id", "old_value": "1", "new_value": "2"},
    {"property": "attr", "name": "subject", "old_value": "Old", "new_value": "New"},
    {"property": "attr", "name": "assigned_to_id", "old_value": None, "new_value": "6"},
    {"property": "attr", "name": "due_date", "old_value": "2026-09-30", "new_value": None},
    {"property": "cf", "name": "2", "old_value": "", "new_value": "ACME"},
    {"property": "attachment", "name": "7", "old_value": None, "new_value": "a.png"},
]
JOURNALS: Final = [
    {"id": 10, "user": DEVA, "notes": "First & best", "created_on": "2026-09-01T09:00:00Z", "details": []},
    {"id": 11, "user": DEVA, "notes": "", "created_on": "2026-09-02T09:00:00Z", "details": CHANGES},
    {"id": 12, "user": DEVA, "notes": "Hush", "created_on": "2026-09-03T09:00:00Z", "private_notes": True},
]
FIELDS: Final = [
    {"id": 2, "name": "Customer", "value": "ACME"},
    {"id": 4, "name": "Areas", "multiple": True, "value": ["Cart", "Tax"]},
    {"id": 9, "name": "Nothing yet", "value": ""},
]
FULL: Final = issue(
    7,
    description="Pay <now>",
    assigned_to=DEVA,
    parent={"id": 1},
    due_date=None,
    is_private=True,
    estimated_hours=2.0,
    total_estimated_hours=2.0,
    spent_hours=0.5,
    total_spent_hours=1.5,
    custom_fields=FIELDS,
    attachments=[{"id": 7, "filename": "a.png", "filesize": 10, "content_url": "http://elsewhere.test/a.png"}],
    relations=[{"id": 3, "issue_id": 7, "issue_to_id": 8, "relation_type": "relates", "delay": None}],
    children=[{"id": 9, "tracker": {"id": 1, "name": "Bug"}, "subject": "Child"}],
    allowed_statuses=[{"id": 1, "name": "New", "is_closed": False}, {"id": 5, "name": "Closed", "is_closed": True}],
    journals=JOURNALS,
)
PLACES: Final[dict[str, Reply]] = {
    "/issues/7": {"issue": FULL},
    "/issues": paged("issues", [issue(number) for number in (1, 2, 3)]),
    "/projects/1": {"project": {"id": 1, "name": "Web Shop", "identifier": "webshop", "status": 5, "is_public": False}},
    "/projects/1/memberships": paged("memberships", [{"id": 1, "user": DEVA, "roles": [{"id": 4, "name": "Dev"}]}]),
    "/issue_statuses": {
        "issue_statuses": [
            {"id": 1, "name": "New", "is_closed": False},
            {"id": 2, "name": "In Progress", "is_closed": False},
            {"id": 5, "name": "Closed", "is_closed": True},
        ]
    },
    "/trackers": {"trackers": [{"id": 1, "name": "Bug", "enabled_standard_fields": ["category_id", "due_date"]}]},
    "/time_entries": paged(
        "time_entries",
        [{"id": 5, "issue": {"id": 7}, "user": DEVA, "hours": 1.5, "comments": "Read", "spent_on": "2026-09-01"}],
    ),
    "/time_entries/5": {"time_entry": {"id": 5, "issue": {"id": 7}, "hours": 1.0, "comments": ""}},
    "/users/6": {"user": {"id": 6, "login": "dev", "firstname": "Déva", "status": 3, "api_key": "canary"}},
    "/versions/1": {"version": {"id": 1, "name": "1.0", "status": "open", "sharing": "none", "wiki_page_title": None}},
    "/projects/1/wiki/Checkout": {
        "wiki_page": {"title": "Checkout", "parent": {"title": "Wiki"}, "text": "h1. Pay", "version": 2}
    },
    "/news": paged("news", [{"id": 1, "title": "Out & about", "summary": "Soon", "author": DEVA}]),
    "/search": paged("results", [{"id": 1, "title": "Bug #1", "type": "issue", "description": "x" * 301}]),
    "/attachments/7": {"attachment": {"id": 7, "filename": "a.bin", "content_type": "application/octet-stream"}},
}

HEAD: Final = '<project id="1">Web Shop</project><tracker id="1">Bug</tracker><status id="1">New</status>'
REST: Final = '<priority id="2">Normal</priority><author id="1">Redmine Admin</author>'
ISSUE_7: Final = (
    f'<issue id="7" {SAID}>{HEAD}{REST}<subject>Issue 7</subject>'
    '<description untrusted="true">Pay &lt;now&gt;</description><done_ratio>0</done_ratio>'
    '<assigned_to id="6">Déva Roy</assigned_to><parent id="1"/><is_private>true</is_private>'
    "<estimated_hours>2</estimated_hours><spent_hours>0.5</spent_hours><total_spent_hours>1.5</total_spent_hours>"
    "<custom_fields><field><id>2</id><name>Customer</name><value>ACME</value></field>"
    "<field><id>4</id><name>Areas</name><value>Cart</value><value>Tax</value></field></custom_fields>"
    '<attachments><attachment id="7"><filename>a.png</filename><filesize>10</filesize></attachment></attachments>'
    '<relations><relation id="3"><issue_id>7</issue_id><issue_to_id>8</issue_to_id>'
    '<relation_type>relates</relation_type><issue id="8"/></relation></relations>'
    '<children><issue id="9"><tracker id="1">Bug</tracker><subject>Child</subject></issue></children>'
    '<allowed_statuses><status id="1">New</status><status id="5" is_closed="true">Closed</status></allowed_statuses>'
    '<journals total_count="3" offset="0" limit="20" order="newest first">'
    '<journal id="12" private="true"><user id="6">Déva Roy</user><created_on>2026-09-03T09:00:00Z</created_on>'
    '<notes untrusted="true">Hush</notes></journal>'
    '<journal id="11"><user id="6">Déva Roy</user><created_on>2026-09-02T09:00:00Z</created_on><changes>'
    '<change field="status_id"><from id="1">New</from><to id="2">In Progress</to></change>'
    '<change field="subject"><from>Old</from><to>New</to></change>'
    '<change field="assigned_to_id"><to id="6">Déva Roy</to></change>'
    '<change field="due_date"><from>2026-09-30</from></change>'
    '<change field="Customer"><to>ACME</to></change>'
    '<change field="attachment 7"><to>a.png</to></change></changes></journal>'
    '<journal id="10"><user id="6">Déva Roy</user><created_on>2026-09-01T09:00:00Z</created_on>'
    '<notes untrusted="true">First &amp; best</notes></journal></journals></issue>'
)


def row(number: int) -> str:
    return f'<issue id="{number}">{HEAD}{REST}<subject>Issue {number}</subject><done_ratio>0</done_ratio></issue>'


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        pytest.param("show_issue", {"id": 7}, ISSUE_7, id="an issue with everything"),
        pytest.param(
            "show_issue",
            {"id": 7, "journal_limit": 1, "journal_offset": 1, "include": ["journals"]},
            f'<issue id="7" {SAID} next="show_issue(id: 7, include: [&quot;journals&quot;], journal_limit: 1, '
            f'journal_offset: 2)">{HEAD}<subject>Issue 7</subject>'
            '<journals total_count="3" offset="1" limit="1" order="newest first">'
            + ISSUE_7[ISSUE_7.index('<journal id="11">') : ISSUE_7.index('<journal id="10">')]
            + "</journals></issue>",
            id="more of its history repeats nothing else",
        ),
        pytest.param(
            "list_issues",
            {"limit": 2},
            f'<issues total_count="3" offset="0" limit="2" {SAID} next="list_issues(limit: 2, offset: 2)">'
            f"{row(1)}{row(2)}</issues>",
            id="some of many",
        ),
        pytest.param(
            "list_issues",
            {"limit": 2, "offset": 2},
            f'<issues total_count="3" offset="2" limit="2" {SAID}>{row(3)}</issues>',
            id="the last of many",
        ),
        pytest.param(
            "list_issues",
            {"offset": 9},
            '<issues total_count="3" offset="9" limit="25"/>',
            id="behind the last",
        ),
        pytest.param(
            "list_issues",
            {"limit": 1, "fields": ["subject", "status"]},
            f'<issues total_count="3" offset="0" limit="1" {SAID} '
            'next="list_issues(fields: [&quot;subject&quot;,&quot;status&quot;], limit: 1, offset: 1)">'
            '<issue id="1"><status id="1">New</status><subject>Issue 1</subject></issue></issues>',
            id="only some fields",
        ),
        pytest.param(
            "show_project",
            {"id": 1},
            '<project id="1"><name>Web Shop</name><identifier>webshop</identifier>'
            '<status id="5">closed</status><is_public>false</is_public></project>',
            id="a project",
        ),
        pytest.param(
            "list_memberships",
            {"project_id": 1},
            '<memberships total_count="1" offset="0" limit="25"><membership id="1"><user id="6">Déva Roy</user>'
            '<roles><role id="4">Dev</role></roles></membership></memberships>',
            id="memberships",
        ),
        pytest.param(
            "list_issue_statuses",
            {},
            '<issue_statuses total_count="3"><issue_status id="1">New</issue_status><issue_status id="2">In Progress'
            '</issue_status><issue_status id="5" is_closed="true">Closed</issue_status></issue_statuses>',
            id="statuses",
        ),
        pytest.param(
            "list_trackers",
            {},
            '<trackers total_count="1"><tracker id="1"><name>Bug</name><enabled_standard_fields>category_id, due_date'
            "</enabled_standard_fields></tracker></trackers>",
            id="trackers",
        ),
        pytest.param(
            "show_time_entry",
            {"id": 5},
            '<time_entry id="5"><issue id="7"/><hours>1</hours></time_entry>',
            id="a time entry",
        ),
        pytest.param(
            "show_user",
            {"id": 6},
            '<user id="6"><login>dev</login><firstname>Déva</firstname><status id="3">locked</status></user>',
            id="a user without the key",
        ),
        pytest.param(
            "show_version",
            {"id": 1},
            '<version id="1"><name>1.0</name><status>open</status><sharing>none</sharing></version>',
            id="a version",
        ),
        pytest.param(
            "show_wiki_page",
            {"project_id": 1, "title": "Checkout"},
            f"<wiki_page {SAID}><title>Checkout</title><parent><title>Wiki</title></parent>"
            '<text untrusted="true">h1. Pay</text><version>2</version></wiki_page>',
            id="a wiki page",
        ),
        pytest.param(
            "list_news",
            {},
            f'<news total_count="1" offset="0" limit="25" {SAID}><news_item id="1"><title>Out &amp; about</title>'
            '<summary untrusted="true">Soon</summary><author id="6">Déva Roy</author></news_item></news>',
            id="news",
        ),
        pytest.param(
            "search_redmine",
            {"q": "bug"},
            f'<results total_count="1" offset="0" limit="25" {SAID}><result id="1"><title>Bug #1</title>'
            f'<type>issue</type><excerpt untrusted="true">{"x" * 300}…</excerpt></result></results>',
            id="results of a search",
        ),
        pytest.param(
            "show_attachment",
            {"id": 7, "show_as": "details"},
            f'<attachment id="7" {SAID}><filename>a.bin</filename>'
            "<content_type>application/octet-stream</content_type></attachment>",
            id="an attachment",
        ),
    ],
)
async def test_an_answer_is_this_document(tmp_path: Path, tool: str, arguments: JsonObject, expected: str) -> None:
    async with bench(tmp_path, answers=made(PLACES), REDMINE_FORMAT="xml") as redmine:
        result = await redmine.call(tool, **arguments)

    assert text_of(result) == DECLARATION + expected
    assert document(result) is not None


@pytest.mark.parametrize("arguments", [{"limit": 2}, {"limit": 1, "fields": ["subject", "cf_2"], "sort": "id:desc"}])
async def test_the_next_call_begins_where_this_one_ended(tmp_path: Path, arguments: Any) -> None:
    rows = [issue(number, custom_fields=[{"id": 2, "name": "Customer", "value": "A"}]) for number in (1, 2, 3)]
    fields = {"custom_fields": [{"id": 2, "name": "Customer", "customized_type": "issue"}]}
    places: dict[str, Reply] = {"/issues": paged("issues", rows), "/custom_fields": fields}
    shown: list[str | None] = []
    async with bench(tmp_path, answers=made(places), REDMINE_FORMAT="xml") as redmine:
        tool, asked = "list_issues", dict(arguments)
        for _ in range(4):
            root = document(await redmine.call(tool, **asked))
            shown += [one.get("id") for one in root]
            if (following := root.get("next")) is None:
                break
            tool, asked = parse_call(following)
            assert {key: asked[key] for key in arguments} == arguments

    assert shown == ["1", "2", "3"]
