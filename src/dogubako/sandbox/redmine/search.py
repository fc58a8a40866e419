"""The search through issues, news, wiki pages and projects."""

from collections.abc import Callable
from typing import Any, Final

from dogubako.sandbox.redmine.asking import Ask, forbidden
from dogubako.sandbox.redmine.search_kinds import SEARCHES, Found
from dogubako.sandbox.redmine.search_words import search_words
from dogubako.sandbox.redmine.sharing import with_descendants
from dogubako.sandbox.redmine.store import Row
from dogubako.sandbox.redmine.visitor import ARCHIVED

# Documents, changesets and messages are kinds too, of which there are none here.
_KINDS: Final = ("issues", "news", "documents", "changesets", "wiki_pages", "messages", "projects")
_PERMISSIONS: Final = {"messages": "view_messages", "changesets": "view_changesets", "documents": "view_documents"}


def search_everywhere(ask: Ask) -> Any:
    return _answer(ask, None)


def search_project(ask: Ask) -> Any:
    project = ask.project()
    if project["status"] == ARCHIVED:
        raise forbidden()
    ask.need(project, "search_project")
    return _answer(ask, project)


def _answer(ask: Ask, project: Row | None) -> dict[str, Any]:
    """Without a word that is long enough nothing is counted: total_count is null."""
    offset, limit = ask.page()
    words = search_words(ask.text("q"))
    if not words:
        return {"results": [], "total_count": None, "offset": offset, "limit": limit}
    places, kinds = _scope(ask, project)
    found = [each for kind in kinds for each in _search(kind)(ask, words, places)]
    found.sort(key=lambda each: (each.time[:19], each.shown["id"]), reverse=True)
    shown = [each.shown for each in found[offset : offset + limit]]
    return {"results": shown, "total_count": len(found), "offset": offset, "limit": limit}


def _search(kind: str) -> Callable[..., list[Found]]:
    return SEARCHES.get(kind, lambda ask, words, places: [])


def _scope(ask: Ask, project: Row | None) -> tuple[set[int] | None, list[str]]:
    """Which projects are searched, all of them if None; and for what."""
    match ask.text("scope"):
        case "all":
            places = None
        case "my_projects":
            places = _own_projects(ask)
        case "subprojects":
            places = {each["id"] for each in with_descendants(ask.store, project)} if project else None
        case _:
            places = {project["id"]} if project else None
            return places, _asked_kinds(ask, _kinds_inside(ask, project) if project else list(_KINDS))
    return places, _asked_kinds(ask, list(_KINDS))


def _own_projects(ask: Ask) -> set[int]:
    members = ask.store["members"].where(user_id=ask.who.id) if ask.who.logged_in else []
    return {each["project_id"] for each in members}


def _kinds_inside(ask: Ask, project: Row) -> list[str]:
    """In a single project no projects are looked for, and only what the visitor may see there."""
    kinds = [each for each in _KINDS if each != "projects"]
    return [each for each in kinds if ask.who.may(_PERMISSIONS.get(each, f"view_{each}"), project)]


def _asked_kinds(ask: Ask, kinds: list[str]) -> list[str]:
    """Any value but an empty one asks for a kind, even `0`."""
    asked = [each for each in kinds if ask.text(each).strip()]
    return asked or kinds
