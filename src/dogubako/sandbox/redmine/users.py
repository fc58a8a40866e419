"""Users. Lists and changes are for administrators; one user can be seen by everybody who sees people at all."""

from collections.abc import Callable
from typing import Any, Final

from dogubako.sandbox.redmine.asking import DONE, Ask, BrokenError, RefusedError, created, not_found, page_of
from dogubako.sandbox.redmine.clock import now_text
from dogubako.sandbox.redmine.filters import ascii_lower
from dogubako.sandbox.redmine.issue_sorting import criteria
from dogubako.sandbox.redmine.membership_roles import join_group, leave_group
from dogubako.sandbox.redmine.shapes import body_object, is_blank, save_customs
from dogubako.sandbox.redmine.store import Row, to_id
from dogubako.sandbox.redmine.user_checks import checked_user
from dogubako.sandbox.redmine.user_parts import mail_of, set_mail
from dogubako.sandbox.redmine.user_removal import remove_user
from dogubako.sandbox.redmine.user_shown import in_list, in_whole, of_account

_OWN: Final = ("firstname", "lastname", "mail", "mail_notification", "language")
_BY_ADMIN: Final = (*_OWN, "login", "admin", "status", "must_change_passwd")
_SORTABLE: Final = ("login", "firstname", "lastname", "admin", "created_on", "last_login_on")


def list_users(ask: Ask) -> Any:
    """Active users, unless a status is asked for; an empty status means all."""
    ask.need_admin()
    rows = [each for each in ask.store["users"] if each["type"] == "User" and _is_asked_for(ask, each)]
    return page_of(ask, "users", _sorted(ask, rows), lambda row: in_list(ask, row))


def show_user(ask: Ask) -> Any:
    user = _asked_user(ask)
    if not ask.who.sees_person(user):
        raise not_found()
    return {"user": in_whole(ask, user)}


def create_user(ask: Ask) -> Any:
    ask.need_admin()
    body = _body(ask)
    fresh: Row = {"login": "", "firstname": "", "lastname": "", "admin": False, "status": 1, "type": "User"}
    user, mail, values = checked_user(ask, fresh, _settable(body, _BY_ADMIN), body)
    now = now_text()
    has_password = not is_blank(body.get("password")) or body.get("generate_password") in (True, "1", "true")
    changed = {"passwd_changed_on": now} if has_password else {}
    user = ask.store["users"].add(**user, **changed, created_on=now, updated_on=now)
    set_mail(ask.store, user, mail)
    save_customs(ask.store, "User", user, values)
    return created({"user": in_whole(ask, user)}, f"{ask.base_url}/users/{user['id']}")


def update_user(ask: Ask) -> Any:
    ask.need_admin()
    user = _asked_user(ask)
    if user["type"] != "User":
        raise not_found()
    body = _body(ask)
    _change(ask, user, _settable(body, _BY_ADMIN), body)
    if not is_blank(body.get("password")):
        user["passwd_changed_on"] = now_text()
    if isinstance(body.get("group_ids"), list):
        _set_groups(ask, user, {to_id(each) for each in body["group_ids"]})
    return DONE


def delete_user(ask: Ask) -> Any:
    """Nobody can delete the last administrator, which is why this answer has no words."""
    ask.need_admin()
    user = _asked_user(ask)
    if user["type"] != "User":
        raise not_found()
    admins = [each for each in ask.store["users"] if each.get("admin") and each.get("status") == 1]
    if user["id"] == ask.who.id and len(admins) == 1:
        raise RefusedError(422)
    remove_user(ask.store, user)
    return DONE


def show_account(ask: Ask) -> Any:
    ask.need_login()
    return {"user": of_account(ask, ask.who.row)}


def update_account(ask: Ask) -> Any:
    """One's own names and address; login, status and rights are ignored without a word."""
    ask.need_login()
    body = body_object(ask, "user")
    _change(ask, ask.who.row, _settable(body, _OWN), body)
    return DONE


def _body(ask: Ask) -> dict[str, Any]:
    if ask.params.get("user") is None:
        raise BrokenError(500)
    return ask.given("user")


def _settable(body: Row, names: tuple[str, ...]) -> Row:
    return {name: value for name, value in body.items() if name in names}


def _change(ask: Ask, user: Row, asked: Row, body: Row) -> None:
    changed, mail, values = checked_user(ask, user, asked, body)
    # Saving is an update, even if nothing changes.
    user.update(changed, updated_on=now_text())
    set_mail(ask.store, user, mail)
    save_customs(ask.store, "User", user, values)


def _set_groups(ask: Ask, user: Row, wanted: set[int]) -> None:
    there = {link["group_id"] for link in ask.store["groups_users"].where(user_id=user["id"])}
    for group_id in there - wanted:
        leave_group(ask.store, group_id, user["id"])
    for group_id in sorted(wanted - there):
        if ask.store["users"].first(id=group_id, type="Group"):
            join_group(ask.store, group_id, user["id"])


def _asked_user(ask: Ask) -> Row:
    if ask.path["id"] == "current":
        ask.need_login()
        return ask.who.row
    row = ask.row("users")
    if row["type"] not in ("User", "AnonymousUser"):
        raise not_found()
    return row


def _is_asked_for(ask: Ask, user: Row) -> bool:
    status = ask.params.get("status", 1)
    if not is_blank(status) and user["status"] != to_id(status):
        return False
    if not is_blank(ask.params.get("group_id")):
        group = to_id(ask.params["group_id"])
        if not ask.store["groups_users"].where(group_id=group, user_id=user["id"]):
            return False
    return is_blank(ask.params.get("name")) or _is_named(ask, user, ascii_lower(ask.text("name")))


def _is_named(ask: Ask, user: Row, wanted: str) -> bool:
    """By login, by address, or by words that are in the first or last name."""
    if wanted in ascii_lower(user["login"]) or wanted in ascii_lower(mail_of(ask.store, user) or ""):
        return True
    names = [ascii_lower(user["firstname"]), ascii_lower(user["lastname"])]
    return bool(wanted.split()) and all(any(word in name for name in names) for word in wanted.split())


def _sorted(ask: Ask, rows: list[Row]) -> list[Row]:
    """By login; a column that is not known is left out, and then the oldest come first."""
    for name, goes_down in reversed(criteria(ask.text("sort") or "login")):
        if name in _SORTABLE:
            rows.sort(key=_by(name), reverse=goes_down)
    return rows


def _by(name: str) -> Callable[[Row], str]:
    return lambda each: str(each.get(name) or "")
