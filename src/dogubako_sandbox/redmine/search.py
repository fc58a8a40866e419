"""The search through issues, news, wiki pages and projects."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final
from urllib.parse import quote

from dogubako_sandbox.redmine.filters import words_of
from dogubako_sandbox.redmine.permissions import ARCHIVED
from dogubako_sandbox.redmine.request import ApiRequest, forbidden
from dogubako_sandbox.redmine.serializers import times
from dogubako_sandbox.redmine.store import Row, ascii_lower
from dogubako_sandbox.redmine.trees import branch

Hit = tuple[Row, Row]
Kind = Callable[[ApiRequest, list[str]], Iterator[Hit]]


def search(req: ApiRequest) -> Any:
    """Search everywhere or in one project. Without a word that is long enough, total_count is null."""
    project = req.project() if "project_id" in req.path else None
    if project and project["status"] == ARCHIVED:
        raise forbidden()
    if project:
        req.need(project, "search_project")
    offset, limit = req.page()
    words = words_of(req.text("q"))
    if not words:
        return {"results": [], "total_count": None, "offset": offset, "limit": limit}
    places, kinds = _places(req, project), _kinds(req, project)
    hits = [hit for kind in kinds for hit in _KINDS[kind](req, words) if places is None or hit[0]["place"] in places]
    hits.sort(key=lambda hit: (hit[0]["time"], hit[1]["id"]), reverse=True)
    shown = [result for _, result in hits[offset : offset + limit]]
    return {"results": shown, "total_count": len(hits), "offset": offset, "limit": limit}


def _places(req: ApiRequest, project: Row | None) -> set[int] | None:
    """Return the projects to search; None for all."""
    match req.text("scope"):
        case "all":
            return None
        case "my_projects":
            return req.store["members"].ids("project_id", user_id=req.user.id)
        case "subprojects" if project:
            return {each["id"] for each in branch(req.store, project)}
    return {project["id"]} if project else None


def _kinds(req: ApiRequest, project: Row | None) -> list[str]:
    """Return the kinds of records: those of the request, or all. A single project has no projects."""
    kinds = list(_KINDS)
    if project and req.text("scope") not in ("all", "my_projects", "subprojects"):
        kinds = [each for each in kinds if each != "projects" and req.user.may(f"view_{each}", project)]
    return [each for each in kinds if req.text(each).strip()] or kinds


def _flag(req: ApiRequest, name: str, *, default: bool) -> bool:
    """Read a switch of the search: any value but an empty one is yes, even `0`."""
    return bool(req.text(name).strip()) if name in req.params else default


def _has_words(req: ApiRequest, texts: Iterable[str | None], words: list[str]) -> bool:
    """Look for all words, or for any of them if the request says so, wherever in the texts."""
    lower = [ascii_lower(each) for each in texts if each]
    found = [any(ascii_lower(word) in text for text in lower) for word in words]
    return all(found) if _flag(req, "all_words", default=True) else any(found)


def _matches(req: ApiRequest, texts: list[str | None], words: list[str], more: Iterable[str] = ()) -> bool:
    """Tell whether the words are in the title, or in the texts, or all in one of the other places."""
    if _flag(req, "titles_only", default=False):
        return _has_words(req, texts[:1], words)
    return _has_words(req, texts, words) or any(_has_words(req, [each], words) for each in more)


def _hit(req: ApiRequest, row: Row, place: int, title: str, kind: str, path: str, text: str | None) -> Hit:
    shown = {"id": row["id"], "title": title, "type": kind, "url": f"{req.base_url}{path}", "description": text}
    found = times(row, "created_on")["created_on"]
    return {"place": place, "time": found}, {**shown, "datetime": found}


def _issues(req: ApiRequest, words: list[str]) -> Iterator[Hit]:
    store, open_only = req.store, _flag(req, "open_issues", default=False)
    for row in store["issues"]:
        status, text = store["issue_statuses"].at(row["status_id"]), row.get("description")
        closed = bool(status.get("is_closed"))
        if (open_only and closed) or not req.user.sees_issue(row):
            continue
        if _matches(req, [row["subject"], text], words, _around_issue(req, row)):
            tracker = store["trackers"].at(row["tracker_id"])["name"]
            title = f"{tracker} #{row['id']} ({status['name']}): {row['subject']}"
            kind = "issue-closed" if closed else "issue"
            yield _hit(req, row, row["project_id"], title, kind, f"/issues/{row['id']}", text)


def _around_issue(req: ApiRequest, issue: Row) -> Iterator[str]:
    """Yield searchable custom fields and notes, private ones for users who may see them."""
    store, project = req.store, req.store.project_of(issue)
    for value in store["custom_values"].where(customized_id=issue["id"], customized_type="Issue"):
        field = store["custom_fields"].at(value["custom_field_id"])
        if field.get("searchable") and req.user.sees_field(field, project):
            yield value.get("value") or ""
    sees_private = req.user.may("view_private_notes", project)
    for journal in store["journals"].where(journalized_id=issue["id"]):
        if sees_private or not journal.get("private_notes"):
            yield journal.get("notes") or ""


def _news(req: ApiRequest, words: list[str]) -> Iterator[Hit]:
    seen = {each["id"] for each in req.user.projects_with("view_news")}
    for row in req.store["news"]:
        texts = [row["title"], row.get("summary"), row.get("description")]
        if row["project_id"] in seen and _matches(req, texts, words):
            yield _hit(req, row, row["project_id"], row["title"], "news", f"/news/{row['id']}", row.get("description"))


def _wiki_pages(req: ApiRequest, words: list[str]) -> Iterator[Hit]:
    store = req.store
    for project in req.user.projects_with("view_wiki_pages"):
        wiki = store["wikis"].first(project_id=project["id"])
        for page in store["wiki_pages"].where(wiki_id=wiki["id"]) if wiki else ():
            content = store["wiki_contents"].first(page_id=page["id"])
            if content and _matches(req, [page["title"], content["text"]], words):
                path = f"/projects/{project['identifier']}/wiki/{quote(page['title'])}"
                yield _hit(req, page, project["id"], f"Wiki: {page['title']}", "wiki-page", path, content["text"])


def _projects(req: ApiRequest, words: list[str]) -> Iterator[Hit]:
    for row in req.user.projects_with():
        text, path = row.get("description"), f"/projects/{row['identifier']}"
        if _matches(req, [row["name"], row["identifier"], text], words):
            yield _hit(req, row, row["id"], f"Project: {row['name']}", "project", path, text)


_KINDS: Final[dict[str, Kind]] = {"issues": _issues, "news": _news, "wiki_pages": _wiki_pages, "projects": _projects}
