"""Check how the nodes of a workflow are joined: names, connections, what starts it, what nothing reaches."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from dogubako.packs.n8n.formatters.workflow import connections
from dogubako.packs.n8n.nodes.descriptions import NodeDescription
from dogubako.packs.n8n.nodes.expressions import looked_up
from dogubako.packs.n8n.nodes.loops import check_loops
from dogubako.packs.n8n.nodes.problems import Problem, near_names, quoted
from dogubako.packs.n8n.nodes.runtime_checks import check_running, reached_from
from dogubako.packs.n8n.nodes.unused_logins import check_logins
from dogubako.packs.n8n.nodes.wiring import check_wiring

JsonObject = Mapping[str, Any]

_NOTES: Final = "n8n-nodes-base.stickyNote"
_MAIN: Final = "main"


def check_graph(
    workflow: JsonObject,
    nodes: Sequence[JsonObject],
    is_trigger: Callable[[JsonObject], bool],
    described: Callable[[JsonObject], NodeDescription | None],
) -> Iterator[Problem]:
    """Duplicate names, connections of nodes, outputs or inputs that are not there, nodes that nothing leads to."""
    names = [str(node.get("name")) for node in nodes]
    for name, count in Counter(names).items():
        if count > 1:
            message = f"{count} nodes have the name {quoted(name)}; connections would reach only one of them."
            yield Problem(kind="duplicateName", node=name, message=message)
    yield from _same_ids(nodes)
    if not _well_formed(workflow.get("connections")):
        shape = "{'A': {'main': [[{'node': 'B', 'type': 'main', 'index': 0}]]}}"
        yield Problem(kind="wrongShape", path="connections", message=f"'connections' has to be like {shape}.")
        return
    links = list(connections(workflow))
    yield from _unknown_ends(links, names)
    yield from check_wiring(workflow, nodes, described)
    yield from _loose_ends(nodes, links, is_trigger)
    yield from check_loops(nodes, links)
    yield from check_running(workflow, nodes)
    yield from check_logins(nodes)


def _same_ids(nodes: Sequence[JsonObject]) -> Iterator[Problem]:
    owners: dict[str, str] = {}
    for node in nodes:
        node_id, name = node.get("id"), str(node.get("name"))
        if isinstance(node_id, str) and node_id and owners.setdefault(node_id, name) != name:
            message = f"The node has the id of {quoted(owners[node_id])}: n8n saves no two nodes with one id."
            yield Problem(kind="notSaved", node=name, path="id", message=message)


def _well_formed(written: Any) -> bool:
    """From node to channels, from a channel to outputs, from an output to links. n8n writes null for none of them."""
    if written is None:
        return True
    if not isinstance(written, Mapping) or not all(isinstance(one, Mapping | None) for one in written.values()):
        return False
    channels = [outputs for one in written.values() for outputs in (one or {}).values()]
    if not all(isinstance(outputs, list | None) for outputs in channels):
        return False
    links = [links for outputs in channels for links in outputs or ()]
    return all(
        isinstance(one, list | None)
        and all(isinstance(link, Mapping) and isinstance(link.get("node"), str) for link in one or ())
        for one in links
    )


def _unknown_ends(links: Sequence[JsonObject], names: Sequence[str]) -> Iterator[Problem]:
    ends = dict.fromkeys(str(link[end]) for link in links for end in ("from", "to"))
    for name in ends:
        if name not in names:
            message = f"A connection names {quoted(name)}, which the workflow does not have."
            yield Problem(kind="unknownNode", path="connections", message=message, near=near_names(name, names))


def _loose_ends(
    nodes: Sequence[JsonObject], links: Sequence[JsonObject], is_trigger: Callable[[JsonObject], bool]
) -> Iterator[Problem]:
    working = [node for node in nodes if node.get("type") != _NOTES]
    if working and not any(is_trigger(node) for node in working):
        message = "No node starts the workflow: n8n does not publish it without a trigger."
        yield Problem(kind="noTrigger", message=message, certain=False)
        if len(working) == 1:
            return
    reached = {link["to"] for link in links if link["type"] == _MAIN}
    # A model, a memory or a tool leads to the node that uses it, over a channel of its own.
    serving = {link["from"] for link in links if link["type"] != _MAIN}
    starts = [node.get("name") for node in working if is_trigger(node)]
    for node in working:
        name = node.get("name")
        if name not in reached | serving and not node.get("disabled") and not is_trigger(node):
            starts.append(name)
            message = f"Nothing leads to {quoted(str(name))}, so it never runs."
            yield Problem(kind="unconnectedNode", node=str(name), message=message, certain=False)
    known = reached_from(starts, links)
    for node in working:
        name = node.get("name")
        if starts and name not in known | serving and not node.get("disabled"):
            message = f"Only nodes that never run lead to {quoted(str(name))}."
            yield Problem(kind="unconnectedNode", node=str(name), message=message, certain=False)
    yield from _looked_up_too_early(working, links, starts, serving)


def _looked_up_too_early(
    working: Sequence[JsonObject], links: Sequence[JsonObject], starts: Sequence[Any], serving: set[Any]
) -> Iterator[Problem]:
    """Nodes whose data are read before any can be there: every way to them leads through the node that reads them."""
    for node in working:
        name = node.get("name")
        read = dict.fromkeys(looked_up(node))
        if not read or name in serving or node.get("disabled"):
            continue
        behind = reached_from([link["to"] for link in links if link["from"] == name], links)
        before = reached_from((one for one in starts if one != name), [link for link in links if link["from"] != name])
        # In a loop it reads the round before.
        for path, other in read if name not in behind else ():
            if other in behind and other not in before:
                message = f"{quoted(path)} reads node {quoted(other)}, which runs only after this one."
                yield Problem(kind="laterNode", node=str(name), path=path, message=message, certain=False)
