"""How n8n tells executions: the shapes that our formatters are made for."""

from tests.n8n_contract.facts import proves
from tests.n8n_contract.place import Place

MILLISECONDS = 10**12


@proves("size-before-data")
async def test_the_size_of_the_data_is_told_without_it(place: Place) -> None:
    number = place.executions["a-success-100"]
    brief = await place.n8n.told("GET", f"executions/{number}")

    assert brief["jsonSizeBytes"] > 20_000
    assert "data" not in brief


@proves("runs", "trigger-source")
async def test_a_node_has_a_list_of_runs(place: Place) -> None:
    runs = await place.runs("d-loop")

    assert (len(runs["Make 25"]), len(runs["Body"]), len(runs["Loop Over Items"])) == (1, 5, 6)
    assert runs["Webhook"][0]["source"] == []
    first = runs["Body"][0]
    assert {"startTime", "executionIndex", "executionTime", "executionStatus", "source", "data"} <= first.keys()
    assert first["startTime"] > MILLISECONDS
    order = [run["executionIndex"] for own in runs.values() for run in own]
    assert sorted(order) == list(range(len(order)))


@proves("outputs")
async def test_each_output_has_its_own_items(place: Place) -> None:
    runs = await place.runs("c-if-branch")

    assert [len(output) for output in runs["IF even"][0]["data"]["main"]] == [5, 5]
    assert runs["Yes"][0]["data"]["main"][0][0]["json"]["branch"] == "yes"


@proves("inputs")
async def test_a_source_leads_to_what_a_run_was_given(place: Place) -> None:
    runs = await place.runs("c-if-branch")
    source = runs["No"][0]["source"][0]

    given = runs[source["previousNode"]][source.get("previousNodeRun", 0)]["data"]["main"][source["previousNodeOutput"]]

    assert "inputData" not in runs["No"][0]
    assert (source["previousNode"], source["previousNodeOutput"]) == ("IF even", 1)
    assert [item["json"]["even"] for item in given] == [False] * 5


@proves("inputs")
async def test_a_merge_has_a_source_per_input(place: Place) -> None:
    runs = await place.runs("e-merge")

    assert [source["previousNode"] for source in runs["Merge"][0]["source"]] == ["Left", "Right"]


@proves("workflow-data")
async def test_types_and_names_are_in_the_workflow_of_the_execution(place: Place) -> None:
    execution = await place.execution("a-success-100")

    assert execution["workflowData"]["name"] == "A success chain 100"
    types = {node["name"]: node["type"] for node in execution["workflowData"]["nodes"]}
    assert types["Edit Fields"] == "n8n-nodes-base.set"
    assert not {"type", "parameters"} & execution["data"]["resultData"]["runData"]["Edit Fields"][0].keys()


@proves("failed-run", "stacked-input", "api-error")
async def test_a_failed_request_to_somebody_else(place: Place) -> None:
    data = (await place.execution("b1-http-econnrefused"))["data"]
    run = data["resultData"]["runData"]["Call closed port"][0]

    assert (run["executionStatus"], "data" in run) == ("error", False)
    error = run["error"]
    assert (error["name"], error["httpCode"]) == ("NodeApiError", "ECONNREFUSED")
    assert error["node"]["name"] == "Call closed port"
    assert error["messages"]
    stack = data["executionData"]["nodeExecutionStack"][0]
    assert stack["data"]["main"][0][0]["json"].keys() >= {"headers", "body"}


@proves("failed-run", "code-error")
async def test_a_failed_script(place: Place) -> None:
    result = (await place.execution("b2-code-throws"))["data"]["resultData"]
    error = result["runData"]["Boom"][0]["error"]

    assert (error["description"], error["lineNumber"], "node" in error) == ("TypeError", 2, False)
    assert (result["lastNodeExecuted"], result["error"]["message"]) == ("Boom", error["message"])


@proves("swallowed-error")
async def test_an_error_that_nobody_stops_for_is_only_in_an_item(place: Place) -> None:
    execution = await place.execution("f-onerror")
    run = execution["data"]["resultData"]["runData"]["Continue regular"][0]

    assert (execution["status"], run["executionStatus"], "error" in run) == ("success", "success", False)
    assert "soft failure" in run["data"]["main"][0][0]["json"]["error"]


@proves("waiting")
async def test_what_waits_has_a_stop_time_and_is_not_finished(place: Place) -> None:
    execution = await place.execution("h-wait")

    assert (execution["status"], execution["finished"]) == ("waiting", False)
    assert execution["waitTill"] > execution["stoppedAt"]


@proves("canceled-mid-node")
async def test_what_was_canceled_in_a_node_shows_no_runs(place: Place) -> None:
    assert await place.runs("l-slow-canceled") == {}
    assert "Wait" in await place.runs("h-wait-canceled")


@proves("crashed")
async def test_what_was_recovered_after_a_crash_is_told_roughly(place: Place) -> None:
    execution = await place.execution("l-slow-crashed")
    runs = execution["data"]["resultData"]["runData"]

    assert execution["status"] == "crashed"
    every = [run for own in runs.values() for run in own]
    assert [run["source"] for run in every] == [[None], [None]]
    assert {run["executionIndex"] for run in every} == {0}
    assert all(run["startTime"] < MILLISECONDS for run in every)
    assert runs["Webhook"][0]["data"]["main"][0][0]["json"] == {"isArtificialRecoveredEventItem": True}


@proves("retried")
async def test_a_retry_begins_counting_at_the_node_that_failed(place: Place) -> None:
    execution = await place.execution("b1-http-econnrefused-retried")
    runs = execution["data"]["resultData"]["runData"]

    assert (execution["mode"], execution["retryOf"]) == ("retry", place.executions["b1-http-econnrefused"])
    assert [own[0]["executionIndex"] for own in runs.values()] == [0, 0]


@proves("retry-on-fail")
async def test_a_node_that_tries_again_leaves_one_run(place: Place) -> None:
    runs = await place.runs("k-retry")

    assert [run["executionStatus"] for run in runs["Flaky"]] == ["error"]


@proves("sub-workflow")
async def test_parent_and_child_name_each_other(place: Place) -> None:
    runs = await place.runs("q-parent")
    called = runs["Call child"][0]["metadata"]["subExecution"]
    child = await place.details(called["executionId"])

    assert called["workflowId"] == child["workflowId"] == place.workflows["q-sub"]
    assert child["data"]["parentExecution"]["executionId"] == place.executions["q-parent"]
    assert child["mode"] == "integrated"


@proves("binary")
async def test_a_file_is_in_its_item(place: Place) -> None:
    item = (await place.runs("j-binary"))["Make bin"][0]["data"]["main"][0][0]

    assert item["binary"]["data"]["data"] == "aGVsbG8sd29ybGQKMSwyCg=="
    assert item["binary"]["data"]["mimeType"] == "text/csv"


@proves("disabled")
async def test_a_node_that_is_switched_off_hands_its_items_on(place: Place) -> None:
    run = (await place.runs("p-disabled"))["Off"][0]

    assert (run["executionStatus"], len(run["data"]["main"][0])) == ("success", 2)


@proves("withheld")
async def test_data_above_the_limit_is_left_out(place: Place) -> None:
    execution = await place.execution("g-10000-oversized")

    assert execution["data"]["resultData"]["runData"] == {}
    assert execution["dataTooLargeToDisplay"] is True
    assert execution["jsonSizeBytes"] > 2_000_000


@proves("redacted")
async def test_items_are_emptied_for_whoever_asks_for_it(place: Place) -> None:
    execution = await place.execution("a-success-100", redactExecutionData="true")
    item = execution["data"]["resultData"]["runData"]["Edit Fields"][0]["data"]["main"][0][0]

    assert item["json"] == {}
    assert item["redaction"] == {"redacted": True, "reason": "user_requested"}
    assert execution["data"]["redactionInfo"]["isRedacted"] is True
    assert (await place.runs("a-success-100"))["Edit Fields"][0]["data"]["main"][0][0]["json"]["label"] == "#1"


@proves("running", "running-left-out")
async def test_what_runs_shows_nothing_yet_and_is_listed_only_by_its_status(place: Place) -> None:
    number = await place.started("l-slow", "running")

    execution = await place.details(number)
    listed = await place.n8n.told("GET", "executions", params={"workflowId": place.workflows["l-slow"]})
    ours = await place.call("list_executions", workflowId=place.workflows["l-slow"])

    assert execution["data"]["resultData"]["runData"] == {}
    assert execution["stoppedAt"] is None
    assert number not in [one["id"] for one in listed["data"]]
    assert ours["executions"][0]["id"] == number
    await place.call("stop_execution", id=number)


@proves("largest-page")
async def test_no_page_is_larger_than_the_largest(place: Place) -> None:
    for number in range(255):
        await place.n8n.ask("POST", "tags", {"name": f"t{number}"})

    page = await place.n8n.told("GET", "tags", params={"limit": "1000"})

    assert len(page["data"]) == 250
    assert page["nextCursor"] is not None
    assert len((await place.call("list_tags"))["tags"]) >= 255
