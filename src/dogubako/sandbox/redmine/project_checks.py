"""Whether a project may be saved as asked, and the sentences that say why not."""

import re
from typing import Any, Final

from dogubako.sandbox.redmine.asking import Ask, BrokenError, unprocessable
from dogubako.sandbox.redmine.custom_values import Values
from dogubako.sandbox.redmine.shapes import checked_customs, is_blank, too_long
from dogubako.sandbox.redmine.sharing import is_under
from dogubako.sandbox.redmine.store import Row, to_id

_TEXTS: Final = ("name", "description", "homepage")
_REFERENCES: Final = ("default_version_id", "default_assigned_to_id", "default_issue_query_id")
_IDENTIFIER: Final = re.compile(r"(?!\d+$)[a-z0-9\-_]*")
_BAD_PARENT: Final = "Subproject of is invalid"


def checked_project(ask: Ask, project: Row, body: Row) -> tuple[Row, Values]:
    """The columns as they would be, and the custom values. Identifier and status never change, without a word."""
    is_new = "id" not in project
    columns = {**project, **_settable(project, body)}
    parent_is_wrong = _set_parent(ask, columns, project, body)
    if "inherit_members" in body:
        columns["inherit_members"] = _truth(body["inherit_members"])
    values, wrong_values = checked_customs(ask, "Project", None if is_new else project, body, project)
    sentences = [*wrong_values, *_wrong(ask, columns, is_new=is_new), *([_BAD_PARENT] if parent_is_wrong else [])]
    if sentences:
        raise unprocessable(*sentences)
    return columns, values


def _settable(project: Row, body: Row) -> Row:
    asked: Row = {name: _text(body[name]) for name in _TEXTS if name in body}
    if "id" not in project and "identifier" in body:
        asked["identifier"] = _text(body["identifier"]) or ""
    if "is_public" in body:
        asked["is_public"] = _truth(body["is_public"])
    for name in _REFERENCES:
        if name in body:
            asked[name] = to_id(body[name]) or None
    return asked


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _truth(value: Any) -> bool:
    return value not in (None, False, 0, "", "0", "f", "false", "off")


def _set_parent(ask: Ask, columns: Row, project: Row, body: Row) -> bool:
    """Put the project under the one that is asked for; whether that is not allowed."""
    asked = body.get("parent_id")
    wanted = "" if is_blank(asked) else str(asked)
    if "id" in project and ("parent_id" not in body or wanted == str(project.get("parent_id") or "")):
        return False
    parent = ask.store["projects"].get(wanted) if wanted else None
    if not _may_be_under(ask, project, parent):
        return True
    # Redmine looks for the project by its number only, and does not notice when there is none.
    if wanted and parent is None:
        raise BrokenError(500)
    columns["parent_id"] = parent["id"] if parent else None
    return False


def _may_be_under(ask: Ask, project: Row, parent: Row | None) -> bool:
    if parent is None:
        is_root = "id" in project and not project.get("parent_id")
        return is_root or ask.who.may_somewhere("add_project")
    if "id" in project and (parent is project or is_under(parent, project)):
        return False
    return ask.who.may("add_subprojects", parent)


def _wrong(ask: Ask, columns: Row, *, is_new: bool) -> list[str]:
    name, identifier = columns["name"], columns["identifier"]
    sentences = ["Name cannot be blank"] if is_blank(name) else []
    if is_blank(identifier):
        sentences.append("Identifier cannot be blank")
    if is_new and identifier and ask.store["projects"].first(identifier=identifier):
        sentences.append("Identifier has already been taken")
    sentences += too_long("Name", name, 255) + too_long("Homepage", columns.get("homepage"), 255)
    sentences += too_long("Identifier", identifier, 100)
    if is_new and not _IDENTIFIER.fullmatch(identifier):
        sentences.append("Identifier is invalid")
    if identifier == "new":
        sentences.append("Identifier is reserved")
    return sentences
