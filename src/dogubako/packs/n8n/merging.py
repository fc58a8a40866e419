"""Three-way merge of workflows: what two sides changed since the version that both of them had read."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeGuard

JsonObject = dict[str, Any]

_ABSENT: Final = object()
# What can hold a boolean, be one, or equal one.
_COMPARED: Final = frozenset({dict, list, bool, int, float})
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
    # The other side removed it, or gave it another name.
    gone: bool = False


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON. In Python, true equals 1; in JSON it does not."""
    if one is other or one != other:
        return one is other
    # They are equal, so only their booleans are left to compare. A text or a null has none.
    left = [(one, other)]
    while left:
        one, other = left.pop()
        if isinstance(one, dict):
            left += [(value, other[key]) for key, value in one.items() if value.__class__ in _COMPARED]
        elif isinstance(one, list):
            left += [pair for pair in zip(one, other, strict=True) if pair[0].__class__ in _COMPARED]
        elif isinstance(one, bool) is not isinstance(other, bool):
            return False
    return True


def merge(base: JsonObject, theirs: JsonObject, ours: JsonObject) -> tuple[JsonObject, list[Clash]]:
    """Both sides' changes in one content, and the places where they touch."""
    clashes = [
        *_renamed_apart(base, theirs, ours),
        *_replaced_below(base, theirs, ours),
        *_rewired_apart(base, theirs, ours),
    ]
    both = _merge("", normal_form(base), normal_form(theirs), normal_form(ours), clashes)
    content = _content(both)
    if not clashes:
        clashes += _loose_ends(content, base, theirs)
    return {**theirs, **content}, clashes


def _renamed_apart(base: JsonObject, theirs: JsonObject, ours: JsonObject) -> Iterator[Clash]:
    """Nodes that one side renamed, and the other removed or renamed otherwise: names alone do not show that."""
    was, other, own = (names_by_id(one) for one in (base, theirs, ours))
    for number, name in was.items():
        left, right = other.get(number), own.get(number)
        if left != right and name not in (left, right):
            yield Clash(f"nodes.{name}", None, gone=True) if left is None else Clash(f"nodes.{name}.name", left)


def _replaced_below(base: JsonObject, theirs: JsonObject, ours: JsonObject) -> Iterator[Clash]:
    """Nodes that we changed, and whose name another node has now: the change would be made to that one."""
    was, other, own = ({str(one.get("name")): one for one in _nodes(side)} for side in (base, theirs, ours))
    for name, node in was.items():
        there = other.get(name)
        if there is None or there.get("id") == node.get("id") or not (there.get("id") and node.get("id")):
            continue
        if not is_same(own.get(name), node):
            yield Clash(f"nodes.{name}", None, gone=True)


def _nodes(workflow: Mapping[str, Any]) -> list[JsonObject]:
    nodes = workflow.get("nodes")
    return nodes if is_list_of_objects(nodes) else []


def names_by_id(workflow: Mapping[str, Any]) -> dict[str, str]:
    """The names of the nodes that have an id."""
    return {one["id"]: str(one.get("name")) for one in _nodes(workflow) if isinstance(one.get("id"), str)}


def _rewired_apart(base: JsonObject, theirs: JsonObject, ours: JsonObject) -> Iterator[Clash]:
    """Connections that both sides took away, and for which one of them put something else in place."""
    was, other, own = (set(edges(_connections(one))) for one in (base, theirs, ours))
    for edge in was - other - own:
        left, right = (
            {one for one in side - was if one[:3] == edge[:3] or one[3:] == edge[3:]} for side in (other, own)
        )
        if left != right:
            targets = sorted(one.target for one in left if one.source == edge.source)
            yield Clash(f"connections.{edge.source} → {edge.target}", targets, gone=not targets)


def _connections(workflow: Mapping[str, Any]) -> Mapping[str, Any]:
    held = workflow.get("connections")
    return held if isinstance(held, Mapping) else {}


def _loose_ends(content: JsonObject, base: JsonObject, theirs: JsonObject) -> Iterator[Clash]:
    """Connections of one side with nodes that the other side removed."""
    names = {str(one.get("name")) for one in content.get("nodes") or ()}
    there = {str(one.get("name")) for one in _nodes(theirs)}
    new = set(edges(_connections(theirs))) - set(edges(_connections(base)))
    ends = {end for edge in edges(_connections(content)) for end in (edge.source, edge.target)}
    for name in sorted(ends - names):
        if name not in there:
            yield Clash(f"nodes.{name}", None, gone=True)
            continue
        # We removed the node, and they have connected it.
        for edge in sorted(one for one in new if name in (one.source, one.target)):
            yield Clash(f"connections.{_name(edge)}", "connected")


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
    if is_same(ours, base) or is_same(ours, theirs):
        return theirs
    if is_same(theirs, base):
        return ours
    if not all(isinstance(one, Mapping) for one in (base, theirs, ours)):
        gone = theirs is _ABSENT
        clashes.append(Clash(path, None if gone else theirs, gone))
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
