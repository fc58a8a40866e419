"""The arguments of `edit_workflow`: one flat model for all operations, because fifteen models cost more tokens."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from dogubako.contract.errors import ValidationError, ValidationErrorContext

OperationName = Literal[
    "addNode",
    "removeNode",
    "renameNode",
    "setParameter",
    "unsetParameter",
    "setNodeSettings",
    "setCredential",
    "moveNode",
    "addConnection",
    "removeConnection",
    "replaceConnection",
    "setPinData",
    "setWorkflowSettings",
    "setName",
    "setTags",
]
# More outputs than any node has. A connection at output n makes n lists.
MOST_INDEX: Final = 255
_Index = Annotated[int, Field(ge=0, le=MOST_INDEX)]
_Coordinate = Annotated[float, Field(ge=-1_000_000, le=1_000_000)]


class WrongOperation(ValueError):  # noqa: N818 - it becomes a ValidationError that names the operation
    """Why an operation cannot be applied. The text repeats no value of the caller."""


class Operation(BaseModel):
    """One change. Which fields it has depends on `op`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True, defer_build=True)

    op: OperationName
    node: str | None = Field(None, min_length=1)
    name: str | None = Field(None, min_length=1, max_length=128)
    type: str | None = Field(None, min_length=1, max_length=200)
    type_version: float | None = Field(None, alias="typeVersion")
    parameters: dict[str, Any] | None = None
    path: str | None = None
    value: Any = None
    settings: dict[str, Any] | None = None
    position: tuple[_Coordinate, _Coordinate] | None = None
    source: str | None = Field(None, alias="from")
    output: _Index | None = None
    to: str | None = None
    input: _Index | None = None
    tags: tuple[str, ...] | None = None
    rewire: bool | None = None


class Fields(NamedTuple):
    """Which fields an operation needs, and which it may have."""

    needs: tuple[str, ...]
    may_have: tuple[str, ...] = ()


_ENDS: Final = ("output", "input", "type")
FIELDS: Final[Mapping[str, Fields]] = {
    "addNode": Fields(
        ("name", "type"), ("typeVersion", "parameters", "settings", "position", "from", "output", "to", "input")
    ),
    "removeNode": Fields(("node",), ("rewire",)),
    "renameNode": Fields(("node", "name")),
    "setParameter": Fields(("node", "path", "value")),
    "unsetParameter": Fields(("node", "path")),
    "setNodeSettings": Fields(("node", "settings")),
    "setCredential": Fields(("node", "type", "value")),
    "moveNode": Fields(("node", "position")),
    "addConnection": Fields(("from", "to"), _ENDS),
    "removeConnection": Fields(("from", "to"), _ENDS),
    "replaceConnection": Fields(("from", "to", "value"), _ENDS),
    "setPinData": Fields(("node", "value")),
    "setWorkflowSettings": Fields(("settings",)),
    "setName": Fields(("name",)),
    "setTags": Fields(("tags",)),
}


def described() -> str:
    """The table above in one line for agents; optional fields have a question mark."""
    parts = [" ".join([op, *fields.needs, *(f"{one}?" for one in fields.may_have)]) for op, fields in FIELDS.items()]
    return "; ".join(parts)


def check_fields(operations: Sequence[Operation]) -> None:
    """Raise a ValidationError that names every field that is missing or does not belong."""
    wrong = [
        ValidationErrorContext(field=f"operations[{number}].{field}", message=message)
        for number, operation in enumerate(operations)
        for field, message in _wrong_fields(number, operation)
    ]
    if wrong:
        raise ValidationError(wrong, hint=f"Fields of the operations: {described()}")


def _wrong_fields(number: int, operation: Operation) -> list[tuple[str, str]]:
    given = {Operation.model_fields[name].alias or name for name in operation.model_fields_set} - {"op"}
    fields, prefix = FIELDS[operation.op], f"operations[{number}]"
    wrong = [(name, f"Required parameter missing: {prefix}.{name}") for name in fields.needs if name not in given]
    more = sorted(given - {*fields.needs, *fields.may_have})
    return wrong + [(name, f"Unknown parameter: {prefix}.{name} ({operation.op} has none)") for name in more]


_ON_ERROR: Final = ("stopWorkflow", "continueRegularOutput", "continueErrorOutput")
_NODE_SETTINGS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "onError": str,
    "retryOnFail": bool,
    "maxTries": int,
    "waitBetweenTries": int,
    "alwaysOutputData": bool,
    "executeOnce": bool,
    "disabled": bool,
    "notes": str,
    "notesInFlow": bool,
    "typeVersion": (int, float),
}


def with_settings(node: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The node with these settings; null removes one. n8n itself would save any value and ignore it."""
    for name, value in settings.items():
        kind = _NODE_SETTINGS.get(name)
        if kind is None:
            raise WrongOperation(f"settings of a node are {', '.join(_NODE_SETTINGS)}")
        if value is not None and not _fits(value, kind):
            raise WrongOperation(f"the setting {name} has a value of the wrong type")
        if name == "onError" and value not in (None, *_ON_ERROR):
            raise WrongOperation(f"onError is one of {', '.join(_ON_ERROR)}")
    return {name: value for name, value in {**node, **settings}.items() if value is not None or name not in settings}


def _fits(value: Any, kind: type | tuple[type, ...]) -> bool:
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
