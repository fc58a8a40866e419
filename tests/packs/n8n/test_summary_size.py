"""A summary costs at most a thousand tokens, whatever the execution is like, and is still worth reading."""

from collections.abc import Callable
from typing import Any

import pytest

from dogubako.contract.call import ToolResult
from dogubako.contract.output import parse_call
from tests.real_tokenizers import claude_tokens, mistral_tokens

from .made import JsonObject, box_with, failed_run, item, items, made, node, run
from .recorded import Told, data_of, execution_ids, text_of

MOST_TOKENS = 1_000
SCRIPTS = [
    pytest.param("long name ", id="latin"),
    pytest.param("顧客データ取得", id="japanese"),
    pytest.param("🧑‍🚀𝔘ꙮ", id="costly"),
    pytest.param("'\\\n\"", id="escaped"),
]


def assert_small(result: ToolResult) -> None:
    text = text_of(result)
    assert claude_tokens(text) <= MOST_TOKENS
    assert mistral_tokens(text) <= MOST_TOKENS


async def summary_of(execution: JsonObject) -> dict[str, Any]:
    """The summary, which has to be small."""
    async with box_with(execution).running() as box:
        result = await box.call("get_execution", {"id": "1"})
    assert_small(result)
    return data_of(result)


async def assert_example_works(execution: JsonObject, summary: dict[str, Any]) -> None:
    name, arguments = parse_call(summary["_guidance"]["example"])
    async with box_with(execution).running() as box:
        assert not (await box.call(name, arguments)).is_error


@pytest.mark.parametrize("key", [pytest.param(key, id=key) for key in execution_ids()])
def test_every_recording_is_told_in_a_thousand_tokens(told: Told, key: str) -> None:
    assert_small(told.summaries[key])


async def test_ten_thousand_items_are_counted_and_not_shown() -> None:
    many = items(*({"id": number, "note": "x" * 220} for number in range(10_000)))
    summary = await summary_of(made({"Make": [run(many)], "Pass": [run(many, after="Make")]}, status="success"))

    assert summary["statistics"]["totalItemsProcessed"] == 20_000


async def test_of_five_hundred_nodes_the_failed_one_is_listed_first_and_the_rest_is_counted() -> None:
    runs = {f"Step number {number}": [run(items({}))] for number in range(499)}
    summary = await summary_of(made({**runs, "Broken": [failed_run("no", after="Step number 498")]}))

    assert summary["statistics"]["executedNodes"] == 500
    assert summary["availableNodes"][0]["nodeName"] == "Broken"
    assert len(summary["availableNodes"]) > 5
    assert len(summary["availableNodes"]) + summary["availableNodesOmitted"] == 500


@pytest.mark.parametrize("script", SCRIPTS)
async def test_a_node_name_of_two_thousand_characters_does_not_hide_the_others(script: str) -> None:
    name = (script * 2_000)[:2_000]
    execution = made({"Start": [run(items({}))], name: [failed_run("no", after="Start")]})
    summary = await summary_of(execution)

    await assert_example_works(execution, summary)
    assert summary["error"]["message"] == "no"
    assert "Start" in [one["nodeName"] for one in summary["availableNodes"]]
    assert summary.get("availableNodesOmitted", 0) == 2 - len(summary["availableNodes"])
    assert "no data" not in summary["_guidance"]["message"]


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("length", [60, 240, 2_000])
async def test_everything_long_at_once_still_fits(script: str, length: int) -> None:
    text = (script * length)[:length]
    swallowing = [f"{number}{text}" for number in range(3)]
    runs = {name: [run([item({"error": text})])] for name in swallowing}
    failing = {text: [failed_run(text, after=swallowing[0], description=text, httpCode=text)]}
    nodes = [node(name, onError="continueRegularOutput") for name in swallowing]
    execution = made({**runs, **failing}, *nodes, retryOf="7", retrySuccessId="8")
    execution["workflowData"]["name"] = text

    summary = await summary_of(execution)
    await assert_example_works(execution, summary)
    assert [one["items"] for one in summary["swallowedErrors"]] == [1, 1, 1]
    assert summary["error"]["message"].startswith(text[:5])


@pytest.mark.parametrize("script", SCRIPTS)
async def test_an_error_of_a_hundred_thousand_characters_is_told_by_its_beginning(script: str) -> None:
    message = (script * 100_000)[:100_000]
    summary = await summary_of(made({"Broken": [failed_run(message, after=(), description=message)]}))

    assert summary["error"]["message"].startswith(message[:20])
    assert "more characters" in summary["error"]["message"]
    assert summary["availableNodes"][0]["nodeName"] == "Broken"


def _of_one_node() -> JsonObject:
    errors = [item({"error": f"number {number}"}, number) for number in range(300)]
    return made({"Soft": [run(errors)]}, node("Soft", onError="continueRegularOutput"), status="success")


def _of_many_nodes() -> JsonObject:
    names = [f"Soft {number}" for number in range(300)]
    runs = {name: [run([item({"error": f"number {name[5:]}"})])] for name in names}
    return made(runs, *(node(name, onError="continueErrorOutput") for name in names), status="success")


@pytest.mark.parametrize(
    ("execution", "shown"),
    [
        pytest.param(_of_one_node, [("Soft", 300)], id="of one node"),
        pytest.param(_of_many_nodes, [("Soft 0", 1), ("Soft 1", 1), ("Soft 2", 1)], id="of many nodes"),
    ],
)
async def test_three_hundred_swallowed_errors_are_counted(
    execution: Callable[[], JsonObject], shown: list[tuple[str, int]]
) -> None:
    summary = await summary_of(execution())

    assert [(one["nodeName"], one["items"]) for one in summary["swallowedErrors"]] == shown
    assert summary["swallowedErrors"][0]["message"] == "number 0"
    assert summary.get("swallowedErrorsOmitted", 0) == (297 if len(shown) == 3 else 0)


@pytest.mark.parametrize("text", SCRIPTS)
async def test_parameters_that_n8n_ignored_are_a_part_of_the_thousand_tokens(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"{text * 6}{number}" for number in range(30)]

    async def ignored(*_: object) -> list[JsonObject]:
        return [{"node": name, "parameters": names} for name in names]

    monkeypatch.setattr("dogubako.packs.n8n.tools.executions.ignored_parameters", ignored)
    summary = await summary_of(made({"Make": [run(items({}))], "Broken": [failed_run("no", after="Make")]}))

    assert (len(summary["n8nIgnored"]), summary["n8nIgnoredOmitted"]) == (3, 27)
