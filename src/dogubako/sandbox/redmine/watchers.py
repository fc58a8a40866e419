"""Who watches an issue."""

from typing import Any

from dogubako.sandbox.redmine.asking import DONE, Answer, Ask, not_found
from dogubako.sandbox.redmine.issue_endpoints import visible_issue
from dogubako.sandbox.redmine.store import Row, to_id
from dogubako.sandbox.redmine.visitor import ACTIVE


def add_watcher(ask: Ask) -> Answer:
    """People and groups that nobody knows are passed over without a word, and so is who watches already."""
    issue = _watchable(ask, "add_issue_watchers")
    for user_id in _asked_ids(ask):
        user = ask.store["users"].get(user_id)
        if user and user["type"] in ("User", "Group") and user.get("status") == ACTIVE and ask.who.sees_person(user):
            _watch(ask, issue, user)
    return DONE


def _watch(ask: Ask, issue: Row, user: Row) -> None:
    entry = {"watchable_type": "Issue", "watchable_id": issue["id"], "user_id": user["id"]}
    if ask.store["watchers"].first(**entry) is None:
        ask.store["watchers"].add(**entry)


def _asked_ids(ask: Ask) -> list[Any]:
    said = ask.params.get("watcher")
    if isinstance(said, dict):
        asked = said.get("user_ids") or said.get("user_id")
    else:
        asked = ask.params.get("user_id")
    return asked if isinstance(asked, list) else [asked]


def remove_watcher(ask: Ask) -> Answer:
    issue = _watchable(ask, "delete_issue_watchers")
    if ask.store["users"].get(ask.path["user_id"]) is None:
        raise not_found()
    user_id = to_id(ask.path["user_id"])
    ask.store["watchers"].remove_where(watchable_type="Issue", watchable_id=issue["id"], user_id=user_id)
    return DONE


def _watchable(ask: Ask, permission: str) -> Row:
    """A missing issue is refused like one that may not be seen."""
    if ask.store["issues"].get(ask.path["issue_id"]) is None:
        raise ask.denied()
    issue = visible_issue(ask, "issue_id")
    ask.need(ask.store["projects"].at(issue["project_id"]), permission)
    return issue
