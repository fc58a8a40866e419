"""Check that connections use outputs and inputs that their nodes have. n8n saves others and never follows them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from dogubako.packs.n8n.formatters.workflow import connections
from dogubako.packs.n8n.nodes.channels import MAIN, TOOL, TOOL_SUFFIX, offered_channel
from dogubako.packs.n8n.nodes.descriptions import NodeDescription
from dogubako.packs.n8n.nodes.problems import Problem, parameters_of, quoted

JsonObject = Mapping[str, Any]

_BASE: Final = "n8n-nodes-base."
_SWITCH: Final = f"{_BASE}switch"
_MERGE: Final = f"{_BASE}merge"
_SWITCH_NUMBERS_SINCE: Final = 3
_ONE_NUMBER: Final = re.compile(r"=\{\{\s*+(-?[0-9]{1,9})\s*+\}\}")
# Inputs and outputs of common nodes, the most of all their versions, for sources that do not tell them.
_COMMON: Final[Mapping[str, tuple[int, int]]] = {
    **dict.fromkeys(
        ("set", "code", "httpRequest", "noOp", "splitOut", "aggregate", "executeWorkflow", "wait", "dateTime"), (1, 1)
    ),
    **dict.fromkeys(("limit", "sort", "removeDuplicates", "summarize", "renameKeys", "html"), (1, 1)),
    **dict.fromkeys(("if", "splitInBatches"), (1, 2)),
    **dict.fromkeys(("formTrigger", "manualTrigger", "scheduleTrigger", "executeWorkflowTrigger"), (0, 1)),
    "stopAndError": (1, 0),
    "compareDatasets": (2, 4),
}


def check_wiring(
    workflow: JsonObject, nodes: Sequence[JsonObject], described: Callable[[JsonObject], NodeDescription | None]
) -> Iterator[Problem]:
    """Connections from an output, or to an input, that the node does not have."""
    yield from _outputs_chosen(nodes)
    yield from _half_merged(workflow, nodes)
    ends = {str(node.get("name")): _ends(node, described(node)) for node in nodes}
    named = {str(node.get("name")): node for node in nodes}
    for link in connections(workflow):
        if link["type"] != MAIN:
            yield from _other_channel(link, named, described)
            continue
        if (serving := _serving_end(link, named, described)) is not None:
            yield serving
            continue
        outputs, inputs = ends.get(str(link["from"]), (None, None))[1], ends.get(str(link["to"]), (None, None))[0]
        if outputs is not None and link["output"] >= outputs:
            yield _problem("output", link["output"], str(link["from"]), outputs)
        if inputs is not None and isinstance(link["input"], int) and link["input"] >= inputs:
            yield _problem("input", link["input"], str(link["to"]), inputs)


def _outputs_chosen(nodes: Sequence[JsonObject]) -> Iterator[Problem]:
    """Switch nodes that choose their output by an expression, which is a number that no output has."""
    for node in nodes:
        parameters, version = parameters_of(node), node.get("typeVersion", 1)
        chosen, count = _fixed_number(parameters.get("output")), _cases(parameters)
        old = not isinstance(version, int | float) or version < _SWITCH_NUMBERS_SINCE
        if node.get("type") != _SWITCH or node.get("disabled") or parameters.get("mode") != "expression" or old:
            continue
        if chosen is not None and count is not None and not 0 <= chosen < count:
            message = f"'output' is {chosen}, and the node has the outputs 0 to {count - 1}: n8n fails when it runs it."
            yield Problem(
                kind="unknownOutput", node=str(node.get("name")), path="output", message=message, certain=False
            )


def _fixed_number(value: Any) -> int | None:
    """`3` and `={{ 3 }}`, which are the same whatever the data is."""
    found = _ONE_NUMBER.fullmatch(value) if isinstance(value, str) else None
    if found is not None:
        return int(found[1])
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _half_merged(workflow: JsonObject, nodes: Sequence[JsonObject]) -> Iterator[Problem]:
    """Merge nodes that combine items of two inputs, of which only one is connected."""
    links = [link for link in connections(workflow) if link["type"] == MAIN and isinstance(link["input"], int)]
    for node in nodes:
        parameters, version = parameters_of(node), node.get("typeVersion", 1)
        if node.get("type") != _MERGE or node.get("disabled") or parameters.get("mode") != "combine":
            continue
        used = {link["input"] for link in links if link["to"] == node.get("name")}
        if len(used) == 1 and isinstance(version, int | float) and version >= 3 and _combines_pairs_only(parameters):
            (only,) = used
            message = f"Only input {only} of it is connected: it combines nothing, and gives no items."
            path = f"input {int(only == 0)}"
            yield Problem(kind="unconnectedNode", node=str(node.get("name")), path=path, message=message, certain=False)


def _combines_pairs_only(parameters: JsonObject) -> bool:
    """Whether the items of one input alone are dropped."""
    options = parameters.get("options")
    unpaired = isinstance(options, Mapping) and options.get("includeUnpaired")
    how = parameters.get("combineBy", "combineByFields")
    joined = how == "combineByFields" and parameters.get("joinMode", "keepMatches") == "keepMatches"
    return joined or how == "combineAll" or (how == "combineByPosition" and not unpaired)


def _serving_end(
    link: JsonObject, named: Mapping[str, JsonObject], described: Callable[[JsonObject], NodeDescription | None]
) -> Problem | None:
    """A tool, a model or the like that is connected as a step. n8n runs a tool so, but no agent can use it."""
    for name in (str(link["from"]), str(link["to"])):
        node = named.get(name, {})
        channel = _offer(node, described(node) if node else None)
        if channel != MAIN and not node.get("disabled"):
            message = (
                f"{quoted(name)} serves another node as {channel}, and is connected as main: "
                f"no agent can use it so. The connection has to be from it, of type {channel}."
            )
            end = "output" if name == link["from"] else "input"
            return Problem(kind="unknownOutput", node=name, path=f"{end} {MAIN}", message=message, certain=False)
    return None


def _offer(node: JsonObject, description: NodeDescription | None) -> str:
    outputs = description.outputs if description is not None else None
    if outputs is None:
        return offered_channel(node)
    return MAIN if MAIN in outputs or not outputs else outputs[0]


def _other_channel(
    link: JsonObject, named: Mapping[str, JsonObject], described: Callable[[JsonObject], NodeDescription | None]
) -> Iterator[Problem]:
    """A connection for a model, a memory or a tool, from a node that gives no such thing, or to one that takes none."""
    source, target, kind = str(link["from"]), str(link["to"]), str(link["type"])
    takes = described(named[target]) if target in named else None
    if takes is not None and takes.inputs is not None and kind not in takes.inputs:
        message = f"{quoted(target)} has no input of type {quoted(kind)}."
        yield Problem(kind="unknownInput", node=target, path=f"input {kind}", message=message, certain=False)
    description = described(named[source]) if source in named else None
    if description is not None and description.outputs is not None and kind not in description.outputs:
        has = ", ".join(dict.fromkeys(description.outputs)) or "none"
        message = f"{quoted(source)} has no output of type {quoted(kind)}. It has: {has}."
        if kind == TOOL and description.usable_as_tool:
            message += f" Its variant for agents has the type {description.type}{TOOL_SUFFIX}."
        yield Problem(kind="unknownOutput", node=source, path=f"output {kind}", message=message, certain=False)


def _problem(end: Literal["output", "input"], number: int, name: str, count: int) -> Problem:
    has = f"It has {count}, counted from 0." if count else "It has none."
    message = f"A connection uses {end} {number} of {quoted(name)}, which does not exist. {has}"
    return Problem(
        kind="unknownOutput" if end == "output" else "unknownInput", node=name, path=f"{end} {number}", message=message
    )


def _ends(node: JsonObject, description: NodeDescription | None) -> tuple[int | None, int | None]:
    """How many inputs and outputs a node has; None where that is not known."""
    kind = str(node.get("type")).removeprefix(_BASE)
    common = _COMMON.get(kind, (None, None))
    inputs, outputs = (_count(description.inputs), _count(description.outputs)) if description else (None, None)
    parameters = node.get("parameters")
    chosen_inputs, chosen_outputs = _chosen(kind, parameters if isinstance(parameters, Mapping) else {})
    inputs = inputs if inputs is not None else chosen_inputs if chosen_inputs is not None else common[0]
    outputs = outputs if outputs is not None else chosen_outputs if chosen_outputs is not None else common[1]
    if kind == "filter" and outputs is not None:
        # The items that it drops are an output that its description does not name.
        outputs = 2
    if outputs == 0 and _goes_on(node):
        # A node without an output, Stop and Error, has one when it goes on after an error.
        outputs = 1
    has_error_output = node.get("onError") == "continueErrorOutput"
    return inputs, outputs + has_error_output if outputs is not None else None


def _goes_on(node: JsonObject) -> bool:
    return node.get("onError") == "continueRegularOutput" or (
        "onError" not in node and node.get("continueOnFail") is True
    )


def _count(channels: Sequence[str] | None) -> int | None:
    return sum(one == MAIN for one in channels) if channels is not None else None


def _chosen(kind: str, parameters: JsonObject) -> tuple[int | None, int | None]:
    """Nodes whose parameters say how many inputs or outputs they have."""
    if kind == "merge":
        number = parameters.get("numberInputs", 2)
        return (number, 1) if isinstance(number, int) else (None, 1)
    if kind == "switch":
        return 1, _cases(parameters)
    if kind == "webhook":
        methods = parameters.get("httpMethod")
        return 0, len(methods) if isinstance(methods, list) else 1
    return None, None


def _cases(parameters: JsonObject) -> int | None:
    if parameters.get("mode") == "expression":
        number = parameters.get("numberOutputs", 4)
        return number if isinstance(number, int) else None
    rules, options = parameters.get("rules"), parameters.get("options")
    values = rules.get("values", rules.get("rules")) if isinstance(rules, Mapping) else None
    if not isinstance(values, list):
        return None
    # Older versions name the number of the output for all that fits nothing.
    fallback = options.get("fallbackOutput") if isinstance(options, Mapping) else None
    return None if "fallbackOutput" in parameters else len(values) + (fallback == "extra")
