"""What the checks say of a workflow without any source of node types."""

from typing import Any

from dogubako.packs.n8n.nodes.graph import check_graph
from dogubako.packs.n8n.nodes.problems import Problem
from dogubako.packs.n8n.triggers import is_trigger_name

Node = dict[str, Any]


def node(name: str, kind: str = "noOp", version: float = 1, /, **more: Any) -> Node:
    """A node; `parameters` and other keys of it may be given."""
    kind = kind if "." in kind else f"n8n-nodes-base.{kind}"
    return {"name": name, "type": kind, "typeVersion": version, "position": [0, 0], "parameters": {}, **more}


def wires(*links: str) -> dict[str, Any]:
    """`A>B` leads from A to B, `A[1]>B` from its second output."""
    made: dict[str, Any] = {}
    for source, target in (link.split(">") for link in links):
        name, _, output = source.removesuffix("]").partition("[")
        outputs = made.setdefault(name, {"main": []})["main"]
        number = int(output or 0)
        outputs += [[] for _ in range(number + 1 - len(outputs))]
        outputs[number].append({"node": target, "type": "main", "index": 0})
    return made


def graph_problems(nodes: list[Node], *links: str) -> list[Problem]:
    workflow = {"nodes": nodes, "connections": wires(*links)}
    return list(check_graph(workflow, nodes, lambda one: is_trigger_name(str(one["type"])), lambda _: None))


def kinds(problems: list[Problem]) -> list[tuple[str, bool]]:
    return [(one.kind, one.certain) for one in problems]
