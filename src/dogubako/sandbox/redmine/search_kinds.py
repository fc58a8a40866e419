"""What the search finds of each kind, and how it is shown."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from dogubako.sandbox.redmine.asking import Ask
from dogubako.sandbox.redmine.attaching import attachments_of
from dogubako.sandbox.redmine.clock import shown_time
from dogubako.sandbox.redmine.custom_values import fields_of, sees_field
from dogubako.sandbox.redmine.issue_access import sees_issue
from dogubako.sandbox.redmine.search_words import flag, has_words
from dogubako.sandbox.redmine.store import Row

Places = set[int] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    time: str
    shown: dict[str, Any]


def _found(row: Row, title: str, kind: str, url: str, text: str | None) -> Found:
    time = row["created_on"]
    shown = {
        "id": row["id"],
        "title": title,
        "type": kind,
        "url": url,
        "description": text,
        "datetime": shown_time(time),
    }
    return Found(time=time, shown=shown)


def _inside(row: Row, places: Places) -> bool:
    return places is None or row["project_id"] in places


def _hits(ask: Ask, row: Row, kind: str, texts: list[str | None], words: list[str], more: Iterable[list[str]]) -> bool:
    """Whether the words are in the title, or in the text, or all in one of the other places."""
    titles_only, files = flag(ask, "titles_only", default=False), ask.text("attachments") or "0"
    if files != "only":
        own = texts[:1] if titles_only else texts
        if has_words(ask, own, words):
            return True
        if not titles_only and any(has_words(ask, each, words) for each in more):
            return True
    if files == "0" or (titles_only and files != "only"):
        return False
    names = [[each["filename"], each.get("description")] for each in attachments_of(ask.store, kind, row["id"])]
    return any(has_words(ask, each, words) for each in names)


def _issues(ask: Ask, words: list[str], places: Places) -> list[Found]:
    store, open_only, found = ask.store, flag(ask, "open_issues", default=False), []
    for row in store["issues"]:
        status = store["issue_statuses"].at(row["status_id"])
        closed = bool(status.get("is_closed"))
        if not _inside(row, places) or (open_only and closed) or not sees_issue(store, ask.who, row):
            continue
        texts = [row["subject"], row.get("description")]
        if _hits(ask, row, "Issue", texts, words, _around_issue(ask, row)):
            tracker = store["trackers"].at(row["tracker_id"])["name"]
            title = f"{tracker} #{row['id']} ({status['name']}): {row['subject']}"
            kind = "issue-closed" if closed else "issue"
            found.append(_found(row, title, kind, f"{ask.base_url}/issues/{row['id']}", row.get("description")))
    return found


def _around_issue(ask: Ask, issue: Row) -> Iterable[list[str]]:
    """Searchable custom fields and notes, private ones for those who may see them."""
    store = ask.store
    project = store["projects"].at(issue["project_id"])
    for value in store["custom_values"].where(customized_id=issue["id"], customized_type="Issue"):
        field = store["custom_fields"].at(value["custom_field_id"])
        if field.get("searchable") and sees_field(store, ask.who, field, project):
            yield [value.get("value") or ""]
    sees_private = ask.who.may("view_private_notes", project)
    for journal in store["journals"].where(journalized_id=issue["id"]):
        if sees_private or not journal.get("private_notes"):
            yield [journal.get("notes") or ""]


def _news(ask: Ask, words: list[str], places: Places) -> list[Found]:
    seen = {each["id"] for each in ask.who.projects_with("view_news")}
    rows = [each for each in ask.store["news"] if each["project_id"] in seen and _inside(each, places)]
    return [
        _found(each, each["title"], "news", f"{ask.base_url}/news/{each['id']}", each.get("description"))
        for each in rows
        if _hits(ask, each, "News", [each["title"], each.get("summary"), each.get("description")], words, ())
    ]


def _wiki_pages(ask: Ask, words: list[str], places: Places) -> list[Found]:
    store, found = ask.store, []
    for project in ask.who.projects_with("view_wiki_pages"):
        wiki = store["wikis"].first(project_id=project["id"])
        if wiki is None or (places is not None and project["id"] not in places):
            continue
        address = f"{ask.base_url}/projects/{project['identifier']}/wiki"
        for page in store["wiki_pages"].where(wiki_id=wiki["id"]):
            content = store["wiki_contents"].first(page_id=page["id"])
            if content and _hits(ask, page, "WikiPage", [page["title"], content["text"]], words, ()):
                title, url = f"Wiki: {page['title']}", f"{address}/{quote(page['title'])}"
                found.append(_found(page, title, "wiki-page", url, content["text"]))
    return found


def _projects(ask: Ask, words: list[str], places: Places) -> list[Found]:
    store = ask.store
    searchable = {each["id"] for each in fields_of(store, "Project") if each.get("searchable")}
    rows = [each for each in ask.who.projects_with() if places is None or each["id"] in places]
    found = []
    for row in rows:
        values = store["custom_values"].where(customized_id=row["id"], customized_type="Project")
        more = [[each.get("value") or ""] for each in values if each["custom_field_id"] in searchable]
        if _hits(ask, row, "Project", [row["name"], row["identifier"], row.get("description")], words, more):
            url = f"{ask.base_url}/projects/{row['identifier']}"
            found.append(_found(row, f"Project: {row['name']}", "project", url, row.get("description")))
    return found


SEARCHES: Final[dict[str, Callable[[Ask, list[str], Places], list[Found]]]] = {
    "issues": _issues,
    "news": _news,
    "wiki_pages": _wiki_pages,
    "projects": _projects,
}
