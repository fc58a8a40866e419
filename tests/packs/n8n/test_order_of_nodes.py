"""A node that reads another one before that can have run is told; one that may have run is not."""

import pytest

from dogubako.packs.n8n.nodes.graph import check_graph
from dogubako.packs.n8n.triggers import is_trigger_name
from dogubako_sandbox.n8n.workflow_parts import JsonObject


def told(reading: str, *pairs: str, kind: str = "n8n-nodes-base.set") -> list[tuple[str | None, str | None]]:
    """What is told of a workflow in which 'A' reads by this text; `A>B` leads from A to B."""
    names = dict.fromkeys(name for pair in pairs for name in pair.split(">"))
    nodes: list[JsonObject] = [
        {"name": name, "type": f"n8n-nodes-base.{'manualTrigger' if name == 'T' else 'noOp'}", "parameters": {}}
        for name in names
    ]
    key = "jsCode" if kind.endswith("code") else "value"
    nodes = [{**one, "type": kind, "parameters": {key: reading}} if one["name"] == "A" else one for one in nodes]
    connections: JsonObject = {}
    for source, target in (pair.split(">") for pair in pairs):
        outputs = connections.setdefault(source, {"main": [[]]})
        outputs["main"][0].append({"node": target, "type": "main", "index": 0})
    workflow = {"nodes": nodes, "connections": connections}
    found = check_graph(workflow, nodes, lambda node: is_trigger_name(str(node["type"])), lambda _: None)
    return [(one.node, one.path) for one in found if one.kind == "laterNode"]


@pytest.mark.parametrize(
    "reading", ["={{ $('B').item.json.x }}", "={{ $node['B'].json.x }}", "=Hello {{ $('B').first().json.x }}"]
)
def test_a_node_that_reads_what_follows_it_is_told(reading: str) -> None:
    assert told(reading, "T>A", "A>B") == [("A", "value")]
    assert told(reading, "T>A", "A>X", "X>B") == [("A", "value")]


def test_code_is_read_too() -> None:
    assert told("return $('B').all();", "T>A", "A>B", kind="n8n-nodes-base.code") == [("A", "jsCode")]


@pytest.mark.parametrize(
    ("reading", "pairs"),
    [
        pytest.param("={{ $('B').item.json.x }}", ("T>B", "B>A"), id="before"),
        pytest.param("={{ $('B').first().json.x }}", ("T>B", "T>A"), id="beside"),
        pytest.param("={{ $('B').first().json.x }}", ("T>B", "T>A", "A>B"), id="behind and beside"),
        pytest.param("={{ $('B').first().json.x }}", ("T>A", "A>B", "B>A"), id="the round before"),
        pytest.param("={{ $('B').isExecuted ? $('B').first().json.x : 1 }}", ("T>A", "A>B"), id="asks first"),
        pytest.param("$('B').item.json.x", ("T>A", "A>B"), id="plain text"),
        pytest.param("={{ `$('B')` }}", ("T>A", "A>B"), id="text of a template"),
    ],
)
def test_a_node_that_may_have_run_is_not_told(reading: str, pairs: tuple[str, ...]) -> None:
    assert told(reading, *pairs) == []
