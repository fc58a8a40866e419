"""Check loops: circles of connections that never end, and Loop Over Items nodes whose way back is wired wrongly.

A circle of nodes that all hand their items on keeps n8n busy until its memory is full, and every workflow stops.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from dogubako.packs.n8n.nodes.channels import MAIN
from dogubako.packs.n8n.nodes.problems import Problem, parameters_of, quoted
from dogubako.packs.n8n.nodes.runtime_checks import reached_from

JsonObject = Mapping[str, Any]
# The nodes behind each output of a node.
Followers = Mapping[str, Mapping[int, Sequence[str]]]

_BASE: Final = "n8n-nodes-base."
# They give out at least one item for what they get, whatever the data is.
_HAND_ON: Final = frozenset(_BASE + one for one in ("noOp", "set", "renameKeys"))
_LIMIT: Final = f"{_BASE}limit"
# They give out items too, and may fail before.
_MAY_FAIL: Final = frozenset(_BASE + one for one in ("aggregate", "crypto", "dateTime", "html", "markdown", "sort"))
_IF: Final = f"{_BASE}if"
_LOOP: Final = f"{_BASE}splitInBatches"
_ERROR_OUTPUT: Final = "continueErrorOutput"
_MOST_SHOWN: Final = 5


def check_loops(nodes: Sequence[JsonObject], links: Sequence[JsonObject]) -> Iterator[Problem]:
    followers = _followers(links)
    yield from _endless(nodes, followers)
    for node in nodes:
        if node.get("type") == _LOOP and not node.get("disabled"):
            yield from _way_back(node, followers, links)


def _followers(links: Sequence[JsonObject]) -> Followers:
    found: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for link in links:
        if link["type"] == MAIN:
            found[str(link["from"])][link["output"]].append(str(link["to"]))
    return found


def _endless(nodes: Sequence[JsonObject], followers: Followers) -> Iterator[Problem]:
    """Circles that items enter and cannot leave."""
    caught = _caught(nodes, followers)
    harmful = {str(node.get("name")) for node in nodes if node.get("disabled") or _hands_on(node)}
    failing = {str(node.get("name")) for node in nodes if not node.get("disabled") and _may_fail(node)}
    told: set[str] = set()
    for name in caught:
        circle = _circle(name, followers, caught)
        entered = any(
            target in circle
            for source, outputs in followers.items()
            if source not in circle
            for targets in outputs.values()
            for target in targets
        )
        if not entered or not told.isdisjoint(circle):
            continue
        told.update(circle)
        yield _endless_circle(circle, certain=harmful.issuperset(circle), may_fail=not failing.isdisjoint(circle))


def _caught(nodes: Sequence[JsonObject], followers: Followers) -> dict[str, Sequence[int]]:
    """The nodes from which every way leads on for ever, and the outputs that their items take."""
    caught = {str(node.get("name")): outputs for node in nodes if (outputs := _outputs_taken(node))}
    while leaving := [
        name
        for name, outputs in caught.items()
        if not all(any(one in caught for one in followers.get(name, {}).get(output, ())) for output in outputs)
    ]:
        for name in leaving:
            del caught[name]
    return caught


def _outputs_taken(node: JsonObject) -> Sequence[int]:
    """The outputs of which at least one gets items; none if items may end in the node."""
    if node.get("disabled"):
        return (0,)
    if node.get("onError") == _ERROR_OUTPUT:
        return ()
    kind = str(node.get("type"))
    return (0, 1) if kind == _IF else (0,) if _hands_on(node) or kind in _MAY_FAIL else ()


def _hands_on(node: JsonObject) -> bool:
    """Whether a node gives out at least one item for what it gets, if it does not fail."""
    if node.get("type") == _LIMIT:
        most = parameters_of(node).get("maxItems", 1)
        return isinstance(most, int) and most >= 1
    return node.get("type") in _HAND_ON


def _may_fail(node: JsonObject) -> bool:
    """Whether a node may end the circle with an error: by what it does, or by an expression."""
    return node.get("type") in _MAY_FAIL or "={{" in str(parameters_of(node)).replace(" ", "")


def _circle(start: str, followers: Followers, caught: Mapping[str, Sequence[int]]) -> list[str]:
    way = [start]
    while True:
        behind = followers[way[-1]][caught[way[-1]][0]]
        following = next(one for one in behind if one in caught)
        if following in way:
            return way[way.index(following) :]
        way.append(following)


def _endless_circle(circle: Sequence[str], *, certain: bool, may_fail: bool) -> Problem:
    shown = " → ".join([*circle[:_MOST_SHOWN], *(["…"] if len(circle) > _MOST_SHOWN else []), circle[0]])
    ends = "ends only if one of its nodes fails" if may_fail else "never ends"
    message = f"The circle {shown[:300]} {ends}, because no node of it lets items out."
    message += " Until then it blocks n8n, and n8n ends when its memory is full." if certain else ""
    message += " Add an If node with a way out, or a Loop Over Items node."
    return Problem(kind="endlessLoop", node=circle[0], path="connections", message=message, certain=certain)


def _way_back(node: JsonObject, followers: Followers, links: Sequence[JsonObject]) -> Iterator[Problem]:
    """A Loop Over Items node gives out its next items only when something leads back to it."""
    name, version = str(node.get("name")), node.get("typeVersion", 1)
    if not isinstance(version, int | float):
        return
    loop, done = (1, 0) if version >= 3 else (0, 1)
    behind = followers.get(name, {})
    rounds, ending = behind.get(loop, ()), behind.get(done, ()) if version >= 2 else ()
    if name in reached_from(rounds, links):
        return
    if name in reached_from(ending, links):
        message = (
            f"The way back to {quoted(name)} starts at output {done} (done), and has to start at {loop} (loop): "
            "the nodes of the loop never run."
        )
    elif rounds:
        message = f"Nothing leads back to {quoted(name)} from its output {loop} (loop)"
        message += f": it gives out only its first items{', and nothing at done' if ending else ''}."
    elif ending:
        message = (
            f"Output {loop} (loop) of {quoted(name)} leads to nothing, so output {done} (done) gives out nothing. "
            f"The nodes for each round belong behind {loop}, and the last one leads back to {quoted(name)}."
        )
    else:
        return
    yield Problem(kind="unclosedLoop", node=name, path=f"output {loop}", message=message, certain=False)
