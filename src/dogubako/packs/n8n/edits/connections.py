"""The connections of a workflow that is being edited, as an ordered set."""

from collections.abc import Mapping
from typing import Any

from dogubako.packs.n8n.edits.operations import MOST_INDEX, Operation, WrongOperation
from dogubako.packs.n8n.merging import Edge, edges, wired


class Connections:
    """Connections between nodes by name. It does not know which nodes there are."""

    def __init__(self, connections: Mapping[str, Any]) -> None:
        self._before = connections
        # A dictionary as an ordered set.
        self._edges: dict[Edge, None] = dict.fromkeys(edges(connections))
        self._changed = False

    def as_json(self) -> Mapping[str, Any]:
        """n8n's form; what was not changed is returned as it came."""
        return wired(self._edges) if self._changed else self._before

    def add(self, edge: Edge) -> None:
        if edge in self._edges:
            raise WrongOperation("the nodes are already connected so")
        self._change({**self._edges, edge: None})

    def between(self, source: str, target: str, operation: Operation) -> Edge | None:
        """The connection that a new node takes the place of; None if the nodes are not connected so."""
        found = [edge for edge in self._matching(source, target, operation) if edge.type == "main"]
        if len(found) > 1:
            raise WrongOperation("several connections lead from one node to the other; name output and input")
        return found[0] if found else None

    def insert(self, direct: Edge, edge_in: Edge, edge_out: Edge) -> None:
        """Lead to a new node and from it, instead of directly."""
        self._change(dict.fromkeys([*(edge for edge in self._edges if edge != direct), edge_in, edge_out]))

    def find(self, source: str, target: str, operation: Operation) -> list[Edge]:
        """The connections between two nodes, narrowed by what the operation names."""
        found = [edge for edge in self._matching(source, target, operation) if operation.type in (None, edge.type)]
        if not found:
            raise WrongOperation("there is no such connection")
        return found

    def _matching(self, source: str, target: str, operation: Operation) -> list[Edge]:
        return [
            edge
            for edge in self._edges
            if (edge.source, edge.target) == (source, target)
            and operation.output in (None, edge.output)
            and operation.input in (None, edge.input)
        ]

    def remove(self, gone: list[Edge]) -> None:
        self._change({edge: None for edge in self._edges if edge not in gone})

    def replace(self, old: Edge, new: Edge) -> None:
        self._change(dict.fromkeys(new if edge == old else edge for edge in self._edges))

    def rename_node(self, old: str, new: str) -> None:
        def renamed(name: str) -> str:
            return new if name == old else name

        self._change(
            {edge._replace(source=renamed(edge.source), target=renamed(edge.target)): None for edge in self._edges}
        )

    def remove_node(self, name: str, *, rewire: bool) -> None:
        """Remove a node. With `rewire`, what led to it leads to what came after its first output."""
        main = [edge for edge in self._edges if edge.type == "main"]
        into = [edge for edge in main if edge.target == name != edge.source]
        out = [edge for edge in main if edge.source == name != edge.target and edge.output == 0]
        kept = [edge for edge in self._edges if name not in (edge.source, edge.target)]
        bridges = [
            Edge(before.source, "main", before.output, after.target, after.input) for before in into for after in out
        ]
        self._change(dict.fromkeys([*kept, *(bridges if rewire else ())]))

    def _change(self, now: dict[Edge, None]) -> None:
        self._changed = self._changed or now != self._edges
        self._edges = now


def new_ends(value: Any) -> dict[str, Any]:
    """The ends that `replaceConnection` changes."""
    if not isinstance(value, dict) or not value or any(_is_wrong(key, end) for key, end in value.items()):
        raise WrongOperation(f"value has the new ends: from, to, output (0 to {MOST_INDEX}) or input")
    return value


def _is_wrong(key: str, value: Any) -> bool:
    if key in ("from", "to"):
        return not isinstance(value, str)
    is_number = key in ("output", "input") and isinstance(value, int) and not isinstance(value, bool)
    return not is_number or not 0 <= value <= MOST_INDEX
