"""The endpoints of data tables, and those that change tags, test credentials and report on the instance."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from dogubako_sandbox.n8n.request import Answer, Ask, RefusedError, not_found, page_by_offset
from dogubako_sandbox.n8n.store import Store, new_id, now_text
from dogubako_sandbox.n8n.workflow_parts import JsonObject

_COMPARES: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "eq": lambda one, other: one == other,
    "neq": lambda one, other: one != other,
    "gt": lambda one, other: one is not None and one > other,
    "gte": lambda one, other: one is not None and one >= other,
    "lt": lambda one, other: one is not None and one < other,
    "lte": lambda one, other: one is not None and one <= other,
    "like": lambda one, other: str(other).strip("%") in str(one),
    "ilike": lambda one, other: str(other).strip("%").lower() in str(one).lower(),
}
_NO_COUNT: Final = {"value": 0, "deviation": None}


def list_tables(store: Store, ask: Ask) -> Any:
    return page_by_offset([one["facts"] for one in store.data_tables.values()], ask.query)


def create_table(store: Store, ask: Ask) -> Any:
    now, table_id = now_text(), new_id()
    moments = {"updatedAt": now, "createdAt": now}
    columns = [
        {**moments, "id": new_id(), "dataTableId": table_id, "name": one["name"], "type": one["type"], "index": index}
        for index, one in enumerate(ask.body["columns"])
    ]
    facts = {**moments, "id": table_id, "name": ask.body["name"], "projectId": store.project()["id"]}
    store.data_tables[table_id] = {"facts": {**facts, "columns": columns, "sizeBytes": 4096}, "rows": []}
    return Answer(status=201, body=store.data_tables[table_id]["facts"])


def _stored_date(value: Any) -> Any:
    """A date as n8n shows it. JavaScript takes the days that a month does not have for those of the next."""
    if not isinstance(value, str):
        return value
    year, month, day = int(value[:4]), int(value[5:7]), int(value[8:10])
    begin = datetime(year, month, 1, tzinfo=UTC) + timedelta(days=day - 1)
    if len(value) > len("2026-11-18"):
        begin = datetime.fromisoformat(value).astimezone(UTC)
    return begin.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def list_rows(store: Store, ask: Ask) -> Any:
    table = _table(store, ask)
    rows = _matching(table, json.loads(ask.query["filter"])) if "filter" in ask.query else table["rows"]
    wanted = ask.query.get("search", "").lower()
    return page_by_offset([one for one in rows if wanted in json.dumps(one, ensure_ascii=False).lower()], ask.query)


def insert_rows(store: Store, ask: Ask) -> Any:
    table = _table(store, ask)
    return [_insert(table, one) for one in ask.body["data"]]


def update_rows(store: Store, ask: Ask) -> Any:
    table = _table(store, ask)
    found = _matching(table, ask.body["filter"])
    values = _values(table, ask.body["data"])
    if ask.body.get("dryRun"):
        pairs = [({**one, "dryRunState": "before"}, {**one, **values, "dryRunState": "after"}) for one in found]
        return [one for pair in pairs for one in pair]
    for one in found:
        one.update(values, updatedAt=now_text())
    return found


def upsert_rows(store: Store, ask: Ask) -> Any:
    table = _table(store, ask)
    if _matching(table, ask.body["filter"]):
        return update_rows(store, ask)
    if ask.body.get("dryRun"):
        values = _values(table, ask.body["data"])
        nothing = dict.fromkeys(("id", *values))
        return [{**nothing, "dryRunState": "before"}, {**values, "id": 0, "dryRunState": "after"}]
    return [_insert(table, ask.body["data"])]


def delete_rows(store: Store, ask: Ask) -> Any:
    table = _table(store, ask)
    found = _matching(table, json.loads(ask.query["filter"]))
    if not ask.says("dryRun"):
        table["rows"][:] = [one for one in table["rows"] if one not in found]
        return found
    return [{**one, "dryRunState": "before"} for one in found]


def _table(store: Store, ask: Ask) -> JsonObject:
    if ask.path["id"] not in store.data_tables:
        raise not_found()
    return store.data_tables[ask.path["id"]]


def _insert(table: JsonObject, values: JsonObject) -> JsonObject:
    values = _values(table, values)
    table["last"] = table.get("last", 0) + 1
    moments = {"createdAt": now_text(), "updatedAt": now_text()}
    empty = {one["name"]: None for one in table["facts"]["columns"]}
    row = {**empty, **values, "id": table["last"], **moments}
    table["rows"].append(row)
    return row


def _values(table: JsonObject, values: JsonObject) -> JsonObject:
    """Values as they are stored: dates in one form, and numbers as JavaScript has them."""
    types = {one["name"]: one["type"] for one in table["facts"]["columns"]}
    for name in values:
        if name not in types:
            raise RefusedError(400, f"Validation error with data table request: unknown column name '{name}'")
    return {name: _value(name, one, types[name]) for name, one in values.items()}


def _value(name: str, value: Any, kind: str) -> Any:
    if kind == "number" and isinstance(value, str):
        told = f"value '{value}' does not match column type 'number': '{name}' expects a number but we got '{value}'"
        raise RefusedError(400, f"Validation error with data table request: {told}")
    if kind == "number" and isinstance(value, int):
        return int(float(value))
    if kind == "date" and isinstance(value, str) and not value[:4].isdecimal():
        advice = '<br/><br/> Consider using <a href="https://moment.github.io"><code>DateTime.fromFormat</code></a>'
        told = f"value '{value}' does not match column type 'date': '{name}' expects a dateTime {advice}"
        raise RefusedError(400, f"Validation error with data table request: {told}")
    return _stored_date(value) if kind == "date" else value


def _matching(table: JsonObject, condition: JsonObject) -> list[JsonObject]:
    dates = {"createdAt", "updatedAt", *(one["name"] for one in table["facts"]["columns"] if one["type"] == "date")}
    joined = any if condition["type"] == "or" else all
    return [row for row in table["rows"] if joined(_meets(row, test, dates) for test in condition["filters"])]


def _meets(row: JsonObject, test: JsonObject, dates: set[str]) -> bool:
    """SQLite compares a date as the text that it keeps, `2026-11-18 00:00:00.000`, with one that has a T in it."""
    kept = row.get(test["columnName"])
    if test["columnName"] in dates and isinstance(kept, str):
        kept = kept.replace("T", " ").removesuffix("Z")
    return _COMPARES[test["condition"]](kept, test["value"])


def test_credential(store: Store, ask: Ask) -> Any:
    """The sandbox has no services: no credential can be tried."""
    if ask.path["id"] not in store.credentials:
        raise RefusedError(404, f'Credential with ID "{ask.path["id"]}" was not found.')
    return {"status": "Error", "message": "No testing function found for this credential."}


def rename_tag(store: Store, ask: Ask) -> Any:
    tag = store.tags.get(ask.path["id"])
    if tag is None:
        raise not_found()
    tag.update(name=ask.body["name"], updatedAt=now_text())
    return {name: tag[name] for name in ("id", "name", "updatedAt")}


def delete_tag(store: Store, ask: Ask) -> Any:
    if ask.path["id"] not in store.tags:
        raise not_found()
    gone = store.tags.pop(ask.path["id"])
    for workflow in store.workflows.values():
        workflow["tags"] = [one for one in workflow.get("tags") or [] if one["id"] != gone["id"]]
    return gone


def audit(store: Store, _: Ask) -> Any:
    """One of the risks that n8n looks for: credentials that no workflow uses."""
    used = json.dumps([one["nodes"] for one in store.workflows.values()])
    unused = [one for one in store.credentials.values() if one["id"] not in used]
    places = [{"kind": "credential", "id": one["id"], "name": one["name"]} for one in unused]
    section = {
        "title": "Credentials not used in any workflow",
        "description": "No workflow uses these credentials.",
        "recommendation": "Consider deleting these credentials if you no longer need them.",
        "location": places,
    }
    return {"Credentials Risk Report": {"risk": "credentials", "sections": [section]}} if places else []


def insights(_: Store, __: Ask) -> Any:
    units = {"failureRate": "ratio", "timeSaved": "minute", "averageRunTime": "millisecond"}
    names = ("total", "failed", "failureRate", "timeSaved", "averageRunTime")
    return {name: {**_NO_COUNT, "unit": units.get(name, "count")} for name in names}
