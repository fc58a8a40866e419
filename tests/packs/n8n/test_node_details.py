"""What `get_execution_by_node` says of one node: which run, which output, true inputs, true times."""

from datetime import datetime
from typing import Any

import pytest

from dogubako.app import Toolbox

from .made import JsonObject, box_with, failed_run, item, items, made, node, run
from .recorded import data_of, execution_ids, node_data


async def made_node(execution: JsonObject, name: str, **wishes: Any) -> dict[str, Any]:
    async with box_with(execution).running() as box:
        return data_of(await box.call("get_execution_by_node", {"id": "1", "nodeName": name, **wishes}))


@pytest.mark.parametrize(
    ("key", "name", "wishes", "shown"),
    [
        pytest.param("bad-iteration", "Count articles", {}, (2, 0), id="the first run that failed"),
        pytest.param("bad-iteration", "Mark batch", {}, (2, 0), id="the last run, as none failed"),
        pytest.param("d-loop", "Loop Over Items", {}, (5, 0), id="the last run of a loop"),
        pytest.param("d-loop", "Loop Over Items", {"runIndex": 2}, (2, 1), id="the output that gave something"),
        pytest.param("d-loop", "Loop Over Items", {"runIndex": 2, "outputIndex": 0}, (2, 0), id="an empty output"),
        pytest.param("f-onerror", "Err out", {}, (0, 1), id="the error output, as only that gave something"),
        pytest.param("m-empty", "None", {}, (0, 0), id="the first, as no output gave anything"),
    ],
)
async def test_which_run_and_output_are_shown(
    box: Toolbox, key: str, name: str, wishes: dict[str, int], shown: tuple[int, int]
) -> None:
    data = await node_data(box, key, name, **wishes)

    assert (data["runIndex"], data["outputIndex"]) == shown
    assert len(data["output"]["items"]) == data["output"]["total"]
    counts = data["runs"][shown[0]]["items"]
    assert data["output"]["total"] == (counts[shown[1]] if counts else 0)


async def test_the_first_of_several_failing_runs_is_shown() -> None:
    runs = [run(items(1)), failed_run("first", after=()), failed_run("second", after=()), run(items(2))]

    data = await made_node(made({"Node": runs}), "Node")

    assert data["error"]["message"] == "first"
    assert [one["status"] for one in data["runs"]] == ["success", "error", "error", "success"]


async def test_every_run_of_a_loop_is_listed_with_its_counts(box: Toolbox) -> None:
    data = await node_data(box, "d-loop", "Loop Over Items")

    assert [one["runIndex"] for one in data["runs"]] == [0, 1, 2, 3, 4, 5]
    assert [one["items"] for one in data["runs"]] == [[0, 5]] * 5 + [[25, 0]]


async def test_a_run_of_a_loop_is_fed_by_the_run_before_it(box: Toolbox) -> None:
    data = await node_data(box, "d-loop", "Loop Over Items", runIndex=3)

    assert data["input"]["from"] == [{"nodeName": "Body", "runIndex": 2, "outputIndex": 0}]
    assert [one["json"]["id"] for one in data["input"]["items"]] == [11, 12, 13, 14, 15]
    assert [one["json"]["id"] for one in data["output"]["items"]] == [16, 17, 18, 19, 20]
    example = f"get_execution_by_node(id: '{data['executionId']}', nodeName: 'Body', runIndex: 2)"
    assert data["_guidance"]["example"] == example


@pytest.mark.parametrize(("output", "even"), [pytest.param(0, True, id="true"), pytest.param(1, False, id="false")])
async def test_both_outputs_of_a_condition_can_be_read(box: Toolbox, output: int, even: bool) -> None:
    data = await node_data(box, "c-if-branch", "IF even", outputIndex=output)

    assert data["runs"][0]["items"] == [5, 5]
    assert {one["json"]["even"] for one in data["output"]["items"]} == {even}
    assert data["input"]["total"] == 10


async def test_a_node_behind_the_second_output_received_only_that(box: Toolbox) -> None:
    data = await node_data(box, "c-if-branch", "No")

    assert data["input"]["from"] == [{"nodeName": "IF even", "runIndex": 0, "outputIndex": 1}]
    assert {one["json"]["even"] for one in data["input"]["items"]} == {False}
    assert data["_guidance"]["example"].endswith("nodeName: 'IF even', outputIndex: 1)")


async def test_a_merge_shows_both_inputs_and_where_one_ends(box: Toolbox) -> None:
    data = await node_data(box, "e-merge", "Merge")

    assert [one["nodeName"] for one in data["input"]["from"]] == ["Left", "Right"]
    assert data["input"]["perInput"] == [3, 4]
    assert [one["json"]["side"] for one in data["input"]["items"]] == ["L"] * 3 + ["R"] * 4


async def test_a_failing_node_shows_what_it_was_given(box: Toolbox) -> None:
    data = await node_data(box, "null-upstream", "Normalise email")

    assert [one["json"]["email"] for one in data["input"]["items"]] == ["Aiko@Example.com", None, "Chen@Example.com"]
    assert data["output"]["items"] == []
    assert data["error"]["line"] == 1
    assert data["_guidance"]["example"] == f"diagnose_execution(id: '{data['executionId']}')"


async def test_what_a_failing_node_was_given_is_found_on_the_stack_when_its_source_kept_nothing() -> None:
    execution = made({"Broken": [failed_run("no", after=[None])]})
    stack = [{"node": {"name": "Broken"}, "data": {"main": [items({"a": 1}, {"a": 2}), None]}}]
    execution["data"]["executionData"] = {"nodeExecutionStack": stack}

    data = await made_node(execution, "Broken")

    assert [one["json"] for one in data["input"]["items"]] == [{"a": 1}, {"a": 2}]


async def test_type_and_parameters_are_those_of_the_workflow(box: Toolbox) -> None:
    data = await node_data(box, "b2-code-throws", "Boom")

    assert data["nodeType"] == "n8n-nodes-base.code"
    assert data["parameters"]["jsCode"] == "const x = undefined;\nreturn x.foo.bar;"


@pytest.mark.parametrize("key", [pytest.param("b2-code-throws", id="ms"), pytest.param("l-slow-crashed", id="seconds")])
async def test_times_are_moments_whatever_n8n_counts_in(box: Toolbox, key: str) -> None:
    data = await node_data(box, key, "Webhook")
    summary = data_of(await box.call("get_execution", {"id": execution_ids()[key]}))

    began, ended, started = (
        datetime.fromisoformat(moment) for moment in (data["startTime"], data["endTime"], summary["startedAt"])
    )
    assert abs((began - started).total_seconds()) < 2
    assert (ended - began).total_seconds() * 1000 == data["executionTime"]


async def test_the_end_of_a_recovered_run_is_counted_in_seconds_too() -> None:
    data = await made_node(made({"Node": [run(items(1), startTime=1_763_251_200, executionTime=250)]}), "Node")

    assert (data["startTime"], data["endTime"]) == ("2025-11-16T00:00:00.000Z", "2025-11-16T00:00:00.250Z")


async def test_a_run_that_knows_no_source_has_no_inputs(box: Toolbox) -> None:
    data = await node_data(box, "l-slow-crashed", "Sleep")

    assert data["status"] == "crashed"
    assert data["input"] == {"items": [], "total": 0, "from": []}


async def test_fields_narrow_what_lies_below_json_and_nothing_else() -> None:
    customer = {"name": "Aiko", "city": "Kobe", "tags": [{"id": 1}, {"id": 2}]}
    execution = made({"Node": [run([item({"order": 7, "customer": customer, "note": "x"}, 3)])]}, status="success")

    data = await made_node(execution, "Node", fields=["order", "customer.name", "customer.tags.1.id", "nowhere.x"])

    shown = {"order": 7, "customer": {"name": "Aiko", "tags": {"1": {"id": 2}}}}
    assert data["output"]["items"] == [{"json": shown, "pairedItem": 3}]


async def test_names_of_fields_may_have_dots() -> None:
    data = {"k.dot": 1, "a": {"b.c": {"d": 2}, "b": {"x": 3}}, "a.b": 4}
    execution = made({"Node": [run([item(data)])]}, status="success")

    shown = await made_node(execution, "Node", fields=["k.dot", "a.b.c.d", "a.b.x"])

    assert shown["output"]["items"][0]["json"] == {"k.dot": 1, "a": {"b.c": {"d": 2}, "b": {"x": 3}}}


async def test_a_short_file_is_shown_and_a_long_one_is_named() -> None:
    files = {"small": {"data": "aGVsbG8=", "fileName": "a.txt"}, "big": {"data": "A" * 4000, "fileName": "b.bin"}}
    execution = made({"Node": [run([item({}, binary=files)])]}, status="success")

    shown = (await made_node(execution, "Node"))["output"]["items"][0]["binary"]

    assert shown["small"] == files["small"]
    assert shown["big"] == {"data": "[base64, 4,000 characters; raw shows them]", "fileName": "b.bin"}


async def test_what_is_redacted_switched_off_or_called_is_marked(box: Toolbox) -> None:
    redacted = await node_data(box, "a-success-100-redacted", "Done", itemLimit=1)
    switched_off = await node_data(box, "p-disabled", "Off")
    caller = await node_data(box, "q-parent", "Call child")

    assert redacted["output"]["items"][0]["json"] == {}
    assert redacted["output"]["items"][0]["redaction"]["redacted"] is True
    assert switched_off["disabled"] is True
    assert caller["subExecution"]["executionId"] == execution_ids()["q-parent child"]


@pytest.mark.parametrize(
    ("key", "name", "wishes", "message", "hint"),
    [
        pytest.param("d-loop", "Loop over Item", {}, "Node 'Loop over Item'", "'Loop Over Items'", id="misspelt"),
        pytest.param("b1-http-econnrefused", "Never", {}, "Node 'Never'", "did not run", id="did not run"),
        pytest.param("g-10000-oversized", "Pass", {}, "Node 'Pass'", "holds the data back", id="held back"),
        pytest.param("l-slow-running", "Sleep", {}, "Node 'Sleep'", "not ended", id="still running"),
        pytest.param("c-if-branch", "IF even", {"runIndex": 1}, "Run 1 of node 'IF even'", "It has 1 run,", id="run"),
        pytest.param("d-loop", "Body", {"runIndex": 9}, "Run 9 of node 'Body'", "It has 5 runs,", id="run of a loop"),
        pytest.param("c-if-branch", "IF even", {"outputIndex": 2}, "Output 2 of node", "2 outputs", id="output"),
    ],
)
async def test_what_is_not_there_is_named_with_a_hint(
    box: Toolbox, key: str, name: str, wishes: dict[str, int], message: str, hint: str
) -> None:
    number = execution_ids()[key]
    result = await box.call("get_execution_by_node", {"id": number, "nodeName": name, **wishes})

    assert result.error is not None
    assert result.error.code == "NOT_FOUND"
    assert result.error.message.startswith(message)
    assert result.error.message.endswith(f" not found in execution '{number}'")
    assert hint in str(result.error.hint)


async def test_a_node_that_the_workflow_has_lost_can_still_be_read() -> None:
    execution = made({"Gone": [run(items({"a": 1}))]}, status="success")
    execution["workflowData"]["nodes"] = [node("Other")]

    data = await made_node(execution, "Gone")

    assert (data["nodeType"], data["parameters"]) == ("unknown", {})
    assert data["output"]["items"][0]["json"] == {"a": 1}
