"""What the sources of node types know, and which names they propose."""

from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

import dogubako_sandbox
from dogubako.packs.n8n.nodes.descriptions import Property, Summary
from dogubako.packs.n8n.nodes.parameters import _in_words
from dogubako.packs.n8n.nodes.problems import near_types
from dogubako.packs.n8n.nodes.ranking import ranked

from .wired import Answers, bench

NODE_TYPES: Final = Path(dogubako_sandbox.__file__).parent / "n8n" / "node_types"
BASE: Final = "n8n-nodes-base."


def step(kind: str, version: float = 1, **parameters: Any) -> dict[str, Any]:
    return {"name": kind, "type": BASE + kind, "typeVersion": version, "position": [0, 0], "parameters": parameters}


def instance(*workflows: dict[str, Any], more: bool = False) -> Answers:
    """An n8n with these workflows and one execution: a draft with a type that does not exist failed."""

    def answer(request: httpx2.Request) -> httpx2.Response | None:
        path = request.url.path
        if path.endswith("/workflows"):
            return httpx2.Response(200, json={"data": list(workflows), "nextCursor": "x" if more else None})
        if path.endswith("/executions"):
            return httpx2.Response(200, json={"data": [{"id": "1", "workflowId": "w"}], "nextCursor": None})
        if path.endswith("/executions/1"):
            ran = {"limit": [{"executionStatus": "success"}], "sort": [{"error": {"message": "no"}}]}
            nodes = [step("limit", 1, maxItems=1), step("htpRequest", 4), step("sort", 1, srt=1)]
            data = {"resultData": {"runData": ran}}
            return httpx2.Response(
                200,
                json={"id": "1", "status": "error", "finished": False, "workflowData": {"nodes": nodes}, "data": data},
            )
        return None

    return answer


async def test_only_what_n8n_has_taken_is_taught(tmp_path: Path) -> None:
    live = {"id": "1", "name": "a", "nodes": [step("set", 99, metod=1)], "activeVersion": {"nodes": [step("set", 3.4)]}}
    draft = {"id": "2", "name": "b", "nodes": [step("slak", 2)], "activeVersion": None}
    async with bench(tmp_path, instance(live, draft, more=True)) as n8n:
        described = await n8n.data("describe_node", type="set")
        ran = await n8n.data("describe_node", type="limit")
        unknown = [await n8n.call("describe_node", type=one) for one in ("slak", "htpRequest", "sort")]
        checked = await n8n.data("validate_workflow", nodes=[step("slack", 2)])

    assert described["version"] == 3.4
    assert "metod" not in str(described)
    assert "maxItems" in str(ran["parameters"])
    assert [one.code for one in unknown] == ["NOT_FOUND"] * 3
    assert "1 published ones among the 2 that were read, of which there are more" in checked["source"]
    assert "No workflow here uses" not in str(checked)


async def test_a_workflow_whose_parameters_nobody_knows_is_not_called_valid(tmp_path: Path) -> None:
    start = step("manualTrigger") | {"name": "Start"}
    nodes = [start, step("slack", 2, txet="x")]
    links = {"Start": {"main": [[{"node": "slack", "type": "main", "index": 0}]]}}
    broken = [start, step("slack", 2, text="={{ $json.a")]
    async with bench(tmp_path, instance()) as n8n:
        unknown = await n8n.call("validate_workflow", nodes=nodes, connections=links)
        wrong = await n8n.data("validate_workflow", nodes=broken, connections=links)
    async with bench(tmp_path, instance(), N8N_NODE_TYPES=str(NODE_TYPES)) as n8n:
        known = await n8n.data("validate_workflow", nodes=[start, step("noOp")], connections={})

    assert unknown.value["data"]["valid"] is None
    assert BASE + "slack" in unknown.value["data"]["parametersNotChecked"]
    assert "whether the workflow is valid is not known" in str(unknown.value)
    assert wrong["valid"] is False
    assert known["valid"] is True


@pytest.mark.parametrize(
    ("wrong", "first"),
    [("http", "httpRequest"), ("Sort", "sort"), ("htpRequest", "httpRequest"), ("schedule", "scheduleTrigger")],
)
def test_a_type_that_begins_or_sounds_so_is_proposed_first(wrong: str, first: str) -> None:
    names = [BASE + one for one in ("totp", "orbit", "cortex", "sort", "httpRequest", "scheduleTrigger")]

    assert near_types(BASE + wrong, names)[0] == BASE + first


@pytest.mark.parametrize(
    ("query", "first"),
    [("call an API", "httpRequest"), ("every day at 6", "scheduleTrigger"), ("database", "postgres")],
)
def test_everyday_words_find_the_node_that_is_meant(query: str, first: str) -> None:
    others = ("nasa", "facebookGraphApi", "oneSimpleApi", "oracleDatabase", "googleFirebaseRealtimeDatabase")
    kinds = (*others, "httpRequest", "scheduleTrigger", "postgres")
    known = [Summary(type=BASE + one, description="An API that one may call every day, at 6") for one in kinds]

    assert ranked(known, query, 3)[0].summary.type == BASE + first


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ([{"_cnd": {"lt": 0}}], ": no version of the node has it"),
        ([{"_cnd": {"gte": 2}}], ": it needs typeVersion = at least 2"),
        ([1, 2], ": it needs typeVersion = 1 or 2"),
    ],
)
def test_a_condition_on_the_version_is_told_in_words(condition: list[Any], words: str) -> None:
    assert _in_words(Property(name="a", show={"@version": condition})) == words


async def test_a_parameter_inside_of_another_is_found(tmp_path: Path) -> None:
    async with bench(tmp_path, N8N_NODE_TYPES=str(NODE_TYPES)) as n8n:
        inside = await n8n.call("describe_node", type="httpRequest", parameter="timeout")
        path = await n8n.call("describe_node", type="httpRequest", parameter="options.timeout")
        nothing = await n8n.call("describe_node", type="httpRequest", parameter="zzzz")

    assert "inside of 'options'" in str(inside.error)
    assert "inside of 'options'" in str(path.error)
    assert "There are: method, url" in str(nothing.error)
