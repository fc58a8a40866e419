"""What n8n saves and certainly fails on, or makes nothing of: chosen outputs, half a merge, texts that are no JSON."""

from typing import Any

import pytest

from dogubako.packs.n8n.nodes.expressions import check_expressions
from dogubako.packs.n8n.nodes.filters import check_filter

from .checked import Node, graph_problems, kinds, node

HOOK = node("Hook", "webhook", 2, parameters={"path": "a"})


def told(it: Node, *links: str) -> list[tuple[str, bool]]:
    other = node("A")
    return kinds(graph_problems([HOOK, other, it], "Hook>A", *(links or ("A>It",))))


def switch(output: Any, version: float = 3.2, **more: Any) -> Node:
    return node(
        "It", "switch", version, parameters={"mode": "expression", "numberOutputs": 2, "output": output}, **more
    )


@pytest.mark.parametrize("output", [2, 3, -1, "={{ 3 }}", "={{-1}}"])
def test_an_output_that_a_switch_does_not_have_is_told(output: Any) -> None:
    assert told(switch(output)) == [("unknownOutput", False)]


@pytest.mark.parametrize(
    "it",
    [
        switch(0),
        switch("={{ 1 }}"),
        switch("={{ $json.n }}"),
        switch("={{ 1 }}2"),
        switch(3, 1),
        switch(3, disabled=True),
    ],
)
def test_an_output_that_it_has_or_may_have_is_not(it: Node) -> None:
    assert told(it) == []


def merge(**parameters: Any) -> Node:
    return node("It", "merge", 3, parameters={"mode": "combine", **parameters})


@pytest.mark.parametrize(
    "it", [merge(fieldsToMatchString="id"), merge(combineBy="combineByPosition"), merge(combineBy="combineAll")]
)
def test_a_merge_with_one_input_combines_nothing(it: Node) -> None:
    assert told(it) == [("unconnectedNode", False)]


@pytest.mark.parametrize(
    "it",
    [
        merge(mode="append"),
        merge(fieldsToMatchString="id", joinMode="enrichInput1"),
        merge(combineBy="combineByPosition", options={"includeUnpaired": True}),
        merge(combineBy="combineAll") | {"disabled": True},
    ],
)
def test_a_merge_that_gives_out_items_of_one_input_is_left_alone(it: Node) -> None:
    assert told(it) == []


def test_two_nodes_with_one_id_are_not_saved() -> None:
    twins = [{**HOOK, "id": "1"}, {**node("A"), "id": "2"}, {**node("B"), "id": "2"}, node("C"), node("D")]

    found = graph_problems(twins, "Hook>A", "A>B", "B>C", "C>D")

    assert [(one.kind, one.node, one.certain) for one in found] == [("notSaved", "B", True)]


@pytest.mark.parametrize(
    ("kind", "parameters", "count"),
    [
        pytest.param("respondToWebhook", {"respondWith": "json", "responseBody": "{a: 1}"}, 1, id="answer"),
        pytest.param("respondToWebhook", {"respondWith": "json", "responseBody": '"text"'}, 0, id="text as JSON"),
        pytest.param("respondToWebhook", {"respondWith": "json", "responseBody": ""}, 0, id="empty answer"),
        pytest.param("respondToWebhook", {"respondWith": "text", "responseBody": "{a: 1}"}, 0, id="plain answer"),
        pytest.param("stopAndError", {"errorType": "errorObject", "errorObject": "{code: 1}"}, 1, id="error"),
        pytest.param("stopAndError", {"errorType": "errorObject", "errorObject": '{"a": 1}'}, 0, id="error in JSON"),
        pytest.param("stopAndError", {"errorMessage": "a", "errorObject": "{code: 1}"}, 0, id="message"),
    ],
)
def test_a_text_that_is_no_json_is_told(kind: str, parameters: dict[str, Any], count: int) -> None:
    hook = node("Hook", "webhook", 2, parameters={"path": "a", "responseMode": "responseNode"})
    hook = hook if kind == "respondToWebhook" else HOOK
    found = graph_problems([hook, node("It", kind, 1.1, parameters=parameters)], "Hook>It")

    assert kinds(found) == [("brokenJson", False)] * count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("={ $json.body.x }", 1),
        ("=Hello ${ $json.body.x }", 1),
        ("=Hello {$('A').item.json.a}", 1),
        ("=${{ $json.price }}", 0),
        ("={{ `a ${ $json.b }` }}", 0),
        ('={ "a": "{{ $json.a }}", "b": {} }', 0),
        ("={ $match: { $json: 1 } }", 0),
        ("{ $json.body.x }", 0),
    ],
)
def test_half_an_expression_is_told(text: str, count: int) -> None:
    found = check_expressions({"parameters": {"value": text}}, ("A",), ())

    assert [(one.kind, one.certain) for one in found] == [("brokenExpression", False)] * count


def test_a_condition_behind_another_fails_only_where_n8n_comes_to_it() -> None:
    wrong = {"leftValue": "={{ [1] }}", "rightValue": 0, "operator": {"type": "array", "operation": "lengthGte"}}

    found = list(check_filter({"conditions": [wrong, wrong], "combinator": "or"}, "conditions"))

    assert ["when it comes to this condition" in one.message for one in found] == [False, True]
