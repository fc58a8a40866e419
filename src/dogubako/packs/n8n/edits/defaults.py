"""What an operation leaves out is filled in: type names, versions, positions."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dogubako.packs.n8n.edits.operations import WrongOperation
from dogubako.packs.n8n.nodes.channels import LANGCHAIN, TOOL_SUFFIX
from dogubako.packs.n8n.nodes.descriptions import NewVersions

JsonObject = dict[str, Any]

_BASE: Final = "n8n-nodes-base."
# Versions that every n8n since 2.0 knows, for those that cannot be asked.
_VERSIONS: Final[Mapping[str, float]] = {
    **dict.fromkeys(
        """
        aggregate crypto errorTrigger executionData extractFromFile form limit manualTrigger markdown n8n noOp
        readWriteFile renameKeys sort splitOut stickyNote stopAndError xml
        """.split(),  # noqa: SIM905 - a list of names reads best so
        1,
    ),
    "code": 2,
    "compareDatasets": 2.3,
    "convertToFile": 1.1,
    "dataTable": 1,
    "dateTime": 2,
    "discord": 2,
    "emailSend": 2.1,
    "executeWorkflow": 1.2,
    "executeWorkflowTrigger": 1.1,
    "filter": 2.2,
    "formTrigger": 2.2,
    "gmail": 2.1,
    "googleSheets": 4.5,
    "html": 1.2,
    "httpRequest": 4.2,
    "if": 2.2,
    "merge": 3,
    "postgres": 2.5,
    "removeDuplicates": 2,
    "respondToWebhook": 1.1,
    "scheduleTrigger": 1.2,
    "set": 3.4,
    "slack": 2.2,
    "splitInBatches": 3,
    "summarize": 1.1,
    "switch": 3.2,
    "telegram": 1.2,
    "wait": 1.1,
    "webhook": 2,
    f"{LANGCHAIN}agent": 2.2,
    f"{LANGCHAIN}chainLlm": 1.7,
    f"{LANGCHAIN}chatTrigger": 1.1,
    f"{LANGCHAIN}informationExtractor": 1.1,
    f"{LANGCHAIN}lmChatOpenAi": 1.2,
    f"{LANGCHAIN}memoryBufferWindow": 1.3,
    f"{LANGCHAIN}outputParserStructured": 1.2,
    f"{LANGCHAIN}toolCalculator": 1,
    f"{LANGCHAIN}toolCode": 1.2,
    f"{LANGCHAIN}toolWorkflow": 2.2,
}
_STEP: Final = (220.0, 160.0)
_NEAR: Final = (180.0, 110.0)
_MOST_TRIES: Final = 200


def full_type(kind: str) -> str:
    """`set` is `n8n-nodes-base.set`."""
    return kind if "." in kind else _BASE + kind


def type_version(kind: str, nodes: Sequence[Mapping[str, Any]], known: NewVersions) -> float:
    """The newest version that the instance has, else one that is used or usual. A guess would be saved as version 1."""
    here = [node["typeVersion"] for node in nodes if node.get("type") == kind and _is_number(node.get("typeVersion"))]
    short = kind.removeprefix(_BASE)
    # n8n makes tools of nodes, in the same versions.
    usual = _VERSIONS.get(short, _VERSIONS.get(short.removesuffix(TOOL_SUFFIX)))
    choices = (known.instance.get(kind), max(here, default=None), known.used.get(kind), usual, known.other.get(kind))
    version = next((one for one in choices if one is not None), None)
    if version is None and kind in known.missing:
        return 1
    if version is None:
        raise WrongOperation("which versions this type has is not known here: give typeVersion")
    return int(version) if float(version).is_integer() else version


def free_position(nodes: Sequence[Mapping[str, Any]], after: Mapping[str, Any] | None) -> list[float]:
    """A place to the right of a node, or of all nodes, where no other is."""
    taken = [place for node in nodes if (place := _position(node)) is not None]
    base = _position(after) if after is not None else max(taken, default=None)
    if base is None:
        return [0, 0]
    x, y = base[0] + _STEP[0], base[1]
    column = [other[1] for other in taken if abs(x - other[0]) < _NEAR[0]]
    for _ in range(_MOST_TRIES):
        if not any(abs(y - other) < _NEAR[1] for other in column):
            break
        y += _STEP[1]
    return [x, y]


def _position(node: Mapping[str, Any]) -> tuple[float, float] | None:
    position = node.get("position")
    if not isinstance(position, list | tuple) or len(position) != 2 or not all(map(_is_number, position)):
        return None
    return position[0], position[1]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
