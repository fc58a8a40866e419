"""What our tools tell about every kind of execution."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from dogubako.packs.n8n.formatters.summary import MOST_TOKENS
from tests.n8n_contract.facts import proves
from tests.n8n_contract.one_sided import only_where_there_is
from tests.n8n_contract.place import Place

# Kind, status, then the numbers: nodes of the workflow, that ran, that failed, and items over all runs and outputs.
SUMMARIES = [
    pytest.param("a-success-100", "success", (4, 4, 0, 301), id="success"),
    pytest.param("b1-http-econnrefused", "error", (3, 2, 1, 1), id="refused connection"),
    pytest.param("b1-http-econnrefused-retried", "error", (3, 2, 1, 1), id="retried"),
    pytest.param("b2-code-throws", "error", (3, 3, 1, 4), id="script"),
    pytest.param("c-if-branch", "success", (5, 5, 0, 31), id="two outputs"),
    pytest.param("d-loop", "success", (5, 5, 0, 126), id="loop"),
    pytest.param("e-merge", "success", (5, 5, 0, 22), id="merge"),
    pytest.param("f-onerror", "success", (7, 6, 0, 9), id="swallowed"),
    pytest.param("h-wait", "waiting", (4, 3, 0, 5), id="waiting"),
    pytest.param("h-wait-resumed", "success", (4, 4, 0, 5), id="resumed"),
    pytest.param("h-wait-canceled", "canceled", (4, 3, 0, 5), id="canceled while waiting"),
    pytest.param("i-unicode", "success", (4, 4, 0, 10), id="odd names"),
    pytest.param("j-binary", "success", (3, 3, 0, 3), id="binary"),
    pytest.param("k-retry", "error", (2, 2, 1, 1), id="retry on fail"),
    pytest.param("l-slow-canceled", "canceled", (3, None, None, None), id="canceled in a node"),
    pytest.param("l-slow-crashed", "crashed", (3, 2, 1, 1), id="crashed"),
    pytest.param("m-empty", "success", (3, 2, 0, 1), id="empty"),
    pytest.param("n-stop-error", "error", (2, 2, 1, 1), id="stopped"),
    pytest.param("p-disabled", "success", (4, 4, 0, 7), id="disabled"),
    pytest.param("q-parent", "success", (4, 4, 0, 7), id="sub-workflow"),
    pytest.param("r-manual", "success", (2, 2, 0, 2), id="manual"),
]


@pytest.mark.parametrize(("kind", "status", "numbers"), SUMMARIES)
async def test_a_summary_counts_over_all_runs_and_outputs(
    place: Place, kind: str, status: str, numbers: tuple[int | None, ...]
) -> None:
    summary = await place.call("get_execution", id=place.executions[kind])

    statistics = summary["statistics"]
    told = ("totalNodes", "executedNodes", "failedNodes", "totalItemsProcessed")
    assert (summary["status"], tuple(statistics.get(name) for name in told)) == (status, numbers)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        pytest.param(
            "b1-http-econnrefused",
            {
                "node": "Call closed port",
                "message": "The service refused the connection - perhaps it is offline",
                "description": "connect ECONNREFUSED 127.0.0.1:9",
                "httpCode": "ECONNREFUSED",
                "itemIndex": 0,
            },
            id="api",
        ),
        pytest.param(
            "b2-code-throws",
            {
                "node": "Boom",
                "message": "Cannot read properties of undefined (reading 'foo') [line 2]",
                "description": "TypeError",
                "line": 2,
            },
            id="script",
        ),
    ],
)
@proves("api-error", "code-error")
async def test_a_summary_tells_the_error_itself(place: Place, kind: str, error: dict[str, Any]) -> None:
    assert (await place.call("get_execution", id=place.executions[kind]))["error"] == error


@proves("swallowed-error")
async def test_a_summary_tells_errors_that_were_swallowed(place: Place) -> None:
    summary = await place.call("get_execution", id=place.executions["f-onerror"])

    assert {one["nodeName"]: one["items"] for one in summary["swallowedErrors"]} == {
        "Err out": 2,
        "Continue regular": 1,
    }


@proves("waiting", "crashed", "withheld")
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        pytest.param("h-wait", "although it has a stop time", id="waiting"),
        pytest.param("l-slow-crashed", "n8n crashed", id="crashed"),
        pytest.param("l-slow-canceled", "which nodes ran is not known", id="canceled"),
    ],
)
async def test_a_summary_says_what_would_mislead(place: Place, kind: str, words: str) -> None:
    summary = await place.call("get_execution", id=place.executions[kind])

    assert words in " ".join(summary["notes"])
    if kind == "l-slow-canceled":
        assert "nodesNotRun" not in summary
    if kind == "h-wait":
        assert summary["duration"] is None


@proves("sub-workflow")
async def test_a_summary_names_parent_and_child(place: Place) -> None:
    parent = place.executions["q-parent"]
    (child,) = (await place.call("get_execution", id=parent))["subExecutionIds"]

    assert (await place.call("get_execution", id=child))["parentExecutionId"] == parent


@proves("inputs", "outputs")
async def test_a_node_shows_what_it_was_given_and_gave(place: Place) -> None:
    number = place.executions["c-if-branch"]
    shown = await place.call("get_execution_by_node", id=number, nodeName="IF even", outputIndex=1, fields=["id"])

    assert shown["runs"][0]["items"] == [5, 5]
    assert [item["json"] for item in shown["output"]["items"]] == [{"id": number} for number in (2, 4, 6, 8, 10)]
    assert shown["input"]["from"] == [{"nodeName": "Make 10", "runIndex": 0, "outputIndex": 0}]
    assert shown["input"]["total"] == 10


@proves("runs")
async def test_a_node_in_a_loop_shows_the_run_that_is_asked_for(place: Place) -> None:
    shown = await place.call(
        "get_execution_by_node", id=place.executions["d-loop"], nodeName="Body", runIndex=3, itemLimit=2
    )

    assert [run["items"] for run in shown["runs"]] == [[5]] * 5
    assert [item["json"]["id"] for item in shown["output"]["items"]] == [16, 17]


@proves("stacked-input", "failed-run")
async def test_a_failing_node_shows_its_error_and_its_input(place: Place) -> None:
    number = place.executions["b2-code-throws"]
    shown = await place.call("get_execution_by_node", id=number, nodeName="Boom")

    assert (shown["status"], shown["error"]["line"]) == ("error", 2)
    assert (shown["input"]["total"], shown["output"]["total"]) == (3, 0)


@proves("crashed")
async def test_a_crashed_node_has_a_time_that_can_be_read(place: Place) -> None:
    crashed = await place.execution("l-slow-crashed")
    shown = await place.call("get_execution_by_node", id=crashed["id"], nodeName="Sleep")

    assert shown["status"] == "crashed"
    began, started = (datetime.fromisoformat(moment) for moment in (shown["startTime"], crashed["startedAt"]))
    assert abs(began - started) < timedelta(hours=1)


@pytest.mark.parametrize(
    "name",
    [pytest.param('顧客データ 取得 "本番"', id="quotes"), pytest.param("It's a \\ node / é – №1", id="slashes")],
)
async def test_a_node_with_an_odd_name_is_found(place: Place, name: str) -> None:
    shown = await place.call("get_execution_by_node", id=place.executions["i-unicode"], nodeName=name)

    assert (shown["nodeName"], shown["output"]["total"]) == (name, 3)


async def test_a_misspelt_node_gets_a_suggestion(place: Place) -> None:
    number = place.executions["a-success-100"]
    error = await place.refused("get_execution_by_node", id=number, nodeName="Edit Field")

    assert error.message == f"Node 'Edit Field' not found in execution '{number}'"
    assert error.hint is not None
    assert "'Edit Fields'" in error.hint


@only_where_there_is("a-success-100-redacted")
@proves("redacted")
async def test_a_summary_says_that_items_are_redacted(place: Place) -> None:
    summary = await place.call("get_execution", id=place.executions["a-success-100-redacted"])

    assert "redacted" in " ".join(summary["notes"])


@only_where_there_is("g-10000-whole")
@proves("ten-thousand", "withheld")
async def test_ten_thousand_items_have_a_small_summary(place: Place) -> None:
    number = place.executions["g-10000-oversized"]
    whole = await place.n8n.client.get(
        f"/api/v1/executions/{number}", params={"includeData": "true", "ignoreDataSizeLimit": "true"}
    )
    brief = await place.n8n.client.get(f"/api/v1/executions/{number}")
    result = await place.box.call("get_execution", {"id": number})

    assert len(whole.content) > 3 * brief.json()["jsonSizeBytes"] > 6_000_000
    assert len(brief.content) < 2_000
    assert result.tokens <= MOST_TOKENS
    assert result.value["data"]["statistics"]["totalItemsProcessed"] == 20_001
