"""The few web pages that the API's clients read: the filters of issues, the form of an issue, the user's account.

Their scripts and forms are those of Redmine; everything else of the pages is left out.
"""

import json
from html import escape
from typing import Any, Final

from dogubako_sandbox.redmine.custom_fields import visible_issue_fields
from dogubako_sandbox.redmine.issue_draft import allowed_trackers, draft_of
from dogubako_sandbox.redmine.issue_list import known_filters
from dogubako_sandbox.redmine.permissions import ARCHIVED
from dogubako_sandbox.redmine.request import Answer, ApiRequest
from dogubako_sandbox.redmine.serializers import principal_name
from dogubako_sandbox.redmine.store import Row
from dogubako_sandbox.redmine.trees import branch, shared_versions

_HTML: Final = {"content-type": "text/html; charset=utf-8"}
_ME: Final = ["<< me >>", "me"]
_ESCAPES: Final = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&"})
_STATUSES: Final = {1: "active", 2: "registered", 3: "locked"}
# Redmine lets these filters wait for their values until they are used.
_REMOTE: Final = ("list_status", "list_optional", "list_subprojects", "relation")


def issues_page(req: ApiRequest) -> Answer:
    project = req.project_or_all("view_issues")
    known = known_filters(req, project)
    filters = {name: _filter(req, name, kind, label, project) for name, (kind, label) in known.items()}
    script = json.dumps(filters, ensure_ascii=False).translate(_ESCAPES)
    return _page(f'<script>\nvar availableFilters = {script};\nvar labelDayPlural = "days";\n</script>')


def _filter(req: ApiRequest, name: str, kind: str, label: str, project: Row | None) -> Row:
    values = _values(req, name, project)
    remote = kind in _REMOTE or name in ("author_id", "watcher_id", "updated_by", "last_updated_by")
    if values is None or (remote and req.params.get(name) is None):
        return {"type": kind, "name": label, **({"remote": True} if remote else {"values": None})}
    return {"type": kind, "name": label, **({"remote": True} if remote else {}), "values": values}


def _values(req: ApiRequest, name: str, project: Row | None) -> list[Any] | None:
    store = req.store
    match name:
        case "author_id" | "updated_by" | "last_updated_by" | "watcher_id":
            return [_ME, *_people(req, project, "User")]
        case "assigned_to_id":
            return [_ME, *_people(req, project, "User")]
        case "member_of_group":
            return [[row["lastname"], str(row["id"])] for row in store["users"].where(type="Group")]
        case "fixed_version_id":
            return _versions(req, project)
    if not name.startswith("cf_"):
        return None
    field = store["custom_fields"].at(name.removeprefix("cf_"))
    match field["field_format"]:
        case "bool":
            return [["Yes", "1"], ["No", "0"]]
        case "list":
            return list(field.get("possible_values") or ())
        case "enumeration":
            rows = [row for row in store["custom_field_enumerations"].by_position() if row.get("active")]
            return [[row["name"], str(row["id"])] for row in rows if row["custom_field_id"] == field["id"]]
        case "user":
            return [_ME, *_people(req, project, "User")]
        case "version":
            return _versions(req, project)
    return None


def _people(req: ApiRequest, project: Row | None, *kinds: str) -> list[list[str]]:
    """Return the members of the project and those below it, or of all projects, whom the user sees."""
    store = req.store
    places = branch(store, project) if project else [each for each in store["projects"] if each["status"] != ARCHIVED]
    seen = [each["id"] for each in places if req.user.may("view_project", each)]
    ids = {row["user_id"] for row in store["members"] if row["project_id"] in seen}
    rows = [row for row in store["users"] if row["id"] in ids and row["type"] in kinds and req.user.sees_person(row)]
    rows.sort(key=lambda row: (row.get("status", 1), principal_name(store, row), row["id"]))
    return [[principal_name(store, row), str(row["id"]), _STATUSES[row.get("status", 1)]] for row in rows]


def _versions(req: ApiRequest, project: Row | None) -> list[list[str]]:
    store = req.store
    rows = shared_versions(store, project) if project else list(store["versions"])
    return [[f"{store.project_of(row)['name']} - {row['name']}", str(row["id"]), row["status"]] for row in rows]


def issue_page(req: ApiRequest) -> Answer:
    """Show an issue; the form is there for users who may edit it."""
    issue = req.visible_issue()
    toolbar = f'<script src="/javascripts/jstoolbar/{req.store.setting("text_formatting")}.js"></script>'
    if not req.user.may_edit_issue(issue):
        return _page(toolbar if req.user.may("add_issue_notes", req.store.project_of(issue)) else "<p></p>")
    trackers = allowed_trackers(draft_of(req, issue))
    options = "\n".join(f'<option value="{each["id"]}">{escape(each["name"])}</option>' for each in trackers)
    fields = "\n".join(_field(req, each) for each in visible_issue_fields(req, issue))
    form = f'<select name="issue[tracker_id]" id="issue_tracker_id">{options}</select>\n{fields}'
    return _page(f"{toolbar}\n{form}")


def _field(req: ApiRequest, field: Row) -> str:
    """Show the input of a custom field; a choice is a select."""
    name = f"issue[custom_field_values][{field['id']}]{'[]' if field.get('multiple') else ''}"
    kind = f'class="{field["field_format"]}_cf cf_{field["id"]}"'
    values = _values(req, f"cf_{field['id']}", None)
    if values is None:
        return f'<input type="text" name="{name}" {kind} />'
    pairs = [(each, each) if isinstance(each, str) else (each[1], each[0]) for each in values]
    options = "".join(f'<option value="{escape(value)}">{escape(label)}</option>' for value, label in pairs)
    return f'<select name="{name}" {kind}>{options}</select>'


def account_page(req: ApiRequest) -> Answer:
    req.check(req.user.logged_in)
    row = req.store["user_preferences"].first(user_id=req.user.id) or {}
    zone = escape(str(row.get("time_zone") or ""))
    label = {"Tokyo": "(GMT+09:00) Tokyo", "UTC": "(GMT+00:00) UTC"}.get(zone, zone)
    chosen = f'<option selected="selected" value="{zone}">{label}</option>' if zone else ""
    return _page(f'<select name="pref[time_zone]" id="pref_time_zone">{chosen}</select>')


def _page(body: str) -> Answer:
    return Answer(content=f"<!DOCTYPE html>\n<html>\n<body>\n{body}\n</body>\n</html>\n".encode(), headers=_HTML)
