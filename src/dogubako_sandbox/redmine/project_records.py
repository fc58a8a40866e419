"""Plain records of projects: versions, issue categories, news."""

from typing import Any, ClassVar, Final

from dogubako_sandbox.redmine.custom_fields import custom_part
from dogubako_sandbox.redmine.records import RecordKind, Records, as_given
from dogubako_sandbox.redmine.request import DONE, Answer, ApiRequest, RefusedError, applying, refuse
from dogubako_sandbox.redmine.serializers import named, person, present, times
from dogubako_sandbox.redmine.store import Row, Store, is_blank, now_text, to_date, to_number, to_text, too_long
from dogubako_sandbox.redmine.trees import root_of, shared_versions

_STATUSES: Final = ("open", "locked", "closed")
_VERSION: Final = RecordKind(
    "versions",
    "Version",
    dict.fromkeys(("name", "description", "effective_date", "wiki_page_title", "status", "sharing"), as_given),
)
_CATEGORY: Final = RecordKind("issue_categories", "IssueCategory", {"name": to_text, "assigned_to_id": to_number})


def name_errors(store: Store, table: str, row: Row) -> list[str]:
    """Check a name that has to be there, and to be the only one in its project."""
    same = store[table].where(project_id=row["project_id"], name=row.get("name"))
    if is_blank(row.get("name")):
        return ["Name cannot be blank"]
    taken = any(each["id"] != row.get("id") for each in same)
    return [*(["Name has already been taken"] if taken else []), *too_long("Name", row["name"], 60)]


def _version_errors(store: Store, row: Row) -> list[str]:
    due = row.get("effective_date")
    more = {
        "Due date is not a valid date": not is_blank(due) and to_date(due) is None,
        "Status is not included in the list": row["status"] not in _STATUSES,
    }
    texts = too_long("Description", row.get("description"), 255)
    titles = too_long("Wiki page title", row.get("wiki_page_title"), 255)
    return [*name_errors(store, "versions", row), *texts, *titles, *applying(more)]


class Versions(Records):
    one, many, table = "version", "versions", "versions"
    view, manage = ("view_issues",), ("manage_versions",)
    defaults: ClassVar[Row] = {"name": "", "description": "", "status": "open", "sharing": "none"}

    def rows(self, req: ApiRequest, project: Row) -> list[Row]:
        return shared_versions(req.store, project)

    def shown(self, req: ApiRequest, row: Row, *, alone: bool = False) -> Row:
        project = req.store.project_of(row)
        return {
            "id": row["id"],
            "project": named(project),
            "name": row["name"],
            "description": row.get("description"),
            "status": row["status"],
            "due_date": row.get("effective_date"),
            "sharing": row["sharing"],
            "wiki_page_title": row.get("wiki_page_title"),
            **(self._hours(req, row) if alone and req.user.may("view_time_entries", project) else {}),
            **custom_part(req, "Version", row, project),
            **times(row),
        }

    def _hours(self, req: ApiRequest, row: Row) -> Row:
        issues = req.store["issues"].where(fixed_version_id=row["id"])
        ids = {each["id"] for each in issues}
        estimated = sum(each.get("estimated_hours") or 0 for each in issues if req.user.sees_issue(each))
        spent = sum(each["hours"] for each in req.store["time_entries"] if each.get("issue_id") in ids)
        return {"estimated_hours": float(estimated), "spent_hours": float(spent)}

    def save(self, req: ApiRequest, row: Row) -> Row:
        """Save a version. A text counts as no body; a sharing that the user may not give is dropped."""
        body = {} if isinstance(req.params.get("version"), str) else req.body("version")
        wanted = _VERSION.changes(body)
        wanted["effective_date"] = body.get("due_date", wanted.get("effective_date", row.get("effective_date"))) or None
        allowed = {"none", "descendants", row["sharing"], *(["system"] if req.user.admin else [])}
        if req.user.may("manage_versions", root_of(req.store, req.store.project_of(row))):
            allowed |= {"hierarchy", "tree"}
        if wanted.get("sharing") not in allowed:
            wanted.pop("sharing", None)
        return _VERSION.save(req, row, body, wanted, lambda changed: _version_errors(req.store, changed))

    def remove(self, req: ApiRequest, row: Row) -> None:
        """Refuse to delete a version that a record uses: 422, without a reason."""
        store = req.store
        fields = store["custom_fields"].ids("id", field_format="version")
        values = store["custom_values"].where(value=str(row["id"]))
        if store["issues"].first(fixed_version_id=row["id"]) or any(
            each["custom_field_id"] in fields for each in values
        ):
            raise RefusedError(422)
        store["versions"].remove(row)
        store.remove_parts("Version", row["id"])
        for project in store["projects"].where(default_version_id=row["id"]):
            project["default_version_id"] = None


class Categories(Records):
    one, many, table = "issue_category", "issue_categories", "issue_categories"
    view = manage = ("manage_categories",)

    def shown(self, req: ApiRequest, row: Row, *, alone: bool = False) -> Row:
        assignee = person(req.store, row.get("assigned_to_id"))
        project = named(req.store.project_of(row))
        return {"id": row["id"], "project": project, "name": row["name"], **present(assigned_to=assignee)}

    def create(self, req: ApiRequest) -> Any:
        """Answer with an address that has no host, unlike other records."""
        answer: Answer = super().create(req)
        location = answer.headers["location"].removeprefix(req.base_url)
        return Answer(status=201, body=answer.body, headers={"location": location})

    def save(self, req: ApiRequest, row: Row) -> Row:
        body = req.lenient_body(self.one)
        return _CATEGORY.save(
            req, row, body, _CATEGORY.changes(body), lambda changed: name_errors(req.store, self.table, changed)
        )

    def remove(self, req: ApiRequest, row: Row) -> None:
        """Give its issues the category that the request names, if it is in the same project, or none."""
        other = req.store["issue_categories"].get(req.params.get("reassign_to_id"))
        heir = other["id"] if other and other["project_id"] == row["project_id"] else None
        for issue in req.store["issues"].where(category_id=row["id"]):
            issue["category_id"] = heir
        req.store["issue_categories"].remove(row)


def list_news(req: ApiRequest) -> Any:
    """Show the news of a project, or of all that the user sees, the newest first."""
    project = req.project_for("view_news") if "project_id" in req.path else None
    if project is None:
        req.check(req.user.may_somewhere("view_news"))
    places = {each["id"] for each in ([project] if project else req.user.projects_with("view_news"))}
    rows = [each for each in req.store["news"] if each["project_id"] in places]
    rows.sort(key=lambda each: each["created_on"], reverse=True)
    return req.page_of("news", rows, lambda row: _shown_news(req, row))


def _shown_news(req: ApiRequest, row: Row) -> Row:
    return {
        "id": row["id"],
        "project": named(req.store.project_of(row)),
        **present(author=person(req.store, row.get("author_id"))),
        "title": row["title"],
        "summary": row["summary"],
        "description": row.get("description"),
        **times(row, "created_on"),
    }


def create_news(req: ApiRequest) -> Any:
    """Create news; the answer is 204 without an id."""
    project = req.project_for("manage_news")
    row = _checked_news(req, {"title": "", "summary": "", "description": ""})
    req.store["news"].add(**row, project_id=project["id"], author_id=req.user.id, created_on=now_text())
    return DONE


def _checked_news(req: ApiRequest, row: Row) -> Row:
    body = req.body("news")
    given: Row = {name: body[name] for name in ("title", "summary", "description") if name in body}
    changed = {**row, **given}
    blank = [name for name in ("title", "description") if is_blank(changed[name])]
    sentences = [f"{name.capitalize()} cannot be blank" for name in blank]
    refuse([*sentences, *too_long("Title", changed["title"], 60), *too_long("Summary", changed["summary"], 255)])
    return changed


def _news(req: ApiRequest, permission: str) -> Row:
    row = req.row("news")
    req.need(req.store.project_of(row), permission)
    return row


def show_news(req: ApiRequest) -> Any:
    return {"news": _shown_news(req, _news(req, "view_news"))}


def update_news(req: ApiRequest) -> Any:
    row = _news(req, "manage_news")
    row.update(_checked_news(req, row))
    return DONE


def delete_news(req: ApiRequest) -> Any:
    row = _news(req, "manage_news")
    req.store.remove_parts("News", row["id"])
    req.store["news"].remove(row)
    return DONE


VERSIONS: Final = Versions()
CATEGORIES: Final = Categories()
