"""Validate workflow bodies, with n8n's exact error messages."""

from collections.abc import Iterator, Mapping, Set
from typing import Any, Final

from dogubako_sandbox.n8n.request import RefusedError, check_word
from dogubako_sandbox.n8n.workflow_parts import JsonObject

_REQUIRED: Final = {"name": str, "nodes": list, "connections": dict, "settings": dict}
_OPTIONAL: Final = frozenset({"nodeGroups", "staticData", "pinData", "parentFolderId", "shared"})
# n8n sends these with every workflow and refuses them in a body.
_READ_ONLY: Final = frozenset(
    {
        "id",
        "active",
        "createdAt",
        "updatedAt",
        "isArchived",
        "versionId",
        "triggerCount",
        "meta",
        "tags",
        "activeVersion",
    }
)
_SETTINGS: Final[Mapping[str, type]] = {
    "saveExecutionProgress": bool,
    "saveManualExecutions": bool,
    "saveDataErrorExecution": str,
    "saveDataSuccessExecution": str,
    "executionTimeout": int,
    "errorWorkflow": str,
    "timezone": str,
    "executionOrder": str,
    "callerPolicy": str,
    "callerIds": str,
    "timeSavedPerExecution": int,
    "timeSavedMode": str,
    "credentialResolverId": str,
    "availableInMCP": bool,
    "binaryMode": str,
    "redactionPolicy": str,
    "customTelemetryTags": list,
}
_SETTING_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "timeSavedMode": ("fixed", "dynamic"),
    "binaryMode": ("separate", "combined"),
    "redactionPolicy": ("none", "non-manual", "manual-only", "all"),
}
_NODE_KEYS: Final = frozenset(
    {
        "id",
        "name",
        "webhookId",
        "disabled",
        "notes",
        "notesInFlow",
        "type",
        "typeVersion",
        "executeOnce",
        "alwaysOutputData",
        "retryOnFail",
        "maxTries",
        "waitBetweenTries",
        "continueOnFail",
        "onError",
        "position",
        "parameters",
        "credentials",
    }
)
_NODE_NEEDS: Final = ("name", "type", "position")
_JS_NAMES: Final[Mapping[type, str]] = {
    str: "string",
    list: "array",
    dict: "object",
    bool: "boolean",
    type(None): "null",
}


def check_new(body: Any) -> None:
    """A body for POST; only this one may name a project."""
    _check(body, _OPTIONAL | {"projectId"})


def check_update(body: Any) -> None:
    """A body for PUT; only this one may have a description."""
    _check(body, _OPTIONAL | {"description"})


def check_fields(body: Any, required: tuple[str, ...], read_only: Set[str], known: Set[str]) -> None:
    """Checks of every body: an object, no read-only fields, nothing missing, nothing unknown."""
    expect(body, dict, "request/body")
    for name in body:
        if name in read_only:
            raise RefusedError(400, f"request/body/{name} is read-only")
    for name in required:
        if name not in body:
            raise RefusedError(400, f"request/body must have required property '{name}'")
    _refuse_unknown("request/body", body, known)


def expect(value: Any, kind: type, place: str) -> None:
    """Check the type of a value. JSON has one kind of number, Python has two."""
    if not isinstance(value, kind) and not (kind is int and isinstance(value, float)):
        raise RefusedError(400, f"{place} Expected {_js_name(kind)}, received {_js_name(type(value))}")


def _check(body: Any, optional: Set[str]) -> None:
    expect(body, dict, "request/body")
    check_fields(body, tuple(_REQUIRED), _READ_ONLY, frozenset(body))
    if not isinstance(body["connections"], dict):
        raise RefusedError(400, "request/body/connections must be object")
    for name, kind in _REQUIRED.items():
        expect(body[name], kind, f"request/body/{name}")
    _check_nodes(body["nodes"])
    _check_settings(body["settings"])
    # The parts are checked before the whole: an unknown key is reported last.
    _refuse_unknown("request/body", body, optional | set(_REQUIRED))
    _check_structure(body)


def _check_nodes(nodes: list[Any]) -> None:
    for place, node in enumerate(nodes):
        expect(node, dict, f"request/body/nodes/{place}")
        _refuse_unknown(f"request/body/nodes/{place}", node, _NODE_KEYS)


def _check_settings(settings: JsonObject) -> None:
    for name, kind in _SETTINGS.items():
        if name in settings:
            expect(settings[name], kind, f"request/body/settings/{name}")
    for name, words in _SETTING_WORDS.items():
        if name in settings:
            check_word(settings[name], f"request/body/settings/{name}", words)
    _refuse_unknown("request/body/settings", settings, frozenset(_SETTINGS))


def _refuse_unknown(place: str, body: Mapping[str, Any], known: Set[str]) -> None:
    unknown = [f"'{name}'" for name in body if name not in known]
    if unknown:
        raise RefusedError(400, f"{place} Unrecognized key(s) in object: {', '.join(unknown)}")


def _check_structure(body: JsonObject) -> None:
    if not 0 < len(body["name"]) <= 128:
        raise RefusedError(400, "Workflow name must be 1 to 128 characters long.")
    # The connections are checked only if every node is valid.
    faults = list(_node_faults(body["nodes"])) or list(_connection_faults(body))
    if faults:
        raise RefusedError(400, f"Workflow structure is invalid. {'; '.join(faults)}")


def _node_faults(nodes: list[JsonObject]) -> Iterator[str]:
    names = [node.get("name") for node in nodes]
    for place, node in enumerate(nodes):
        yield from (f"nodes[{place}].{name} (invalid_type): Required" for name in _NODE_NEEDS if name not in node)
        if names[place] is not None and names[place] in names[:place]:
            yield f'nodes[{place}].name (duplicate_node_name): Duplicate node name "{names[place]}"'


def _connection_faults(body: JsonObject) -> Iterator[str]:
    names = {node["name"] for node in body["nodes"]}
    for source, kinds in body["connections"].items():
        if source not in names:
            reason = f'Connection source "{source}" does not reference an existing node'
            yield f"connections.{source} (unknown_connection_source): {reason}"
        for place, target in _targets(kinds):
            if target not in names:
                reason = f'Connection target "{target}" does not reference an existing node'
                yield f"connections.{source}.{place}.node (unknown_connection_target): {reason}"


def _targets(kinds: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every target with its place, as `main[0][0]`. An unconnected output may be null."""
    for kind, outputs in kinds.items():
        for output, wires in enumerate(outputs):
            for number, wire in enumerate(wires or ()):
                yield f"{kind}[{output}][{number}]", wire["node"]


def _js_name(kind: type) -> str:
    return _JS_NAMES.get(kind, "number")
