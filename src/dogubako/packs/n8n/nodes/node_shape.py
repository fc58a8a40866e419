"""Check what a node has beside its parameters: its name, its keys, what it does after an error."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from dogubako.packs.n8n.nodes.problems import Problem, near_names, quoted

JsonObject = Mapping[str, Any]

# What the public API takes; it refuses a workflow with any other key.
NODE_KEYS: Final = frozenset(
    """
    alwaysOutputData continueOnFail createdAt credentials customTelemetryTags disabled executeOnce id maxTries name
    notes notesInFlow onError parameters position retryOnFail type typeVersion updatedAt waitBetweenTries webhookId
    """.split()  # noqa: SIM905 - a list of names reads best so
)
_AFTER_ERRORS: Final = ("stopWorkflow", "continueRegularOutput", "continueErrorOutput")


def check_new_nodes(nodes: Sequence[JsonObject]) -> Iterator[Problem]:
    """Nodes that n8n would not save: without a name, or with keys that it does not take."""
    for number, node in enumerate(nodes):
        name = node.get("name")
        if not isinstance(name, str) or not name:
            yield Problem(kind="wrongShape", path=f"nodes[{number}].name", message=f"nodes[{number}] has no name.")
        for key in node:
            if key not in NODE_KEYS:
                message = f"n8n saves no node with {quoted(str(key))}."
                near = near_names(str(key), NODE_KEYS)
                yield Problem(kind="wrongShape", path=str(key), message=message, near=near).of(str(name or ""))


def check_node_shape(node: JsonObject) -> Iterator[Problem]:
    """Parameters that are no object, and a way to go on after errors that n8n does not have."""
    if not isinstance(node.get("parameters"), Mapping | None):
        yield Problem(kind="wrongShape", path="parameters", message="'parameters' has to be an object.")
    chosen = node.get("onError")
    if isinstance(chosen, str) and chosen and chosen not in _AFTER_ERRORS:
        message = f"n8n does not know this 'onError', and stops. It may be: {', '.join(_AFTER_ERRORS)}."
        near = tuple(one for one in _AFTER_ERRORS if one.lower().startswith(chosen.lower()))
        yield Problem(
            kind="unknownOption", path="onError", message=message, near=near or near_names(chosen, _AFTER_ERRORS)
        )
