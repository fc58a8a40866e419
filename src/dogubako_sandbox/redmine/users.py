"""Users and groups. Lists and changes are for administrators; every user who sees people may see one of them."""

import re
import secrets
from typing import Any, Final

from dogubako_sandbox.redmine.custom_fields import custom_part
from dogubako_sandbox.redmine.filters import sort_rows
from dogubako_sandbox.redmine.memberships import remove_member
from dogubako_sandbox.redmine.permissions import ACTIVE, ARCHIVED
from dogubako_sandbox.redmine.records import RecordKind
from dogubako_sandbox.redmine.request import DONE, ApiRequest, RefusedError, created, not_found
from dogubako_sandbox.redmine.serializers import person, principal_name, shown_memberships, times
from dogubako_sandbox.redmine.store import (
    Row,
    Store,
    ascii_lower,
    is_blank,
    now_text,
    to_id,
    to_text,
    to_truth,
    too_long,
)

_OWN: Final = ("firstname", "lastname", "mail", "mail_notification", "language")
_BY_ADMIN: Final = (*_OWN, "login", "admin", "status", "must_change_passwd")
_USER: Final = RecordKind(
    "users",
    "User",
    {
        **dict.fromkeys(
            ("firstname", "lastname", "login", "mail_notification", "language"), lambda each: to_text(each) or ""
        ),
        **dict.fromkeys(("admin", "must_change_passwd"), to_truth),
        "status": to_id,
    },
)
_SORTABLE: Final = ("login", "firstname", "lastname", "admin", "created_on", "last_login_on")
_STATUSES: Final = (1, 2, 3)
_LOGIN: Final = re.compile(r"[a-zA-Z0-9_\-@.]*")
_ADDRESS: Final = re.compile(r"[^@\s]+@(?:[-a-z0-9]+\.)+(?:xn--[-a-z0-9]+|[a-z]{2,})", re.IGNORECASE)
_SHORTEST_PASSWORD: Final = 8
_BUILTIN_GROUPS: Final = {"GroupAnonymous": "anonymous", "GroupNonMember": "non_member"}
# What a deleted user did stays, as by the anonymous user; the rest is deleted with the user.
_AUTHORS: Final = ("attachments", "issues", "news", "wiki_contents", "wiki_content_versions")
_DELETED_WITH: Final = ("tokens", "watchers", "groups_users", "email_addresses", "user_preferences")
_PRIVATE: Final = 0


def list_users(req: ApiRequest) -> Any:
    """Show active users, unless the request has a status; an empty status means all."""
    req.check(req.user.admin)
    rows = [each for each in req.store["users"] if each["type"] == "User" and _is_wanted(req, each)]
    key_of = {name: lambda each, name=name: str(each.get(name) or "") for name in _SORTABLE}
    sort_rows(rows, req.text("sort") or "login", key_of.get)
    return req.page_of("users", rows, lambda row: _shown(req, row, in_list=True))


def _is_wanted(req: ApiRequest, user: Row) -> bool:
    status, group, name = req.params.get("status", ACTIVE), req.params.get("group_id"), ascii_lower(req.text("name"))
    if not is_blank(status) and user["status"] != to_id(status):
        return False
    if not is_blank(group) and not req.store["groups_users"].where(group_id=to_id(group), user_id=user["id"]):
        return False
    names = [ascii_lower(user["firstname"]), ascii_lower(user["lastname"])]
    in_names = name.split() and all(any(word in each for each in names) for word in name.split())
    others = (ascii_lower(user["login"]), ascii_lower(mail_of(req.store, user) or ""))
    return is_blank(name) or bool(in_names) or any(name in each for each in others)


def _user(req: ApiRequest, *kinds: str) -> Row:
    if req.path["id"] == "current" and "User" in kinds:
        req.check(req.user.logged_in)
        return req.user.row
    row = req.row("users")
    if row["type"] not in kinds:
        raise not_found()
    return row


def show_user(req: ApiRequest) -> Any:
    user = _user(req, "User", "AnonymousUser")
    if not req.user.sees_person(user):
        raise not_found()
    return {"user": _shown(req, user)}


def create_user(req: ApiRequest) -> Any:
    req.check(req.user.admin)
    body = req.body("user", required=True)
    fresh: Row = {"login": "", "firstname": "", "lastname": "", "admin": False, "status": ACTIVE, "type": "User"}
    user = _save(req, fresh, body, _BY_ADMIN)
    if not is_blank(body.get("password")) or to_truth(body.get("generate_password")):
        user["passwd_changed_on"] = user["created_on"]
    return created({"user": _shown(req, user)}, f"{req.base_url}/users/{user['id']}")


def update_user(req: ApiRequest) -> Any:
    req.check(req.user.admin)
    user, body = _user(req, "User"), req.body("user", required=True)
    _save(req, user, body, _BY_ADMIN)
    if not is_blank(body.get("password")):
        user["passwd_changed_on"] = now_text()
    return DONE


def delete_user(req: ApiRequest) -> Any:
    """Refuse to delete the last administrator, without a reason."""
    req.check(req.user.admin)
    user = _user(req, "User")
    admins = req.store["users"].where(admin=True, status=ACTIVE)
    if user["id"] == req.user.id and len(admins) == 1:
        raise RefusedError(422)
    _remove_user(req.store, user)
    return DONE


def show_account(req: ApiRequest) -> Any:
    """Show the user of the request; unlike elsewhere, with the own address."""
    req.check(req.user.logged_in)
    shown = _shown(req, req.user.row)
    names = ("id", "login", "admin", "firstname", "lastname")
    return {
        "user": {
            **{name: shown[name] for name in names},
            "mail": mail_of(req.store, req.user.row),
            **{name: shown[name] for name in ("created_on", "last_login_on", "api_key")},
            **custom_part(req, "User", req.user.row),
        }
    }


def update_account(req: ApiRequest) -> Any:
    """Change the own names and address; login, status and rights are ignored."""
    req.check(req.user.logged_in)
    _save(req, req.user.row, req.lenient_body("user"), _OWN)
    return DONE


def _shown(req: ApiRequest, user: Row, *, in_list: bool = False) -> Row:
    """Show a user: administrators see all keys and addresses, other users their own key."""
    admin, store = req.user.admin, req.store
    close = admin or (req.user.logged_in and req.user.id == user["id"])
    private = {"api_key": api_key_of(store, user)} if close and not in_list else {}
    members = store["members"].where(user_id=user["id"])
    seen = [each for each in members if req.user.may("view_project", store.project_of(each))]
    return {
        "id": user["id"],
        "login": user.get("login", ""),
        **({"admin": bool(user.get("admin"))} if close else {}),
        "firstname": user.get("firstname", ""),
        "lastname": user["lastname"],
        **({"mail": mail_of(store, user)} if admin else {}),
        **times(user, "created_on", "updated_on", "last_login_on", "passwd_changed_on"),
        **({"twofa_scheme": user.get("twofa_scheme")} if close else {}),
        **private,
        **({"status": user["status"]} if admin and not in_list else {}),
        **custom_part(req, "User", user),
        **({} if in_list else {**_shown_groups(req, user), **shown_memberships(req, seen)}),
    }


def _shown_groups(req: ApiRequest, user: Row) -> Row:
    links = req.store["groups_users"].where(user_id=user["id"])
    groups = [person(req.store, link["group_id"]) for link in links]
    return {"groups": groups} if req.user.admin and req.includes("groups") else {}


def mail_of(store: Store, user: Row) -> str | None:
    row = store["email_addresses"].first(user_id=user["id"], is_default=True) if "id" in user else None
    return row["address"] if row else None


def api_key_of(store: Store, user: Row) -> str:
    """Return a user's key; a user without one gets it with the first request for it."""
    row = store["tokens"].first(user_id=user["id"], action="api")
    row = row or store["tokens"].add(user_id=user["id"], action="api", value=secrets.token_hex(20))
    return str(row["value"])


def _save(req: ApiRequest, user: Row, body: Row, settable: tuple[str, ...]) -> Row:
    """Check and save a user with the address. Saving is an update, even if nothing changes."""
    changes = {name: value for name, value in _USER.changes(body).items() if name in settable}
    wanted = body.get("mail", mail_of(req.store, user)) if "mail" in settable else None
    mail = str(wanted or "").strip()

    def errors(changed: Row) -> list[str]:
        status = ["Status is invalid"] if changed["status"] not in _STATUSES else []
        names = _name_errors(req.store, changed)
        return [*status, *_mail_errors(req.store, mail, user), *names, *_password_errors(body)]

    stamp = {"updated_on": now_text()} if "id" in user else {}
    saved = _USER.save(req, user, body, {**changes, **stamp}, errors)
    address = req.store["email_addresses"].first(user_id=saved["id"], is_default=True)
    address = address or req.store["email_addresses"].add(user_id=saved["id"], is_default=True)
    address["address"] = mail
    return saved


def _mail_errors(store: Store, mail: str, user: Row) -> list[str]:
    if is_blank(mail):
        return ["Email cannot be blank"]
    if not _ADDRESS.fullmatch(mail):
        return ["Email is invalid"]
    rows = [each for each in store["email_addresses"] if each["address"].lower() == mail.lower()]
    return ["Email has already been taken"] if any(each["user_id"] != user.get("id") for each in rows) else []


def _name_errors(store: Store, user: Row) -> list[str]:
    labels = {"login": "Login", "firstname": "First name", "lastname": "Last name"}
    login = user["login"]
    sentences = [f"{label} cannot be blank" for name, label in labels.items() if is_blank(user[name])]
    namesakes = [each for each in store["users"] if each.get("login", "").lower() == login.lower()]
    if login and any(each["id"] != user.get("id") for each in namesakes):
        sentences.append("Login has already been taken")
    if not _LOGIN.fullmatch(login):
        sentences.append("Login is invalid")
    longest = {"login": 60, "firstname": 30, "lastname": 30}
    return sentences + [each for name in labels for each in too_long(labels[name], user[name], longest[name])]


def _password_errors(body: Row) -> list[str]:
    password, again = body.get("password"), body.get("password_confirmation")
    sentences = []
    if not is_blank(password) and len(str(password)) < _SHORTEST_PASSWORD:
        sentences.append(f"Password is too short (minimum is {_SHORTEST_PASSWORD} characters)")
    if not is_blank(password) and again not in (None, password):
        sentences.append("Password doesn't match confirmation")
    return sentences


def _remove_user(store: Store, user: Row) -> None:
    number, anonymous = user["id"], (store["users"].first(type="AnonymousUser") or {})["id"]
    columns = [*((table, "author_id") for table in _AUTHORS), ("journals", "user_id"), ("time_entries", "user_id")]
    for table, column in (*columns, ("queries", "user_id")):
        for row in store[table].where(**{column: number}):
            if table == "queries" and row.get("visibility") == _PRIVATE:
                store[table].remove(row)
            row[column] = anonymous
    for table in ("issues", "issue_categories"):
        for row in store[table].where(assigned_to_id=number):
            row["assigned_to_id"] = None
    for detail in store["journal_details"].where(property="attr", prop_key="assigned_to_id"):
        detail.update({name: str(anonymous) for name in ("old_value", "value") if detail.get(name) == str(number)})
    fields = store["custom_fields"].ids("id", field_format="user")
    for row in store["custom_values"].where(value=str(number)):
        if row["custom_field_id"] in fields:
            store["custom_values"].remove(row)
    store.remove_parts("Principal", number)
    for member in store["members"].where(user_id=number):
        remove_member(store, member)
    for table in _DELETED_WITH:
        store[table].remove_where(user_id=number)
    store["users"].remove(user)


def list_groups(req: ApiRequest) -> Any:
    req.check(req.user.admin)
    kinds = ("Group", *(_BUILTIN_GROUPS if req.text("builtin") == "1" else ()))
    rows = [each for each in req.store["users"] if each["type"] in kinds]
    rows.sort(key=lambda each: (each["type"], each["lastname"]))
    return {"groups": [_shown_group(req, each) for each in rows]}


def show_group(req: ApiRequest) -> Any:
    group, store = _user(req, "Group", *_BUILTIN_GROUPS), req.store
    if not req.user.sees_person(group):
        raise not_found()
    members = store["members"].where(user_id=group["id"])
    alive = [each for each in members if store.project_of(each)["status"] != ARCHIVED]
    links = store["groups_users"].where(group_id=group["id"])
    users = {"users": [person(store, link["user_id"]) for link in links]}
    includes_users = req.includes("users") and group["type"] == "Group"
    return {"group": {**_shown_group(req, group), **(users if includes_users else {}), **shown_memberships(req, alive)}}


def _shown_group(req: ApiRequest, group: Row) -> Row:
    builtin = {"builtin": _BUILTIN_GROUPS[group["type"]]} if group["type"] in _BUILTIN_GROUPS else {}
    return {"id": group["id"], "name": principal_name(req.store, group), **builtin, **custom_part(req, "Group", group)}
