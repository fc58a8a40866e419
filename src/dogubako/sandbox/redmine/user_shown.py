"""Users as the API shows them: to administrators with everything, to others with less."""

from typing import Any

from dogubako.sandbox.redmine.asking import Ask
from dogubako.sandbox.redmine.clock import shown_time
from dogubako.sandbox.redmine.naming import principal_name
from dogubako.sandbox.redmine.shapes import custom_part, optional, shown_memberships
from dogubako.sandbox.redmine.store import Row
from dogubako.sandbox.redmine.user_parts import api_key_of, hides_mail, mail_of


def in_list(ask: Ask, user: Row) -> dict[str, Any]:
    return {
        "id": user["id"],
        "login": user["login"],
        "admin": bool(user.get("admin")),
        "firstname": user["firstname"],
        "lastname": user["lastname"],
        "mail": mail_of(ask.store, user),
        **_times(user),
        "twofa_scheme": user.get("twofa_scheme"),
        **custom_part(ask, "User", user),
    }


def _times(user: Row) -> dict[str, Any]:
    names = ("created_on", "updated_on", "last_login_on", "passwd_changed_on")
    return {name: shown_time(user.get(name)) for name in names}


def in_whole(ask: Ask, user: Row) -> dict[str, Any]:
    """Administrators are shown everybody's key, and everybody their own."""
    admin, store = ask.who.admin, ask.store
    close = admin or (ask.who.logged_in and ask.who.id == user["id"])
    return {
        "id": user["id"],
        "login": user.get("login", ""),
        **optional("admin", bool(user.get("admin")) if close else None),
        "firstname": user.get("firstname", ""),
        "lastname": user["lastname"],
        **({"mail": mail_of(store, user)} if admin or not hides_mail(store, user) else {}),
        **_times(user),
        **({"twofa_scheme": user.get("twofa_scheme"), "api_key": api_key_of(store, user)} if close else {}),
        **optional("status", user["status"] if admin else None),
        **custom_part(ask, "User", user),
        **_included(ask, user),
    }


def _included(ask: Ask, user: Row) -> dict[str, Any]:
    store, shown = ask.store, {}
    if ask.who.admin and ask.includes("groups"):
        groups = [store["users"].at(link["group_id"]) for link in store["groups_users"].where(user_id=user["id"])]
        shown["groups"] = [{"id": each["id"], "name": principal_name(each)} for each in groups]
    if ask.includes("memberships"):
        members = store["members"].where(user_id=user["id"])
        seen = [each for each in members if ask.who.sees_project(store["projects"].at(each["project_id"]))]
        shown["memberships"] = shown_memberships(store, seen)
    return shown


def of_account(ask: Ask, user: Row) -> dict[str, Any]:
    """Oneself; unlike elsewhere, with one's own address whatever is hidden."""
    return {
        "id": user["id"],
        "login": user["login"],
        "admin": bool(user.get("admin")),
        "firstname": user["firstname"],
        "lastname": user["lastname"],
        "mail": mail_of(ask.store, user),
        "created_on": shown_time(user["created_on"]),
        "last_login_on": shown_time(user.get("last_login_on")),
        "api_key": api_key_of(ask.store, user),
        **custom_part(ask, "User", user),
    }
