"""News of projects."""

from typing import Any

from dogubako.sandbox.redmine.asking import DONE, Ask, page_of, unprocessable
from dogubako.sandbox.redmine.attaching import attach, attachments_of, shown_attachment, uploaded
from dogubako.sandbox.redmine.clock import now_text, shown_time
from dogubako.sandbox.redmine.naming import named, person
from dogubako.sandbox.redmine.shapes import is_blank, optional, too_long
from dogubako.sandbox.redmine.store import Row


def list_news(ask: Ask) -> Any:
    """Of all projects that the visitor sees, the newest first."""
    if not ask.who.may_somewhere("view_news"):
        raise ask.denied()
    return _page(ask, {each["id"] for each in ask.who.projects_with("view_news")})


def list_project_news(ask: Ask) -> Any:
    project = ask.project()
    ask.need(project, "view_news")
    return _page(ask, {project["id"]})


def _page(ask: Ask, project_ids: set[int]) -> dict[str, Any]:
    rows = [each for each in ask.store["news"] if each["project_id"] in project_ids]
    newest_first = sorted(rows, key=lambda each: each["created_on"], reverse=True)
    return page_of(ask, "news", newest_first, lambda row: {**_head(ask, row), "summary": row["summary"], **_body(row)})


def show_news(ask: Ask) -> Any:
    row = ask.row("news")
    ask.need(_project(ask, row), "view_news")
    shown = {**_head(ask, row), **optional("summary", row["summary"] or None), **_body(row)}
    if ask.includes("attachments"):
        shown["attachments"] = [shown_attachment(ask, each) for each in attachments_of(ask.store, "News", row["id"])]
    if ask.includes("comments"):
        comments = ask.store["comments"].where(commented_type="News", commented_id=row["id"])
        shown["comments"] = [_comment(ask, each) for each in comments]
    return {"news": shown}


def create_news(ask: Ask) -> Any:
    """Answers 204 without an id."""
    project = ask.project()
    ask.need(project, "manage_news")
    row = {"project_id": project["id"], "author_id": ask.who.id, "title": "", "summary": "", "description": ""}
    row = ask.store["news"].add(**_checked(ask, row), created_on=now_text(), comments_count=0)
    _take_uploads(ask, row)
    return DONE


def update_news(ask: Ask) -> Any:
    row = ask.row("news")
    ask.need(_project(ask, row), "manage_news")
    row.update(_checked(ask, row))
    _take_uploads(ask, row)
    return DONE


def delete_news(ask: Ask) -> Any:
    row = ask.row("news")
    ask.need(_project(ask, row), "manage_news")
    ask.store["news"].remove(row)
    ask.store["comments"].remove_where(commented_type="News", commented_id=row["id"])
    ask.store["attachments"].remove_where(container_type="News", container_id=row["id"])
    return DONE


def _project(ask: Ask, row: Row) -> Row:
    return ask.store["projects"].at(row["project_id"])


def _head(ask: Ask, row: Row) -> dict[str, Any]:
    author = person(ask.store, row.get("author_id"))
    return {
        "id": row["id"],
        "project": named(_project(ask, row)),
        **optional("author", author),
        "title": row["title"],
    }


def _body(row: Row) -> dict[str, Any]:
    return {"description": row.get("description"), "created_on": shown_time(row["created_on"])}


def _comment(ask: Ask, row: Row) -> dict[str, Any]:
    author = person(ask.store, row.get("author_id"))
    return {"id": row["id"], **optional("author", author), "content": row.get("content") or row.get("comments")}


def _checked(ask: Ask, row: Row) -> Row:
    asked = {name: each for name, each in ask.given("news").items() if name in ("title", "summary", "description")}
    changed = {**row, **asked}
    sentences = [f"{name.capitalize()} cannot be blank" for name in ("title", "description") if is_blank(changed[name])]
    sentences += too_long("Title", changed["title"], 60) + too_long("Summary", changed["summary"], 255)
    if sentences:
        raise unprocessable(*sentences)
    return changed


def _take_uploads(ask: Ask, row: Row) -> None:
    found, _ = uploaded(ask.store, ask.given("news").get("uploads"))
    attach(found, "News", row["id"])
