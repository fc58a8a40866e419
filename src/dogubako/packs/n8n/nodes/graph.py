"""Check how the nodes of a workflow are joined: names, connections, what starts it, what nothing reaches."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from dogubako.packs.n8n.formatters.workflow import connections
from dogubako.packs.n8n.nodes.descriptions import NodeDescription
from dogubako.packs.n8n.nodes.problems import Problem, near_names, quoted
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
    if not _well_formed(workflow.get("connections")):
        shape = "{'A': {'main': [[{'node': 'B', 'type': 'main', 'index': 0}]]}}"
        yield Problem(kind="wrongShape", path="connections", message=f"'connections' has to be like {shape}.")
        return
    links = list(connections(workflow))
    yield from _unknown_ends(links, names)
    yield from check_wiring(workflow, nodes, described)
    yield from _loose_ends(nodes, links, is_trigger)


def _well_formed(written: Any) -> bool:
    """From node to channels, from a channel to outputs, from an output to links."""
    if written is None:
        return True
    channels = [one for one in written.values() if one] if isinstance(written, Mapping) else [None]
    outputs = [
        one for channel in channels for one in (channel.values() if isinstance(channel, Mapping) else [0]) if one
    ]
    links = [one for output in outputs for one in (output if isinstance(output, list) else [0]) if one]
    return all(isinstance(one, list) and all(isinstance(link, Mapping) for link in one) for one in links)


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
    for node in working:
        name = node.get("name")
        if name not in reached | serving and not node.get("disabled") and not is_trigger(node):
            message = f"Nothing leads to {quoted(str(name))}, so it never runs."
            yield Problem(kind="unconnectedNode", node=str(name), message=message, certain=False)
