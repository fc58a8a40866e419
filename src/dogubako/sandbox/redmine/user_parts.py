"""What a user has in other tables: addresses, preferences, the key of the API."""

import secrets

from dogubako.sandbox.redmine.clock import now_text
from dogubako.sandbox.redmine.store import Row, Store


def mail_of(store: Store, user: Row) -> str | None:
    row = _address(store, user)
    return row["address"] if row else None


def _address(store: Store, user: Row) -> Row | None:
    rows = store["email_addresses"].where(user_id=user["id"])
    return next((each for each in rows if each.get("is_default")), None)


def set_mail(store: Store, user: Row, address: str) -> None:
    row = _address(store, user)
    if row:
        row["address"] = address
        return
    now = now_text()
    store["email_addresses"].add(
        user_id=user["id"], address=address, is_default=True, notify=True, created_on=now, updated_on=now
    )


def mail_taken(store: Store, address: str, user: Row) -> bool:
    rows = [each for each in store["email_addresses"] if each["address"].lower() == address.lower()]
    return any(each["user_id"] != user.get("id") for each in rows)


def hides_mail(store: Store, user: Row) -> bool:
    """Addresses are hidden unless somebody chose otherwise, even from themselves."""
    row = store["user_preferences"].first(user_id=user["id"])
    return True if row is None else bool(row.get("hide_mail"))


def api_key_of(store: Store, user: Row) -> str:
    """Somebody's key; whoever has none gets one as soon as it is asked for."""
    row = store["tokens"].first(user_id=user["id"], action="api")
    if row is None:
        row = store["tokens"].add(user_id=user["id"], action="api", value=secrets.token_hex(20))
    return str(row["value"])
