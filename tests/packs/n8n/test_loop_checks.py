"""Circles that never end, and loops whose way back is wired wrongly."""

from typing import Any

import pytest

from .checked import Node, graph_problems, kinds, node

HOOK = node("Hook", "webhook", 2)
ENDLESS = [("endlessLoop", True)]
DOUBTFUL = [("endlessLoop", False)]


@pytest.mark.parametrize(
    ("nodes", "links", "found"),
    [
        pytest.param([node("A"), node("B")], ["Hook>A", "A>B", "B>A"], ENDLESS, id="two"),
        pytest.param([node("A")], ["Hook>A", "A>A"], ENDLESS, id="one that leads to itself"),
        pytest.param([node("A"), node("B", "set", 3.4)], ["Hook>A", "A>B", "B>A"], ENDLESS, id="set"),
        pytest.param([node("A"), node("B", "limit")], ["Hook>A", "A>B", "B>A"], ENDLESS, id="limit"),
        pytest.param([node("A"), node("B"), node("C")], ["Hook>A", "A>B", "B>A", "B>C"], ENDLESS, id="copies go out"),
        pytest.param(
            [node("A"), node("B", "code", 2, disabled=True)], ["Hook>A", "A>B", "B>A"], ENDLESS, id="switched off"
        ),
        pytest.param([node("A"), node("B", "crypto")], ["Hook>A", "A>B", "B>A"], DOUBTFUL, id="may fail"),
        pytest.param(
            [node("A"), node("B", "if", 2)], ["Hook>A", "A>B", "B>A", "B[1]>A"], DOUBTFUL, id="both ways lead back"
        ),
    ],
)
def test_a_circle_that_never_ends_is_told(nodes: list[Node], links: list[str], found: list[tuple[str, bool]]) -> None:
    assert kinds(graph_problems([HOOK, *nodes], *links)) == found


@pytest.mark.parametrize(
    ("other", "links"),
    [
        pytest.param(node("B", "if", 2), ["B[1]>A"], id="if without a way on"),
        pytest.param(node("B", "if", 2), ["B>C", "B[1]>A"], id="if with a way out"),
        pytest.param(node("B", "switch", 3), ["B>A", "B[1]>C"], id="switch"),
        pytest.param(node("B", "filter", 2), ["B>A"], id="filter"),
        pytest.param(node("B", "code", 2), ["B>A"], id="code"),
        pytest.param(node("B", "wait"), ["B>A"], id="wait"),
        pytest.param(node("B", "httpRequest", 4.2), ["B>A"], id="request"),
        pytest.param(node("B", "limit", parameters={"maxItems": 0}), ["B>A"], id="limit of nothing"),
        pytest.param(node("B", "limit", parameters={"maxItems": "={{ 1 }}"}), ["B>A"], id="limit that is not known"),
        pytest.param(node("B", "slack", 2.3), ["B>A"], id="another service"),
        pytest.param(node("B", "set", 3.4, onError="continueErrorOutput"), ["B>A", "B[1]>C"], id="error output"),
        pytest.param(node("B", "splitInBatches", 3), ["B>C", "B[1]>A"], id="loop"),
        pytest.param(node("B", "if", 2, disabled=True), ["B>C", "B[1]>A"], id="switched off if"),
    ],
)
def test_a_circle_with_a_way_out_is_left_alone(other: Node, links: list[str]) -> None:
    nodes = [HOOK, node("A"), other, node("C")]

    found = {one.kind for one in graph_problems(nodes, "Hook>A", "A>B", *links)}

    assert found.isdisjoint({"endlessLoop", "unclosedLoop"})


def test_a_circle_in_which_an_expression_may_fail_is_not_said_to_run_for_ever() -> None:
    rows = {"assignments": {"assignments": [{"name": "a", "type": "string", "value": "={{ $('Hook').item.json.a }}"}]}}
    plain, failing = node("B", "set", 3.4), node("B", "set", 3.4, parameters=rows)

    messages = [graph_problems([HOOK, node("A"), one], "Hook>A", "A>B", "B>A")[0].message for one in (plain, failing)]

    assert ["never ends" in one for one in messages] == [True, False]
    assert "ends only if one of its nodes fails" in messages[1]


def test_a_circle_that_nothing_enters_never_runs() -> None:
    found = graph_problems([HOOK, node("A"), node("B")], "A>B", "B>A")

    assert "endlessLoop" not in {one.kind for one in found}


def loop(version: Any = 3, **more: Any) -> list[Node]:
    return [HOOK, node("Loop", "splitInBatches", version, **more), node("Step"), node("End"), node("Inner")]


@pytest.mark.parametrize(
    ("version", "links", "says"),
    [
        pytest.param(3, ["Loop>Step", "Step>Loop", "Loop[1]>End"], "starts at output 0 (done)", id="swapped"),
        pytest.param(2, ["Loop[1]>Step", "Step>Loop", "Loop>End"], "starts at output 1 (done)", id="swapped, old"),
        pytest.param(3, ["Loop[1]>Step", "Loop>End"], "Nothing leads back to 'Loop'", id="no way back"),
        pytest.param(3, ["Loop[1]>Step"], "Nothing leads back to 'Loop'", id="no way back, no end"),
        pytest.param(1, ["Loop>Step"], "Nothing leads back to 'Loop'", id="no way back, oldest"),
        pytest.param(3, ["Loop>Step", "Step>End"], "Output 1 (loop) of 'Loop' leads to nothing", id="in a row"),
    ],
)
def test_a_loop_that_is_wired_wrongly_is_told(version: float, links: list[str], says: str) -> None:
    found = [one for one in graph_problems(loop(version), "Hook>Loop", *links) if one.kind == "unclosedLoop"]

    assert [(one.certain, one.node) for one in found] == [(False, "Loop")]
    assert says in found[0].message


@pytest.mark.parametrize(
    ("nodes", "links"),
    [
        pytest.param(loop(), ["Loop[1]>Step", "Step>Loop", "Loop>End"], id="as it should be"),
        pytest.param(loop(2), ["Loop>Step", "Step>Loop", "Loop[1]>End"], id="version 2"),
        pytest.param(loop(1), ["Loop>Step", "Step>Loop"], id="version 1"),
        pytest.param(loop(), ["Loop[1]>Loop", "Loop>End"], id="back without a step"),
        pytest.param(loop(), ["Loop[1]>Step", "Step>Inner", "Inner>Loop", "Inner>End"], id="end from inside"),
        pytest.param(loop(), [], id="not finished"),
        pytest.param(loop(disabled=True), ["Loop>Step"], id="switched off"),
        pytest.param(loop("three"), ["Loop>Step"], id="strange version"),
    ],
)
def test_a_good_loop_is_left_alone(nodes: list[Node], links: list[str]) -> None:
    assert "unclosedLoop" not in {one.kind for one in graph_problems(nodes, "Hook>Loop", *links)}


def test_a_loop_in_a_loop_is_left_alone() -> None:
    nodes = [HOOK, node("Out", "splitInBatches", 3), node("In", "splitInBatches", 3), node("Step")]

    found = graph_problems(nodes, "Hook>Out", "Out[1]>In", "In[1]>Step", "Step>In", "In>Out")

    assert found == []
