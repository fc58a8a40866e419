"""Faults in the wiring: they need a workflow of their own shape."""

from collections.abc import Sequence
from dataclasses import dataclass

from dogubako_sandbox.n8n.workflow_parts import JsonObject, Wire, chain, code, condition, node, pass_on

from .failing_kinds import each, good, rows
from .fault import START, Truth, Words, expression_set


@dataclass(frozen=True, kw_only=True)
class Whole:
    """All nodes but the trigger, which leads to the first of them."""

    kind: str
    nodes: Sequence[JsonObject]
    wires: Sequence[Wire]
    truth: Truth


def one_way(w: Words) -> Whole:
    state, wanted = ("承認", "承認済") if w.checking else ("Approved", "approved")
    fork = node(
        w.name("culprit"), "if", 2.2, condition(f"={{{{ $json.{w.field} }}}}", "equals", kind="string", right=wanted)
    )
    nodes = [
        rows(w, {w.field: state}, {w.field: state}),
        fork,
        expression_set(w.name("victim"), {"x": "1"}),
        pass_on(w.steps[1]),
    ]
    wires = [
        *chain(w.name("source"), w.name("culprit"), w.name("victim")),
        Wire(w.name("culprit"), w.steps[1], output=1),
    ]
    truth = Truth(cause=w.name("culprit"), failing=None, says=(state, wanted, w.name("victim")))
    return Whole(kind="branch that always goes one way", nodes=nodes, wires=wires, truth=truth)


def no_case(w: Words) -> Whole:
    values = ("甲", "乙") if w.checking else ("gold", "silver")
    rules = [
        {
            "conditions": condition(f"={{{{ $json.{w.field} }}}}", "equals", kind="string", right=one)["conditions"],
            "renameOutput": False,
        }
        for one in values
    ]
    fork = node(w.name("culprit"), "switch", 3.2, {"rules": {"values": rules}, "options": {}})
    nodes = [rows(w, {w.field: "bronze"}), fork, pass_on(w.name("victim")), pass_on(w.steps[1])]
    wires = [
        *chain(w.name("source"), w.name("culprit"), w.name("victim")),
        Wire(w.name("culprit"), w.steps[1], output=1),
    ]
    truth = Truth(cause=w.name("culprit"), failing=None, says=("bronze", w.name("victim")))
    return Whole(kind="switch without a fitting case", nodes=nodes, wires=wires, truth=truth)


def keys_do_not_match(w: Words) -> Whole:
    other = "在庫表" if w.checking else "Read stock"
    left, right = ("1", 1) if not w.checking else ("ア-1", "ｱ-1")
    join = node(w.name("merge"), "merge", 3.1, {"mode": "combine", "fieldsToMatchString": "key", "options": {}})
    nodes = [
        rows(w, {"key": left}),
        rows(w, {"key": right}, name=other),
        join,
        expression_set(w.name("victim"), {"x": "1"}),
    ]
    wires = [
        *chain(w.name("source"), w.name("merge"), w.name("victim")),
        Wire(START, other),
        Wire(other, w.name("merge"), input=1),
    ]
    truth = Truth(cause=w.name("merge"), failing=None, says=("key", w.name("victim")))
    return Whole(kind="merge whose keys do not match", nodes=nodes, wires=wires, truth=truth)


def node_that_did_not_run(w: Words) -> Whole:
    fork = node(w.name("culprit"), "if", 2.2, condition("={{ $json.keep }}", "true"))
    skipped = expression_set(w.steps[1], {"x": "1"})
    use = each(w, f"return {{ json: {{ text: $('{w.steps[1]}').first().json.x }} }};")
    nodes = [rows(w, good(w)), fork, use, skipped]
    wires = [
        *chain(w.name("source"), w.name("culprit"), w.name("victim")),
        Wire(w.name("culprit"), w.steps[1], output=1),
    ]
    truth = Truth(cause=None, failing=w.name("victim"), says=(w.steps[1], "not run"))
    return Whole(kind="reference to a node that did not run", nodes=nodes, wires=wires, truth=truth)


def merge_lost_side(w: Words) -> Whole:
    other = "在庫表" if w.checking else "Read stock"
    join = node(w.name("merge"), "merge", 3.1, {"mode": "append"})
    nodes = [rows(w, good(w)), code(other, "return [];"), join, pass_on(w.steps[2])]
    wires = [
        *chain(w.name("source"), w.name("merge"), w.steps[2]),
        Wire(START, other),
        Wire(other, w.name("merge"), input=1),
    ]
    truth = Truth(cause=other, failing=None, says=(other, w.name("merge")))
    return Whole(kind="merge that lost a side", nodes=nodes, wires=wires, truth=truth)


def nested_loop(w: Words, *, reset: bool = True) -> Whole:
    """Orders in a loop, their lines in another; the third line of the second order has no price."""
    lines = "[{ price: { net: 1 } }, { price: { net: 2 } }, { price: $json.number === 2 ? null : { net: 3 } }]"
    outer, inner = ("外の輪", "内の輪") if w.checking else ("Each order", "Each line")
    options = {"reset": f"={{{{ $node['{inner}'].context['done'] }}}}"} if reset else {}
    nodes = [
        rows(w, good(w), good(w)),
        node(outer, "splitInBatches", 3, {"batchSize": 1, "options": {}}),
        each(w, f"return {{ json: {{ ...$json, lines: {lines} }} }};", "culprit"),
        node("行に分ける" if w.checking else "Split lines", "splitOut", 1, {"fieldToSplitOut": "lines", "options": {}}),
        node(inner, "splitInBatches", 3, {"batchSize": 1, "options": options}),
        each(w, "return { json: { net: $json.price.net } };"),
        pass_on(w.steps[2]),
    ]
    split = nodes[3]["name"]
    wires = [
        *chain(w.name("source"), outer, w.steps[2]),
        Wire(outer, w.name("culprit"), output=1),
        *chain(w.name("culprit"), split, inner, outer),
        Wire(inner, w.name("victim"), output=1),
        Wire(w.name("victim"), inner),
    ]
    if not reset:
        truth = Truth(cause=inner, failing=None, says=("reset",))
        return Whole(kind="nested loop without reset", nodes=nodes, wires=wires, truth=truth)
    truth = Truth(cause=w.name("culprit"), failing=w.name("victim"), says=("price", "null"))
    return Whole(kind="null in a nested loop", nodes=nodes, wires=wires, truth=truth)


def nested_loop_without_reset(w: Words) -> Whole:
    return nested_loop(w, reset=False)


WHOLE = (
    one_way,
    no_case,
    keys_do_not_match,
    node_that_did_not_run,
    merge_lost_side,
    nested_loop,
    nested_loop_without_reset,
)
