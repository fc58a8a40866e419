"""What can be read on every n8n, whatever is in it. These run against a server that somebody names, too."""

from typing import Any

import pytest

from dogubako.packs.n8n.formatters.summary import MOST_TOKENS
from tests.n8n_contract.facts import proves
from tests.n8n_contract.place import Place

pytestmark = pytest.mark.reading

STATUSES = ("canceled", "crashed", "error", "new", "running", "success", "unknown", "waiting")
ROW = {
    "id",
    "finished",
    "mode",
    "retryOf",
    "retrySuccessId",
    "status",
    "startedAt",
    "stoppedAt",
    "workflowId",
    "waitTill",
}


async def newest(place: Place, **filters: Any) -> list[dict[str, Any]]:
    """The newest executions, as our list shows them."""
    found: list[dict[str, Any]] = (await place.call("list_executions", limit=10, **filters))["executions"]
    return found


@proves("list-rows")
async def test_a_list_of_executions_has_the_same_keys_in_every_row(place: Place) -> None:
    page = await place.n8n.told("GET", "executions", params={"limit": 20})

    assert page.keys() == {"data", "nextCursor"}
    for row in page["data"]:
        assert row.keys() == ROW
        assert isinstance(row["id"], str)
        assert row["status"] in STATUSES


_NODES_THAT_FIT = 100


async def test_a_list_of_executions_is_newest_first_and_within_its_limit(place: Place) -> None:
    found = await newest(place)

    numbers = [int(one["id"]) for one in found]
    assert numbers == sorted(numbers, reverse=True)
    assert len(numbers) == len(set(numbers))
    assert {one["status"] for one in found} <= set(STATUSES)


@pytest.mark.parametrize("status", STATUSES)
@proves("statuses")
async def test_executions_can_be_asked_for_by_status(place: Place, status: str) -> None:
    assert {one["status"] for one in await newest(place, status=status)} <= {status}


@proves("statuses")
async def test_n8n_names_the_statuses_that_it_knows(place: Place) -> None:
    status, message = await place.n8n.message("GET", "executions?status=sleeping")

    assert status == 400
    assert [word for word in STATUSES if f"'{word}'" in message] == list(STATUSES)


async def test_every_execution_has_a_small_summary(place: Place) -> None:
    for one in await newest(place):
        result = await place.box.call("get_execution", {"id": one["id"]})
        assert result.error is None
        assert result.tokens <= MOST_TOKENS
        assert result.value["data"]["id"] == one["id"]


async def test_every_node_of_a_summary_can_be_asked_for(place: Place) -> None:
    for one in (await newest(place))[:5]:
        summary = await place.call("get_execution", id=one["id"])
        for node in summary["availableNodes"]:
            shown = await place.call("get_execution_by_node", id=one["id"], nodeName=node["nodeName"])
            assert (shown["nodeName"], shown["nodeType"]) == (node["nodeName"], node["nodeType"])


async def test_every_failure_has_a_diagnosis(place: Place) -> None:
    for one in await newest(place, status="error"):
        diagnosis = await place.call("diagnose_execution", id=one["id"])
        assert diagnosis["executionId"] == one["id"]
        assert diagnosis["explanation"]


async def test_every_workflow_of_a_list_can_be_looked_at(place: Place) -> None:
    rows = (await place.call("list_workflows", limit=10))["workflows"]
    # Other cases leave workflows behind that do not fit an answer.
    small = [row for row in rows if row["nodes"] <= _NODES_THAT_FIT]
    assert small
    for row in small[:5]:
        shown = await place.call("get_workflow", id=row["id"])
        assert (shown["name"], shown["active"], len(shown["nodes"])) == (row["name"], row["active"], row["nodes"])
        links = await place.call("get_workflow_connections", id=row["id"])
        assert len(links["connections"]) == len(shown["connections"])
        for node in shown["nodes"][:3]:
            details = await place.call("get_workflow_node", id=row["id"], nodeName=node["name"])
            assert details["node"]["type"] == node["type"]


async def test_credentials_are_told_without_what_they_hold(place: Place) -> None:
    for one in (await place.call("list_credentials"))["credentials"]:
        assert one.keys() == {"id", "name", "type", "updatedAt"}


async def test_a_type_of_credential_tells_its_fields(place: Place) -> None:
    schema = await place.call("get_credential_schema", type="httpBasicAuth")

    assert {"user", "password"} <= schema["properties"].keys()


async def test_tags_are_told_by_id_and_name(place: Place) -> None:
    for tag in (await place.call("list_tags"))["tags"]:
        assert tag.keys() == {"id", "name"}


@proves("version-in-page")
async def test_the_check_tells_the_version_and_that_the_key_is_good(place: Place) -> None:
    page = await place.n8n.told("GET", "/")
    findings = await place.box.check()

    assert "n8n:config:sentry" in page
    told = next(one.message for one in findings if one.subject == "n8n" and one.ok)
    assert told.startswith("n8n 2.")
    assert told.endswith("the key is valid.")


@proves("version-in-page")
async def test_the_public_settings_do_not_tell_the_version(place: Place) -> None:
    settings = await place.n8n.told("GET", "/rest/settings")

    assert "versionCli" not in settings["data"]


@pytest.mark.parametrize(
    ("path", "nothing"),
    [
        pytest.param("executions", {"workflowId": "nope"}, id="executions"),
        pytest.param("workflows", {"name": "no such name 0"}, id="workflows"),
    ],
)
@proves("paging")
async def test_pages_are_linked_until_the_cursor_is_null(place: Place, path: str, nothing: dict[str, str]) -> None:
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 7}
    for _ in range(4):
        page = await place.n8n.told("GET", path, params=query)
        seen += [one["id"] for one in page["data"]]
        assert page["nextCursor"] is None or len(page["data"]) == 7
        if page["nextCursor"] is None:
            break
        query = {"cursor": page["nextCursor"]}
    assert len(seen) == len(set(seen))
    assert await place.n8n.told("GET", path, params=nothing) == {"data": [], "nextCursor": None}


async def test_pages_of_our_list_follow_each_other(place: Place) -> None:
    first = await place.call("list_workflows", limit=3)
    if first["nextCursor"] is not None:
        second = await place.call("list_workflows", limit=3, cursor=first["nextCursor"])
        assert {one["id"] for one in first["workflows"]}.isdisjoint(one["id"] for one in second["workflows"])
    assert len(first["workflows"]) <= 3
