"""What becomes of everything that a deleted user did: it stays, as done by nobody we know."""

from typing import Final

from dogubako.sandbox.redmine.membership_roles import remove_member
from dogubako.sandbox.redmine.store import Row, Store

_DONE_BY: Final = (
    ("attachments", "author_id"),
    ("comments", "author_id"),
    ("issues", "author_id"),
    ("journals", "user_id"),
    ("messages", "author_id"),
    ("news", "author_id"),
    ("time_entries", "user_id"),
    ("wiki_contents", "author_id"),
    ("wiki_content_versions", "author_id"),
)
_GONE_WITH: Final = ("tokens", "watchers", "groups_users", "email_addresses", "user_preferences")
_PRIVATE: Final = 0


def remove_user(store: Store, user: Row) -> None:
    nobody = store["users"].first(type="AnonymousUser")
    assert nobody is not None
    number = user["id"]
    for table, column in _DONE_BY:
        for row in store[table].where(**{column: number}):
            row[column] = nobody["id"]
    for table in ("issues", "issue_categories"):
        for row in store[table].where(assigned_to_id=number):
            row["assigned_to_id"] = None
    _rewrite_history(store, str(number), str(nobody["id"]))
    _remove_values(store, number)
    _remove_queries(store, number, nobody["id"])
    for member in store["members"].where(user_id=number):
        remove_member(store, member)
    for table in _GONE_WITH:
        store[table].remove_where(user_id=number)
    store["users"].remove(user)


def _rewrite_history(store: Store, number: str, nobody: str) -> None:
    for detail in store["journal_details"].where(property="attr", prop_key="assigned_to_id"):
        for column in ("old_value", "value"):
            if detail.get(column) == number:
                detail[column] = nobody


def _remove_values(store: Store, number: int) -> None:
    fields = {each["id"] for each in store["custom_fields"].where(field_format="user")}
    for row in store["custom_values"].where(value=str(number)):
        if row["custom_field_id"] in fields:
            store["custom_values"].remove(row)
    store["custom_values"].remove_where(customized_type="Principal", customized_id=number)


def _remove_queries(store: Store, number: int, nobody: int) -> None:
    store["queries"].remove_where(user_id=number, visibility=_PRIVATE)
    for query in store["queries"].where(user_id=number):
        query["user_id"] = nobody
