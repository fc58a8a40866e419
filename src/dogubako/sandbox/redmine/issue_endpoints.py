"""One issue: show, create, update, delete."""

from functools import partial
from typing import Any

from dogubako.sandbox.redmine.asking import (
    DONE,
    Answer,
    Ask,
    BrokenError,
    RefusedError,
    created,
    forbidden,
    not_found,
    unprocessable,
)
from dogubako.sandbox.redmine.attaching import Upload, uploaded
from dogubako.sandbox.redmine.issue_access import may_with_issue, sees_issue
from dogubako.sandbox.redmine.issue_assigning import allowed_trackers, assign
from dogubako.sandbox.redmine.issue_checks import wrong_with
from dogubako.sandbox.redmine.issue_copying import draft_of_copy, finish_copy, original_of
from dogubako.sandbox.redmine.issue_draft import Draft, draft_of, new_draft, trackers_of
from dogubako.sandbox.redmine.issue_saving import delete_with_children, save_changes, save_new
from dogubako.sandbox.redmine.issue_shown import included, shown_issue
from dogubako.sandbox.redmine.store import Row, to_id


def visible_issue(ask: Ask, name: str = "id") -> Row:
    """The issue that the path names, for those who see it; others are refused, not told that it does not exist."""
    issue = ask.row("issues", name)
    if not sees_issue(ask.store, ask.who, issue):
        raise ask.denied()
    return issue


def show_issue(ask: Ask) -> dict[str, Any]:
    issue = visible_issue(ask)
    return {"issue": {**shown_issue(ask, issue), **included(ask, issue)}}


def create_issue(ask: Ask) -> Answer:
    """The answer shows hours only when the project stands in the address, not only in the body."""
    place = _place(ask)
    original = original_of(ask)
    draft = draft_of_copy(ask, original, place) if original else new_draft(ask, place)
    assign(draft, ask.given("issue"))
    _check_tracker(draft)
    if not _may_add(draft):
        raise ask.denied()
    files = _checked_files(draft)
    issue = save_new(draft, files, partial(finish_copy, ask, original))
    if ask.includes("journals") or ask.includes("changesets"):
        # Too late to say no: the issue is there.
        raise BrokenError(500)
    body = {**shown_issue(ask, issue, with_time=place is not None), **included(ask, issue)}
    # A copy's children have not been counted yet.
    body["total_estimated_hours"] = issue.get("estimated_hours")
    return created({"issue": body}, f"{ask.base_url}/issues/{issue['id']}")


def _place(ask: Ask) -> Row | None:
    if not ask.path.get("project_id") and not ask.text("project_id").strip():
        if not (ask.who.may_somewhere("add_issues") or ask.who.may_somewhere("copy_issues")):
            raise ask.denied()
        return None
    project = ask.project()
    ask.need(project, "add_issues", "copy_issues")
    return project


def _check_tracker(draft: Draft) -> None:
    project = draft.project
    if project and draft.tracker is None:
        raise forbidden() if trackers_of(draft.store, project) and not allowed_trackers(draft) else RefusedError(500)


def _may_add(draft: Draft) -> bool:
    who, project = draft.ask.who, draft.project
    return who.may("add_issues", project) if project else who.may_somewhere("add_issues")


def _checked_files(draft: Draft) -> list[Upload]:
    """The files of the request, when nothing speaks against saving the draft."""
    files, lost = uploaded(draft.store, draft.ask.given("issue").get("uploads"))
    wrong = wrong_with(draft, lost)
    if wrong:
        raise unprocessable(*wrong)
    return files


def update_issue(ask: Ask) -> Answer:
    """Answers 204 whatever was dropped on the way."""
    issue = visible_issue(ask)
    project = ask.store["projects"].at(issue["project_id"])
    ask.need(project, "edit_issues", "edit_own_issues", "add_issue_notes")
    draft = draft_of(ask, issue)
    assign(draft, ask.given("issue"))
    files = _checked_files(draft)
    if to_id(draft.issue["lock_version"]) != issue["lock_version"]:
        raise unprocessable()
    save_changes(draft, files)
    return DONE


def delete_issue(ask: Ask) -> Answer:
    issue = visible_issue(ask)
    _check_deletable(ask, issue)
    delete_with_children(ask.store, ask.who, issue)
    return DONE


def _check_deletable(ask: Ask, issue: Row) -> None:
    ask.need(ask.store["projects"].at(issue["project_id"]), "delete_issues")
    if not may_with_issue(ask.store, ask.who, issue, "delete_issues"):
        raise ask.denied()


def delete_issues(ask: Ask) -> Answer:
    """All of `ids[]`, or none of them when one is refused."""
    asked = ask.params.get("ids")
    rows = [ask.store["issues"].get(each) for each in (asked if isinstance(asked, list) else [asked])]
    issues = [row for row in rows if row]
    if not issues:
        raise not_found()
    if not all(sees_issue(ask.store, ask.who, each) for each in issues):
        raise ask.denied()
    for issue in issues:
        _check_deletable(ask, issue)
    for issue in issues:
        delete_with_children(ask.store, ask.who, issue)
    return DONE
