"""Records as other records refer to them."""

from collections.abc import Mapping
from typing import Any

from dogubako.sandbox.redmine.store import Row, Store


def named(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": row["id"], "name": row["name"]}


def reference(store: Store, table: str, row_id: int | None) -> dict[str, Any] | None:
    """A record of a table with names, or nothing when it is not set or gone."""
    row = store[table].get(row_id) if row_id is not None else None
    return named(row) if row else None


def principal_name(row: Row) -> str:
    """A person's first and last name, or the name of a group."""
    if row["type"] == "AnonymousUser":
        return "Anonymous"
    if row["type"] == "User":
        return f"{row.get('firstname', '')} {row.get('lastname', '')}".strip()
    return str(row.get("lastname", ""))


def person(store: Store, user_id: int | None) -> dict[str, Any] | None:
    row = store["users"].get(user_id) if user_id is not None else None
    return {"id": row["id"], "name": principal_name(row)} if row else None
