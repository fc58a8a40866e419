"""Parts that many records show: references that may be missing, custom fields, roles of a membership."""

from typing import Any

from dogubako.sandbox.redmine.asking import Ask
from dogubako.sandbox.redmine.custom_checks import complaints
from dogubako.sandbox.redmine.custom_values import (
    Values,
    asked_values,
    changed_values,
    default_values,
    fields_of,
    save_values,
    sees_field,
    shown_values,
    values_of,
)
from dogubako.sandbox.redmine.naming import named
from dogubako.sandbox.redmine.store import Row, Store

# Values of users and groups are kept under the name of what both of them are.
_KEPT_AS = {"User": "Principal", "Group": "Principal"}


def optional(name: str, value: Any) -> dict[str, Any]:
    """A key that is left out when there is nothing to say; elsewhere Redmine shows null."""
    return {} if value is None else {name: value}


def kept_as(kind: str) -> str:
    return _KEPT_AS.get(kind, kind)


def visible_fields(ask: Ask, kind: str, project: Row | None) -> list[Row]:
    return [each for each in fields_of(ask.store, kind) if sees_field(ask.store, ask.who, each, project)]


def custom_part(ask: Ask, kind: str, row: Row, project: Row | None = None) -> dict[str, Any]:
    """The custom fields of a record, or nothing when it has none that this visitor sees."""
    fields = visible_fields(ask, kind, project) if row.get("type") != "AnonymousUser" else []
    values = values_of(ask.store, kept_as(kind), row["id"], fields)
    return {"custom_fields": shown_values(fields, values)} if fields else {}


def checked_customs(ask: Ask, kind: str, row: Row | None, body: Row, project: Row | None) -> tuple[Values, list[str]]:
    """The values after a request, and the sentences about those that are wrong."""
    fields = visible_fields(ask, kind, project)
    was = values_of(ask.store, kept_as(kind), row["id"], fields) if row else default_values(fields)
    values = changed_values(ask.store, fields, was, asked_values(body))
    return values, complaints(ask.store, fields, values, was, project)


def save_customs(store: Store, kind: str, row: Row, values: Values) -> bool:
    """Keep these values, and those of fields that the visitor does not see; whether any of them is new."""
    before = values_of(store, kept_as(kind), row["id"], fields_of(store, kind))
    after = {**before, **values}
    save_values(store, kept_as(kind), row["id"], after)
    return before != after


def body_object(ask: Ask, name: str) -> Row:
    """What a body says under this name; anything but an object counts as nothing, which is unlike issues."""
    body = ask.params.get(name)
    return body if isinstance(body, dict) else {}


def shown_roles(store: Store, member: Row) -> list[dict[str, Any]]:
    """A member's roles, in the order in which they were given; those of a group or of the parent say so."""
    shown = []
    for link in store["member_roles"].where(member_id=member["id"]):
        role = store["roles"].get(link["role_id"])
        if role:
            shown.append({**named(role), **({"inherited": True} if link.get("inherited_from") else {})})
    return shown


def shown_memberships(store: Store, members: list[Row]) -> list[dict[str, Any]]:
    """Memberships as a user or a group shows them: without saying whose they are."""
    return [
        {
            "id": member["id"],
            "project": named(store["projects"].at(member["project_id"])),
            "roles": shown_roles(store, member),
        }
        for member in members
    ]


def is_blank(value: object) -> bool:
    """Whether Rails takes a value for no value at all."""
    return value is None or value is False or value in ([], {}) or not str(value).strip()


def too_long(label: str, value: object, longest: int) -> list[str]:
    if value is None or len(str(value)) <= longest:
        return []
    return [f"{label} is too long (maximum is {longest} characters)"]
