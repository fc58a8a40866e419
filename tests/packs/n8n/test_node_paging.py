"""Paging through the items of a node: every item once, by following the guidance, whatever stands around them."""

from collections.abc import Mapping
from typing import Any

import pytest

from dogubako.app import Toolbox
from dogubako.contract.output import parse_call
from dogubako.tools import ExecutionOptions
from tests.real_tokenizers import claude_tokens, mistral_tokens

from .made import WORKFLOW_ID, JsonObject, box_with, item, items, made, node, run
from .recorded import data_of, text_of

_MOST_PAGES = 400


async def pages(box: Toolbox, first: Mapping[str, Any], budget: int | None = None) -> list[dict[str, Any]]:
    """The first page, and then what the guidance of each page calls, as long as that is the next page."""
    found: list[dict[str, Any]] = []
    call: tuple[str, Mapping[str, Any]] | None = ("get_execution_by_node", {"id": "1", **first})
    while call is not None:
        assert len(found) < _MOST_PAGES, "the pages do not end"
        result = await box.call(*call, ExecutionOptions(max_tokens=budget))
        assert max(claude_tokens(text_of(result)), mistral_tokens(text_of(result))) <= (budget or 25_000)
        found.append(data_of(result))
        call = _next_page(found[-1])
    return found


def _next_page(data: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    name, arguments = parse_call(data["_guidance"]["example"]) if "_guidance" in data else ("", {})
    return (name, arguments) if "itemOffset" in arguments else None


def numbers(found: list[dict[str, Any]]) -> list[int]:
    return [one["json"]["id"] for page in found for one in page["output"]["items"]]


def plain() -> JsonObject:
    return made({"Big": [run(items(*({"id": number, "text": "x" * 90} for number in range(300))))]}, status="success")


def with_input() -> JsonObject:
    given = items(*({"id": number, "text": "given " * 20} for number in range(300)))
    return made({"Before": [run(given)], "Big": [run(given, after="Before")]}, status="success")


def with_long_parameters() -> JsonObject:
    execution = plain()
    execution["workflowData"]["nodes"] = [node("Big", "// 長い説明 of what this does\n" * 2_000)]
    return execution


def with_many_runs() -> JsonObject:
    big = run([], items(*({"id": number} for number in range(300))))
    return made({"Big": [*(run(items(1)) for _ in range(80)), big]}, status="success")


@pytest.mark.parametrize("budget", [pytest.param(2_000, id="small budget"), pytest.param(8_000, id="large budget")])
@pytest.mark.parametrize(
    "execution",
    [
        pytest.param(plain(), id="plain"),
        pytest.param(with_input(), id="with input"),
        pytest.param(with_long_parameters(), id="long parameters"),
        pytest.param(with_many_runs(), id="many runs"),
    ],
)
async def test_following_the_guidance_shows_every_item_once(execution: JsonObject, budget: int) -> None:
    async with box_with(execution).running() as box:
        found = await pages(box, {"nodeName": "Big"}, budget)

    assert numbers(found) == list(range(300))
    assert len(found) > 1


@pytest.mark.parametrize(
    "script", [pytest.param("long name ", id="latin"), pytest.param("顧客データ取得", id="japanese")]
)
async def test_a_name_of_two_thousand_characters_costs_no_item(script: str) -> None:
    name = (script * 2_000)[:2_000]
    many = items(*({"id": number, "text": "x" * 900} for number in range(200)))
    async with box_with(made({name: [run(many)]}, status="success")).running() as box:
        found = await pages(box, {"nodeName": name})

    assert numbers(found) == list(range(200))
    assert len(found) > 1


async def test_limit_fields_run_and_output_stay_the_same_from_page_to_page() -> None:
    second = run([], items(*({"id": number, "secret": "x"} for number in range(7))))
    execution = made({"Big": [run(items({"id": -1})), second, run(items({"id": -2}))]}, status="success")
    async with box_with(execution).running() as box:
        first = {"nodeName": "Big", "runIndex": 1, "outputIndex": 1, "itemLimit": 3, "fields": ["id"], "itemOffset": 1}
        found = await pages(box, first)

    assert [[one["json"] for one in page["output"]["items"]] for page in found] == [
        [{"id": 1}, {"id": 2}, {"id": 3}],
        [{"id": 4}, {"id": 5}, {"id": 6}],
    ]


async def test_an_item_larger_than_the_budget_is_shortened_and_does_not_stop_the_paging() -> None:
    large = {"id": 1, "text": "very long " * 4_000, "list": list(range(5_000)), "deep": {"text": "長い" * 5_000}}
    execution = made({"Big": [run(items({"id": 0}, large, {"id": 2}))]}, status="success")
    async with box_with(execution).running() as box:
        found = await pages(box, {"nodeName": "Big"}, 2_000)

    assert numbers(found) == [0, 1, 2]
    shown = found[1]["output"]["items"][0]["json"]
    assert shown["text"].startswith("very long very long")
    assert "more characters" in shown["text"]
    assert shown["list"][-1].endswith("more]")


async def test_an_item_of_too_many_fields_is_replaced_by_advice_that_works() -> None:
    wide = {f"field {number}": number for number in range(3_000)}
    execution = made({"Big": [run([item({"id": 7, **wide})])]}, status="success")
    async with box_with(execution).running() as box:
        whole = await pages(box, {"nodeName": "Big"}, 2_000)
        narrowed = await pages(box, {"nodeName": "Big", "fields": ["id"]}, 2_000)

    assert "name some fields" in whole[0]["output"]["items"][0]["json"]
    assert numbers(narrowed) == [7]


async def test_long_parameters_and_errors_are_shortened_and_leave_room_for_items() -> None:
    execution = with_long_parameters()
    execution["data"]["resultData"]["runData"]["Big"][0]["error"] = {"message": "失敗 " * 30_000}
    async with box_with(execution).running() as box:
        page = (await pages(box, {"nodeName": "Big", "itemLimit": 299}))[0]

    assert len(page["output"]["items"]) > 100
    assert "more characters" in page["parameters"]["jsCode"]
    assert "more characters" in page["error"]["message"]
    assert parse_call(page["allParameters"]) == ("get_workflow_node", {"id": WORKFLOW_ID, "nodeName": "Big"})


async def test_an_offset_behind_the_end_shows_nothing_and_says_how_many_there_are() -> None:
    async with box_with(plain()).running() as box:
        (page,) = await pages(box, {"nodeName": "Big", "itemOffset": 5_000})

    assert page["output"] == {"items": [], "total": 300, "offset": 5_000}
