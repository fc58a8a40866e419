"""Dates of data tables, and what a change of rows leaves to bring them back."""

from typing import Any, Final
from uuid import uuid4

import pytest

from dogubako.packs.n8n.formatters.truncation import tokens_of
from dogubako_sandbox.n8n.workflow_parts import JsonObject
from tests.n8n_contract.one_sided import only_where_there_is
from tests.n8n_contract.place import Place, eventually

MIDNIGHT: Final = "2026-11-18T00:00:00.000Z"
ROWS: Final = {
    "eve": "2026-11-17T23:59:59.999Z",
    "midnight": MIDNIGHT,
    "morning": "2026-11-18T10:30:00+09:00",
    "last": "2026-11-18T23:59:59.999Z",
    "next": "2026-11-19",
    "never": None,
}


async def new_table(place: Place, rows: Any = ROWS) -> str:
    columns = [{"name": "who", "type": "string"}, {"name": "at", "type": "date"}, {"name": "n", "type": "number"}]
    name = f"dates {uuid4().hex[:8]}"
    await place.n8n.told("POST", "data-tables", {"name": name, "columns": columns})
    if rows:
        written = [{"who": who, "at": at} for who, at in rows.items()]
        await place.call("write_data_table", table=name, action="insert", rows=written)
    return name


async def found(place: Place, table: str, at: Any) -> list[str]:
    rows = (await place.call("read_data_table", table=table, where={"at": at}))["rows"]
    return [one["who"] for one in rows]


DAY: Final = ["midnight", "morning", "last"]
CONDITIONS: Final = [
    ("2026-11-18", DAY),
    (MIDNIGHT, ["midnight"]),
    ({"eq": "2026-11-18T10:30:00+09:00"}, ["morning"]),
    ({"neq": "2026-11-18"}, ["eve", "next", "never"]),
    ({"gt": "2026-11-18"}, ["next"]),
    ({"gt": MIDNIGHT}, ["morning", "last", "next"]),
    ({"gte": "2026-11-18"}, [*DAY, "next"]),
    ({"gte": "2026-11-18T01:30:00.001Z"}, ["last", "next"]),
    ({"lt": "2026-11-18"}, ["eve"]),
    ({"lt": "2026-11-18T01:30:00Z"}, ["eve", "midnight"]),
    ({"lte": "2026-11-18"}, ["eve", *DAY]),
    ({"lte": MIDNIGHT}, ["eve", "midnight"]),
    ({"gte": "2026-11-18T01:00", "lt": "2026-11-18T02:00"}, ["morning"]),
    (None, ["never"]),
    ({"neq": None}, ["eve", *DAY, "next"]),
]


async def test_dates_are_compared_as_they_are_meant(place: Place) -> None:
    table = await new_table(place)

    answers = [await found(place, table, condition) for condition, _ in CONDITIONS]
    made = await place.call("read_data_table", table=table, where={"createdAt": {"gt": "2026-01-01T10:00:00Z"}})
    like = await place.refused("read_data_table", table=table, where={"at": {"like": "2026"}})
    text = await place.refused("read_data_table", table=table, where={"at": {"gt": "2026-02-30"}})

    assert answers == [expected for _, expected in CONDITIONS]
    assert len(made["rows"]) == len(ROWS)
    assert "compared by eq, neq, gt, gte, lt, lte" in like.message
    assert "dates are like '2026-11-18'" in text.message


@pytest.mark.parametrize("at", ["2026-11-20", "2026-11-18T12:00:00Z"])
async def test_an_upsert_by_a_date_finds_its_row_again(place: Place, at: str) -> None:
    table = await new_table(place)

    for number in range(3):
        row = {"who": "new", "at": at, "n": number}
        await place.call("write_data_table", table=table, action="upsert", rows=[row], where={"at": at})

    rows = (await place.call("read_data_table", table=table))["rows"]
    assert [one["n"] for one in rows if one["who"] == "new"] == [2]
    assert {one["who"]: one["n"] for one in rows if one["who"] != "new"} == dict.fromkeys(ROWS)


async def test_only_the_rows_that_are_meant_are_changed(place: Place) -> None:
    table = await new_table(place)
    exact, later = {"at": MIDNIGHT}, {"at": {"gt": "2026-11-18T01:00:00Z"}, "who": {"neq": "next"}}

    planned = await place.call(
        "write_data_table", table=table, action="update", rows=[{"n": 1}], where=exact, dryRun=True
    )
    changed = await place.call("write_data_table", table=table, action="update", rows=[{"n": 1}], where=exact)
    none = await place.call(
        "write_data_table", table=table, action="update", rows=[{"n": 1}], where={"at": "2026-11-18T05:00:00Z"}
    )
    gone = await place.call("delete_data_table_rows", table=table, where=later, confirm=True)
    nothing = await place.call("delete_data_table_rows", table=table, where={"at": MIDNIGHT[:-2] + "1Z"}, confirm=True)

    assert [one["who"] for one in planned["rows"]] == ["midnight", "midnight"]
    assert [one["who"] for one in changed["rows"]] == ["midnight"]
    assert none["rows"] == nothing["rows"] == []
    assert [one["who"] for one in gone["rows"]] == ["morning", "last"]
    assert await found(place, table, {"gte": "2026-01-01"}) == ["eve", "midnight", "next"]


async def test_what_n8n_stores_otherwise_is_told(place: Place) -> None:
    table = await new_table(place, {})
    rows = [{"at": "2026-02-30", "n": 12345678901234567890}, {"who": "a", "at": "2026-11-18T09:00+09:00", "n": 1.5}]

    made = await place.call("write_data_table", table=table, action="insert", rows=rows)
    planned = await place.call(
        "write_data_table", table=table, action="upsert", rows=[{"at": "2026-11-18"}], where={"who": "z"}, dryRun=True
    )

    (date, number) = made["differences"]
    assert (date["column"], date["sent"], date["stored"]) == ("at", "2026-02-30", "2026-03-02T00:00:00.000Z")
    assert number["stored"] == made["rows"][0]["n"] != rows[0]["n"]
    assert planned["rows"][-1]["at"] == MIDNIGHT, "in the form of all dates"

    refused = await place.refused("write_data_table", table=table, action="insert", rows=[{"at": "soon"}])
    assert "does not match column type 'date'" in refused.message
    assert "<" not in refused.message
    assert refused.hint == "The columns of the table: who (string), at (date), n (number)."


async def test_an_update_tells_what_the_rows_had(place: Place) -> None:
    table = await new_table(place)
    await place.call("write_data_table", table=table, action="update", rows=[{"n": 7}], where={"who": "eve"})

    changed = await place.call(
        "write_data_table", table=table, action="update", rows=[{"n": 9}], where={"at": {"lt": "2026-11-19"}}
    )

    assert [(one["values"], len(one["ids"])) for one in changed["before"]] == [({"n": 7}, 1), ({"n": None}, 3)]


async def many_rows(place: Place, count: int) -> str:
    table = await new_table(place, {})
    for start in range(0, count, 100):
        rows = [{"who": f"{number} {'注文 order ' * 30}", "n": number} for number in range(start, start + 100)]
        await place.call("write_data_table", table=table, action="insert", rows=rows)
    return table


async def test_rows_that_an_answer_cannot_hold_are_not_deleted(place: Place) -> None:
    table = await many_rows(place, 300)
    every: JsonObject = {"n": {"gte": 0}}

    refused = await place.refused("delete_data_table_rows", table=table, where=every, confirm=True)
    asked = await place.refused("delete_data_table_rows", table=table, where=every)
    changed = await place.refused("write_data_table", table=table, action="update", rows=[{"who": ""}], where=every)
    assert "300 rows do not fit into the answer" in refused.message
    assert asked.message == refused.message
    assert "nothing was changed" in changed.message

    last = next(number for number in range(300, 0, -1) if f'"lte": {number}' in str(refused.hint).replace('":', '": '))
    where = {**every, "id": {"lte": last}}
    result = await place.box.call("delete_data_table_rows", {"table": table, "where": where, "confirm": True})
    rows = result.value["data"]["rows"]
    left = await place.call("read_data_table", table=table, limit=1)

    assert len(rows) == last == left["rows"][0]["id"] - 1
    assert "_truncated" not in result.value
    assert 15_000 < tokens_of(rows) < 25_000


@only_where_there_is("any-trigger")
async def test_a_date_without_a_zone_is_not_read_in_the_zone_of_the_last_workflow(place: Place) -> None:
    table, path = await new_table(place, {}), uuid4().hex
    hook = {
        "name": "H",
        "type": "n8n-nodes-base.webhook",
        "typeVersion": 2,
        "position": [0, 0],
        "webhookId": str(uuid4()),
        "parameters": {"path": path, "httpMethod": "POST", "responseMode": "lastNode", "options": {}},
    }
    value = {"id": "v", "name": "v", "value": "={{ $now.toISO() }}", "type": "string"}
    then = {"name": "S", "type": "n8n-nodes-base.set", "typeVersion": 3.4, "position": [0, 0]}
    then["parameters"] = {"assignments": {"assignments": [value]}, "options": {}}
    made = await place.call(
        "create_workflow",
        name="Tokyo",
        nodes=[hook, then],
        connections={"H": {"main": [[{"node": "S", "type": "main", "index": 0}]]}},
        settings={"timezone": "Asia/Tokyo"},
    )
    await place.call("activate_workflow", id=made["id"])
    await eventually(lambda: place.n8n.ask("POST", f"/webhook/{path}", {}), lambda answer: answer[0] == 200)

    (listed,) = [one for one in (await place.call("read_data_table"))["tables"] if one["name"] == table]
    raw = await place.n8n.told(
        "POST", f"data-tables/{listed['id']}/rows", {"data": [{"at": "2026-11-18"}], "returnType": "all"}
    )
    ours = await place.call("write_data_table", table=table, action="insert", rows=[{"who": "us", "at": "2026-11-18"}])

    assert raw[0]["at"] == "2026-11-17T15:00:00.000Z"
    assert ours["rows"][0]["at"] == MIDNIGHT
    assert await found(place, table, "2026-11-18") == ["us"]
