"""Versions of projects."""

from typing import Any, Final

from dogubako.sandbox.redmine.asking import DONE, Ask, RefusedError, created, unprocessable
from dogubako.sandbox.redmine.clock import now_text, shown_time, to_date
from dogubako.sandbox.redmine.issue_access import sees_issue
from dogubako.sandbox.redmine.naming import named
from dogubako.sandbox.redmine.shapes import checked_customs, custom_part, is_blank, save_customs, too_long
from dogubako.sandbox.redmine.sharing import root_of, shared_versions
from dogubako.sandbox.redmine.store import Row, Store

_STATUSES: Final = ("open", "locked", "closed")
_SETTABLE: Final = ("name", "description", "effective_date", "wiki_page_title", "status", "sharing")


def list_versions(ask: Ask) -> Any:
    """All of them at once: this list has a total_count but no pages."""
    project = ask.project()
    ask.need(project, "view_issues")
    versions = shared_versions(ask.store, project)
    return {"versions": [_shown(ask, each) for each in versions], "total_count": len(versions)}


def show_version(ask: Ask) -> Any:
    version = ask.row("versions")
    ask.need(_home(ask.store, version), "view_issues")
    return {"version": _shown(ask, version, _hours(ask, version))}


def create_version(ask: Ask) -> Any:
    project = ask.project()
    ask.need(project, "manage_versions")
    fresh: Row = {"project_id": project["id"], "name": "", "description": "", "status": "open", "sharing": "none"}
    version, values = _checked(ask, fresh, project)
    now = now_text()
    version = ask.store["versions"].add(**version, created_on=now, updated_on=now)
    save_customs(ask.store, "Version", version, values)
    _mark_as_default(ask, version)
    return created({"version": _shown(ask, version, _hours(ask, version))}, f"{ask.base_url}/versions/{version['id']}")


def update_version(ask: Ask) -> Any:
    version = ask.row("versions")
    project = _home(ask.store, version)
    ask.need(project, "manage_versions")
    changed, values = _checked(ask, version, project)
    is_new = any(changed.get(name) != version.get(name) for name in _SETTABLE)
    if save_customs(ask.store, "Version", version, values) or is_new:
        version.update(changed, updated_on=now_text())
    _mark_as_default(ask, version)
    return DONE


def delete_version(ask: Ask) -> Any:
    """A version that something still refers to stays: 422, and no word why."""
    version = ask.row("versions")
    ask.need(_home(ask.store, version), "manage_versions")
    if _in_use(ask.store, version):
        raise RefusedError(422)
    ask.store["versions"].remove(version)
    ask.store["custom_values"].remove_where(customized_type="Version", customized_id=version["id"])
    for project in ask.store["projects"].where(default_version_id=version["id"]):
        project["default_version_id"] = None
    return DONE


def by_due_date(version: Row) -> tuple[bool, str, str, int]:
    """The order of versions: those without a date come last."""
    due = version.get("effective_date")
    return (due is None, due or "", version["name"], version["id"])


def _home(store: Store, version: Row) -> Row:
    return store["projects"].at(version["project_id"])


def _shown(ask: Ask, version: Row, hours: Row | None = None) -> dict[str, Any]:
    project = _home(ask.store, version)
    return {
        "id": version["id"],
        "project": named(project),
        "name": version["name"],
        "description": version.get("description"),
        "status": version["status"],
        "due_date": version.get("effective_date"),
        "sharing": version["sharing"],
        "wiki_page_title": version.get("wiki_page_title"),
        **(hours or {}),
        **custom_part(ask, "Version", version, project),
        "created_on": shown_time(version["created_on"]),
        "updated_on": shown_time(version["updated_on"]),
    }


def _hours(ask: Ask, version: Row) -> dict[str, float]:
    """Only for those who may see spent time in the version's project."""
    store = ask.store
    if not ask.who.may("view_time_entries", _home(store, version)):
        return {}
    issues = store["issues"].where(fixed_version_id=version["id"])
    estimated = sum(each.get("estimated_hours") or 0 for each in issues if sees_issue(store, ask.who, each))
    ids = {each["id"] for each in issues}
    spent = sum(each["hours"] for each in store["time_entries"] if each.get("issue_id") in ids)
    return {"estimated_hours": float(estimated), "spent_hours": float(spent)}


def _checked(ask: Ask, version: Row, project: Row) -> tuple[Row, dict[int, Any]]:
    """The version as it would be, and its custom values; or the sentences that say why not."""
    body = _body(ask)
    changed = {**version, **_settable(ask, version, project, body)}
    known = version if "id" in version else None
    values, wrong_values = checked_customs(ask, "Version", known, body, project)
    sentences = [*wrong_values, *_wrong(ask.store, changed)]
    if sentences:
        raise unprocessable(*sentences)
    changed["effective_date"] = changed.get("effective_date") or None
    return changed, values


def _body(ask: Ask) -> Row:
    """A text counts as nothing; what is neither text nor object breaks the server."""
    body = ask.params.get("version")
    return {} if isinstance(body, str) else ask.given("version")


def _settable(ask: Ask, version: Row, project: Row, body: Row) -> Row:
    """What is kept of a body: a way of sharing that is not allowed is dropped without a word."""
    asked = {name: value for name, value in body.items() if name in _SETTABLE}
    if "due_date" in body:
        asked["effective_date"] = body["due_date"]
    if asked.get("sharing") not in _allowed_sharings(ask, version, project):
        asked.pop("sharing", None)
    return asked


def _allowed_sharings(ask: Ask, version: Row, project: Row) -> set[str]:
    allowed = {"none", "descendants", version["sharing"]}
    if ask.who.admin:
        allowed.add("system")
    if ask.who.may("manage_versions", root_of(ask.store, project)):
        allowed |= {"hierarchy", "tree"}
    return allowed


def _wrong(store: Store, version: Row) -> list[str]:
    name, due = version["name"], version.get("effective_date")
    namesakes = store["versions"].where(project_id=version["project_id"], name=name)
    sentences = ["Name cannot be blank"] if is_blank(name) else []
    if any(each["id"] != version.get("id") for each in namesakes):
        sentences.append("Name has already been taken")
    sentences += too_long("Name", name, 60) + too_long("Description", version.get("description"), 255)
    sentences += too_long("Wiki page title", version.get("wiki_page_title"), 255)
    if not is_blank(due) and to_date(due) is None:
        sentences.append("Due date is not a valid date")
    if version["status"] not in _STATUSES:
        sentences.append("Status is not included in the list")
    return sentences


def _mark_as_default(ask: Ask, version: Row) -> None:
    if _body(ask).get("default_project_version") in ("1", True):
        _home(ask.store, version)["default_version_id"] = version["id"]


def _in_use(store: Store, version: Row) -> bool:
    fields = {each["id"] for each in store["custom_fields"].where(field_format="version")}
    return (
        store["issues"].first(fixed_version_id=version["id"]) is not None
        or store["attachments"].first(container_type="Version", container_id=version["id"]) is not None
        or any(
            each.get("value") == str(version["id"]) and each["custom_field_id"] in fields
            for each in store["custom_values"]
        )
    )
