"""Files of a project and of its versions."""

from typing import Any

from dogubako.sandbox.redmine.asking import DONE, Ask, BrokenError, not_found
from dogubako.sandbox.redmine.attaching import attach, attachments_of, shown_attachment, uploaded
from dogubako.sandbox.redmine.naming import named
from dogubako.sandbox.redmine.shapes import is_blank
from dogubako.sandbox.redmine.store import Row
from dogubako.sandbox.redmine.versions import by_due_date


def list_files(ask: Ask) -> Any:
    """The project's own files first, then those of its versions, the last version first."""
    project = ask.project()
    ask.need(project, "view_files")
    shown = [_shown(ask, row, None) for row in _by_name(attachments_of(ask.store, "Project", project["id"]))]
    versions = sorted(ask.store["versions"].where(project_id=project["id"]), key=by_due_date, reverse=True)
    for version in versions:
        shown += [_shown(ask, row, version) for row in _by_name(attachments_of(ask.store, "Version", version["id"]))]
    return {"files": shown}


def _by_name(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda each: (each["filename"], each["created_on"], each["id"]))


def _shown(ask: Ask, row: Row, version: Row | None) -> dict[str, Any]:
    return {
        **shown_attachment(ask, row),
        **({"version": named(version)} if version else {}),
        "digest": row.get("digest"),
        "downloads": row.get("downloads", 0),
    }


def create_file(ask: Ask) -> Any:
    """Answers 204 without an id. A token that is used up, unknown or missing is a 404, a missing version a 500."""
    project = ask.project()
    ask.need(project, "manage_files")
    said = ask.given("file")
    kind, owner_id = "Project", project["id"]
    if not is_blank(said.get("version_id")):
        version = ask.store["versions"].get(said["version_id"])
        if version is None or version["project_id"] != project["id"]:
            raise BrokenError(500)
        kind, owner_id = "Version", version["id"]
    uploads, _ = uploaded(ask.store, [said])
    if not uploads:
        raise not_found()
    attach(uploads, kind, owner_id)
    return DONE
