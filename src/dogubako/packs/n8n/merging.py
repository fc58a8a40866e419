"""Three-way merge of workflows: what two sides changed since the version that both of them had read."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeGuard

JsonObject = dict[str, Any]

_ABSENT: Final = object()
# The parts that people edit. n8n keeps running data, such as static data, beside them.
CONTENT: Final = ("name", "nodes", "connections", "settings", "pinData", "nodeGroups", "description")


class Edge(NamedTuple):
    """One connection, as a key."""

    source: str
    type: str
    output: int
    target: str
    input: int


class Clash(NamedTuple):
    """A place that both sides changed, with what the other side made of it."""

    path: str
    theirs: Any


def merge(base: JsonObject, theirs: JsonObject, ours: JsonObject) -> tuple[JsonObject, list[Clash]]:
    """Both sides' changes in one content, and the places where they touch."""
    clashes: list[Clash] = []
    both = _merge("", normal_form(base), normal_form(theirs), normal_form(ours), clashes)
    return {**theirs, **_content(both)}, clashes


def normal_form(workflow: Mapping[str, Any]) -> JsonObject:
    """The content with nodes by name and connections as a set, so that their order does not matter."""
    form = {key: workflow[key] for key in CONTENT if workflow.get(key) is not None}
    nodes = form.get("nodes")
    if is_list_of_objects(nodes):
        form["nodes"] = by_name(nodes)
    if isinstance(form.get("connections"), Mapping):
        form["connections"] = dict.fromkeys(edges(form["connections"]), True)
    return form


def by_name(nodes: Iterable[Mapping[str, Any]]) -> JsonObject:
    """Nodes by name. Old workflows may have a name twice; the second has its id beside it."""
    named: JsonObject = {}
    for node in nodes:
        name = str(node.get("name"))
        named[name if name not in named else f"{name} ({node.get('id')})"] = node
    return named


def is_list_of_objects(value: Any) -> TypeGuard[list[JsonObject]]:
    return isinstance(value, list) and all(isinstance(one, Mapping) for one in value)


def edges(connections: Mapping[str, Any]) -> Iterator[Edge]:
    """Every connection. What is not shaped as n8n shapes it is left out."""
    for source, channels in connections.items():
        for channel, outputs in channels.items() if isinstance(channels, Mapping) else ():
            for output, links in enumerate(outputs if isinstance(outputs, list) else ()):
                for link in links if isinstance(links, list) else ():
                    if isinstance(link, Mapping) and isinstance(link.get("node"), str):
                        index = link.get("index")
                        yield Edge(source, channel, output, link["node"], index if isinstance(index, int) else 0)


def wired(every: Iterable[Edge]) -> JsonObject:
    """n8n's form of connections: source, type, and one list of targets per output."""
    connections: JsonObject = {}
    for edge in every:
        outputs = connections.setdefault(edge.source, {}).setdefault(edge.type, [])
        outputs.extend([] for _ in range(edge.output + 1 - len(outputs)))
        outputs[edge.output].append({"node": edge.target, "type": edge.type, "index": edge.input})
    return connections


def _merge(path: str, base: Any, theirs: Any, ours: Any, clashes: list[Clash]) -> Any:
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    if not all(isinstance(one, Mapping) for one in (base, theirs, ours)):
        clashes.append(Clash(path, None if theirs is _ABSENT else theirs))
        return theirs
    merged = {}
    for key in {**theirs, **ours}:
        below = f"{path}.{_name(key)}" if path else _name(key)
        was, other, own = (one.get(key, _ABSENT) for one in (base, theirs, ours))
        value = _merge(below, was, other, own, clashes)
        if value is not _ABSENT:
            merged[key] = value
    return merged


def _name(key: Any) -> str:
    return f"{key.source} → {key.target}" if isinstance(key, Edge) else str(key)


def _content(form: JsonObject) -> JsonObject:
    content = dict(form)
    if isinstance(nodes := content.get("nodes"), Mapping):
        content["nodes"] = list(nodes.values())
    if isinstance(connections := content.get("connections"), Mapping):
        content["connections"] = wired(connections)
    return content
