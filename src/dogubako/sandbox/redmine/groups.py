"""Groups of users. Lists and changes are for administrators; one group can be seen by everybody."""

from typing import Any

from dogubako.sandbox.redmine.asking import DONE, Ask, created, not_found, unprocessable
from dogubako.sandbox.redmine.clock import now_text
from dogubako.sandbox.redmine.membership_roles import join_group, leave_group, remove_member
from dogubako.sandbox.redmine.naming import principal_name
from dogubako.sandbox.redmine.shapes import body_object, custom_part, is_blank, shown_memberships, too_long
from dogubako.sandbox.redmine.store import Row, to_id
from dogubako.sandbox.redmine.visitor import ARCHIVED

_BUILTIN = {"GroupAnonymous": "anonymous", "GroupNonMember": "non_member"}


def list_groups(ask: Ask) -> Any:
    ask.need_admin()
    kinds = ("Group", *(_BUILTIN if ask.text("builtin") == "1" else ()))
    rows = [each for each in ask.store["users"] if each["type"] in kinds]
    rows.sort(key=lambda each: (each["type"], each["lastname"]))
    return {"groups": [_shown(ask, each) for each in rows]}


def show_group(ask: Ask) -> Any:
    group = _group(ask)
    if not ask.who.sees_person(group):
        raise not_found()
    shown = _shown(ask, group)
    if ask.includes("users") and group["type"] not in _BUILTIN:
        shown["users"] = [{"id": each["id"], "name": principal_name(each)} for each in _users(ask, group)]
    if ask.includes("memberships"):
        shown["memberships"] = shown_memberships(ask.store, _memberships(ask, group))
    return {"group": shown}


def create_group(ask: Ask) -> Any:
    ask.need_admin()
    body = body_object(ask, "group")
    name = _checked_name(ask, body.get("name"), None)
    now = now_text()
    group = ask.store["users"].add(
        type="Group", lastname=name, login="", firstname="", status=1, created_on=now, updated_on=now
    )
    _set_users(ask, group, body)
    return created({"group": _shown(ask, group)}, f"{ask.base_url}/groups/{group['id']}")


def update_group(ask: Ask) -> Any:
    ask.need_admin()
    group, body = _group(ask), body_object(ask, "group")
    if group["type"] not in _BUILTIN:
        group["lastname"] = _checked_name(ask, body.get("name", group["lastname"]), group)
        _set_users(ask, group, body)
    return DONE


def delete_group(ask: Ask) -> Any:
    ask.need_admin()
    group, store = _group(ask), ask.store
    for user in _users(ask, group):
        leave_group(store, group["id"], user["id"])
    for member in store["members"].where(user_id=group["id"]):
        remove_member(store, member)
    for issue in store["issues"].where(assigned_to_id=group["id"]):
        issue["assigned_to_id"] = None
    store["users"].remove(group)
    return DONE


def add_users(ask: Ask) -> Any:
    ask.need_admin()
    group = _group(ask)
    asked = ask.params.get("user_id") or ask.params.get("user_ids") or []
    ids = [to_id(each) for each in (asked if isinstance(asked, list) else [asked])]
    there = {each["id"] for each in _users(ask, group)}
    new = [each for each in map(ask.store["users"].get, ids) if each and each["type"] == "User"]
    fresh = [each for each in new if each["id"] not in there]
    if not fresh:
        raise unprocessable("User is invalid")
    for user in fresh:
        join_group(ask.store, group["id"], user["id"])
    return DONE


def remove_user(ask: Ask) -> Any:
    ask.need_admin()
    leave_group(ask.store, _group(ask)["id"], to_id(ask.path["user_id"]))
    return DONE


def _group(ask: Ask) -> Row:
    row = ask.row("users")
    if row["type"] != "Group" and row["type"] not in _BUILTIN:
        raise not_found()
    return row


def _users(ask: Ask, group: Row) -> list[Row]:
    return [ask.store["users"].at(link["user_id"]) for link in ask.store["groups_users"].where(group_id=group["id"])]


def _memberships(ask: Ask, group: Row) -> list[Row]:
    rows = ask.store["members"].where(user_id=group["id"])
    return [each for each in rows if ask.store["projects"].at(each["project_id"])["status"] != ARCHIVED]


def _shown(ask: Ask, group: Row) -> dict[str, Any]:
    builtin = {"builtin": _BUILTIN[group["type"]]} if group["type"] in _BUILTIN else {}
    return {"id": group["id"], "name": principal_name(group), **builtin, **custom_part(ask, "Group", group)}


def _checked_name(ask: Ask, asked: object, group: Row | None) -> str:
    name = str(asked if asked is not None else "")
    others = [each for each in ask.store["users"] if each["type"].startswith("Group") and each is not group]
    sentences = ["Name cannot be blank"] if is_blank(name) else []
    if any(each["lastname"].lower() == name.lower() for each in others):
        sentences.append("Name has already been taken")
    sentences += too_long("Name", name, 255)
    if sentences:
        raise unprocessable(*sentences)
    return name


def _set_users(ask: Ask, group: Row, body: Row) -> None:
    if not isinstance(body.get("user_ids"), list):
        return
    wanted = {to_id(each) for each in body["user_ids"]}
    there = {each["id"] for each in _users(ask, group)}
    for user_id in there - wanted:
        leave_group(ask.store, group["id"], user_id)
    for user_id in sorted(wanted - there):
        if ask.store["users"].get(user_id):
            join_group(ask.store, group["id"], user_id)
