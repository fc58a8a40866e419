"""Check what a node has beside its parameters: its name, its keys, what it does after an error."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

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


class _Kind(NamedTuple):
    """What the value of a key has to be."""

    words: str
    fits: Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_place(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and all(map(_is_number, value))


_SWITCH: Final = _Kind("true or false", lambda value: isinstance(value, bool))
_NUMBER: Final = _Kind("a number", _is_number)
_TEXT: Final = _Kind("a text", lambda value: isinstance(value, str))
_OBJECT: Final = _Kind("an object", lambda value: isinstance(value, Mapping))
# n8n takes null for none of them.
_VALUES: Final[Mapping[str, _Kind]] = {
    **dict.fromkeys(
        ("alwaysOutputData", "continueOnFail", "disabled", "executeOnce", "notesInFlow", "retryOnFail"), _SWITCH
    ),
    **dict.fromkeys(("maxTries", "waitBetweenTries"), _NUMBER),
    **dict.fromkeys(("id", "notes", "onError", "type", "webhookId"), _TEXT),
    **dict.fromkeys(("credentials", "customTelemetryTags", "parameters"), _OBJECT),
    "position": _Kind("a list of two numbers, like [240, 300]", _is_place),
}


def check_new_nodes(nodes: Sequence[JsonObject]) -> Iterator[Problem]:
    """Nodes that n8n would not save: without a name or a place, or with keys that it does not take."""
    for number, node in enumerate(nodes):
        name = node.get("name")
        if not isinstance(name, str) or not name:
            yield Problem(kind="notSaved", path=f"nodes[{number}].name", message=f"nodes[{number}] has no name.")
        if "position" not in node:
            message = "n8n saves no node without 'position': two numbers, like [240, 300]."
            yield Problem(kind="notSaved", path="position", message=message).of(str(name or ""))
        for key in node:
            if key not in NODE_KEYS:
                message = f"n8n saves no node with {quoted(str(key))}."
                near = near_names(str(key), NODE_KEYS)
                yield Problem(kind="notSaved", path=str(key), message=message, near=near).of(str(name or ""))


def check_node_shape(node: JsonObject) -> Iterator[Problem]:
    """Values that n8n does not save in a node, and a way to go on after errors that it does not have."""
    for key, kind in _VALUES.items():
        if key in node and not kind.fits(node[key]):
            message = f"{quoted(key)} has to be {kind.words}: n8n does not save it."
            yield Problem(kind="notSaved", path=key, message=message)
    yield from _credentials(node)
    chosen = node.get("onError")
    if isinstance(chosen, str) and chosen and chosen not in _AFTER_ERRORS:
        message = f"n8n does not know this 'onError', and stops. It may be: {', '.join(_AFTER_ERRORS)}."
        near = tuple(one for one in _AFTER_ERRORS if one.lower().startswith(chosen.lower()))
        yield Problem(
            kind="unknownOption", path="onError", message=message, near=near or near_names(chosen, _AFTER_ERRORS)
        )


def _credentials(node: JsonObject) -> Iterator[Problem]:
    """Credentials that are no objects: n8n saves them, and fails when it runs the node."""
    used = node.get("credentials")
    for kind, reference in (used if isinstance(used, Mapping) else {}).items():
        if isinstance(reference, Mapping):
            continue
        path = f"credentials.{kind}"
        message = f"{quoted(path)} has to be {{id, name}}, as list_credentials tells them."
        yield Problem(kind="wrongShape", path=path, message=message, certain=not node.get("disabled"))
