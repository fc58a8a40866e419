"""Data tables, credentials, tags and reports."""

from uuid import uuid4

from dogubako.contract.errors import ConfirmationRequiredError
from tests.n8n_contract.facts import proves
from tests.n8n_contract.place import Place

SECRET = "s3cret-value-nobody-sees"


async def new_table(place: Place) -> str:
    columns = [{"name": "who", "type": "string"}, {"name": "n", "type": "number"}]
    name = f"table {uuid4().hex[:8]}"
    await place.n8n.told("POST", "data-tables", {"name": name, "columns": columns})
    return name


def where(value: str) -> dict[str, str]:
    return {"who": value}


@proves("table-filter")
async def test_rows_of_a_data_table_are_written_and_read(place: Place) -> None:
    table = await new_table(place)
    people = [{"who": "山田 太郎", "n": 1}, {"who": "a & b + c", "n": 2}]

    listed = await place.call("read_data_table")
    made = await place.call("write_data_table", table=table, action="insert", rows=people)
    changes = {"rows": [{"n": 10}], "where": where("山田 太郎")}
    planned = await place.call("write_data_table", table=table, action="update", **changes, dryRun=True)
    changed = await place.call("write_data_table", table=table, action="update", **changes)
    upsert = {"rows": [{"who": "z", "n": 9}], "where": where("z")}
    await place.call("write_data_table", table=table, action="upsert", **upsert)
    found = await place.call("read_data_table", table=table, where=where("a & b + c"))
    every = await place.call("read_data_table", table=table)
    large = await place.call("read_data_table", table=table, where={"n": {"gt": 8}})
    wrong = await place.refused("read_data_table", table=table, where={"n": {"above": 8}})

    assert sorted(one["n"] for one in large["rows"]) == [9, 10]
    assert "comparisons are eq, neq" in wrong.message
    assert {"who": "string", "n": "number"} in [one["columns"] for one in listed["tables"] if one["name"] == table]
    assert [one["who"] for one in made["rows"]] == [one["who"] for one in people]
    assert [one["dryRunState"] for one in planned["rows"]] == ["before", "after"]
    assert [one["n"] for one in changed["rows"]] == [10]
    assert [one["n"] for one in found["rows"]] == [2]
    assert len(every["rows"]) == 3


async def test_rows_are_deleted_only_with_a_confirmation(place: Place) -> None:
    table = await new_table(place)
    await place.call("write_data_table", table=table, action="insert", rows=[{"who": "x y", "n": 1}, {"who": "b"}])
    request = {"table": table, "where": where("x y")}

    asked = await place.refused("delete_data_table_rows", **request)
    gone = await place.call("delete_data_table_rows", **request, confirm=True)

    assert isinstance(asked, ConfirmationRequiredError)
    assert "This would delete 1 rows for good" in asked.message
    assert '"x y"' in asked.message
    assert [one["who"] for one in gone["rows"]] == ["x y"]
    assert len((await place.call("read_data_table", table=table))["rows"]) == 1


async def test_what_a_table_does_not_have_is_named(place: Place) -> None:
    table = await new_table(place)

    column = await place.refused("write_data_table", table=table, action="insert", rows=[{"whom": 1}])
    condition = await place.refused("read_data_table", table=table, where={"zz": 1})
    listed = await place.refused("write_data_table", table=table, action="insert", rows=[{"who": [1, 2]}])
    kind = await place.refused("write_data_table", table=table, action="insert", rows=[{"n": "many"}])
    unknown = await place.refused("read_data_table", table=f"{table}x")

    assert "no column 'whom'. It has who, n. Did you mean who?" in column.message
    assert "no column 'zz'. It has id, createdAt, updatedAt, who, n." in condition.message
    assert "'who' takes one text, number, boolean, date or null" in listed.message
    assert "does not match column type 'number'" in kind.message
    assert kind.hint == "The columns of the table: who (string), n (number)."
    assert table in str(unknown.hint)


async def test_a_credential_is_made_and_its_secret_is_never_shown(place: Place) -> None:
    fields = {"name": "X-Test", "value": SECRET}

    made = await place.box.call("create_credential", {"name": "new", "type": "httpHeaderAuth", "data": fields})
    refused = await place.refused("create_credential", name="new", type="httpHeaderAuth", data={"zz": SECRET})
    tried = await place.call("test_credential", id=made.value["data"]["id"])
    gone = await place.refused("test_credential", id="nobody")

    assert made.value["data"]["type"] == "httpHeaderAuth"
    assert SECRET not in f"{made.value} {refused.message} {refused.hint}"
    assert "_guidance" not in made.value, "n8n cannot test it"
    assert tried["works"] is None
    assert "n8n has no test" in tried["reason"]
    assert gone.message == "Credential 'nobody' not found"


async def test_a_tag_is_renamed_and_deleted(place: Place) -> None:
    name = uuid4().hex[:10]
    await place.n8n.told("POST", "tags", {"name": name})

    renamed = await place.call("rename_tag", tag=name, name=f"{name}-2")
    deleted = await place.call("delete_tag", tag=f"{name}-2", confirm=True)

    assert (renamed["name"], deleted["deleted"]) == (f"{name}-2", True)
    assert (await place.refused("rename_tag", tag=name, name="x")).message == f"Tag '{name}' not found"


async def test_the_instance_is_reported_on(place: Place) -> None:
    body = {"name": "nobody uses it", "type": "httpHeaderAuth", "data": {"name": "a", "value": SECRET}}
    await place.n8n.told("POST", "credentials", body)

    insights = await place.call("get_instance_report", report="insights")
    audit = await place.call("get_instance_report", report="audit")

    assert {"total", "failed", "failureRate"} <= set(insights["insights"])
    assert insights["period"] == "the last 7 days"
    assert "once an hour" in insights["note"]
    assert "Credentials not used in any workflow" in [one["title"] for one in audit["risks"]]
    assert SECRET not in str(audit)


async def test_a_credential_that_n8n_refuses_is_told_what_n8n_would_take(place: Place) -> None:
    misspelt = {"name": "X-Key", "valeu": SECRET}
    field = await place.refused("create_credential", name="new", type="httpHeaderAuth", data=misspelt)
    short = await place.refused("create_credential", name="new", type="headerAuth", data={"name": "X-Key"})
    ending = await place.refused("create_credential", name="new", type="slack", data={"accessToken": SECRET})
    nothing = await place.refused("create_credential", name="new", type="qqqq", data={"a": "b"})

    assert str(field.hint).startswith("Did you mean value? The fields of httpHeaderAuth are name, value, ")
    assert "get_credential_schema(type: 'httpHeaderAuth')" in str(field.hint)
    assert "did you mean httpHeaderAuth" in str(short.hint)
    assert "slackApi" in str(ending.hint)
    assert "list_credentials shows types" in str(nothing.hint)
    for error in (field, short, ending, nothing):
        assert SECRET not in f"{error.message} {error.hint}"
