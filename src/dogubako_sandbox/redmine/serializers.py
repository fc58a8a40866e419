"""Parts that many records show: references, people, roles of members, keys that may be missing."""

from typing import Any, Final

from dogubako_sandbox.redmine.request import ApiRequest
from dogubako_sandbox.redmine.store import Row, Store, shown_time


def present(**values: Any) -> Row:
    """Leave out keys without a value; elsewhere Redmine shows null."""
    return {name: value for name, value in values.items() if value is not None}


def named(row: Row) -> Row:
    return {"id": row["id"], "name": row["name"]}


def reference(store: Store, table: str, row_id: int | None) -> Row | None:
    """Show a record of a table with names, or nothing when it is not set or gone."""
    row = store[table].get(row_id)
    return named(row) if row else None


def principal_name(store: Store, row: Row) -> str:
    """Return a user's name in the order that the settings say, or the name of a group."""
    if row["type"] == "AnonymousUser":
        return str(_ANONYMOUS.get(str(store.setting("default_language")), "Anonymous"))
    if row["type"] != "User":
        return str(row.get("lastname", ""))
    form = _NAMES.get(str(store.setting("user_format")), _NAMES["firstname_lastname"])
    names = {name: str(row.get(name, "")) for name in ("firstname", "lastname", "login")}
    return form.format(**names).strip()


# How a Redmine writes names is one setting for all.
_NAMES: Final = {
    "firstname_lastname": "{firstname} {lastname}",
    "firstname": "{firstname}",
    "lastname_firstname": "{lastname} {firstname}",
    "lastnamefirstname": "{lastname}{firstname}",
    "lastname_comma_firstname": "{lastname}, {firstname}",
    "lastname": "{lastname}",
    "username": "{login}",
}
_ANONYMOUS: Final = {"ja": "匿名ユーザー"}


def person(store: Store, user_id: int | None) -> Row | None:
    row = store["users"].get(user_id)
    return {"id": row["id"], "name": principal_name(store, row)} if row else None


def person_key(store: Store, user_id: int | None) -> tuple[Any, ...]:
    """Sort people by their names in the order in which they are written, and id; no user comes first."""
    row = store["users"].get(user_id)
    last_first = str(store.setting("user_format")).startswith("last")
    order = ("lastname", "firstname") if last_first else ("firstname", "lastname")
    return (1, *(row.get(name, "") for name in order), row["id"]) if row else (0,)


def times(row: Row, *names: str) -> Row:
    return {name: shown_time(row.get(name)) for name in names or ("created_on", "updated_on")}


def shown_roles(store: Store, member: Row) -> list[Row]:
    """Show a member's roles in the order in which they were given; inherited ones are marked."""
    links = store["member_roles"].where(member_id=member["id"])
    return [
        {**named(store["roles"].at(link["role_id"])), **present(inherited=link.get("inherited_from") and True)}
        for link in links
    ]


def shown_memberships(req: ApiRequest, members: list[Row]) -> Row:
    """Show memberships as a user or a group does, if the request includes them."""
    if not req.includes("memberships"):
        return {}
    store = req.store
    return {
        "memberships": [
            {"id": each["id"], "project": named(store.project_of(each)), "roles": shown_roles(store, each)}
            for each in members
        ]
    }
