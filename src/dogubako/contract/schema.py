"""From an argument model to the JSON Schema that agents read: 2020-12, no `$ref`, nothing said twice."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.errors import PydanticUserError
from pydantic_core import SchemaError

from dogubako.contract.metadata import ToolParameter

_UNTYPED = "any"

# Under these keywords stands what a caller may write, and in a caller's data a `title` is a title.
_DATA = frozenset({"default", "examples", "enum", "const"})


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """Derive the schema. ValueError for a model that has none, for example because it contains itself."""
    raw = _json_schema(model)
    definitions = raw.pop("$defs", {})
    schema: dict[str, Any] = _tidy(_inline(raw, definitions, ()))
    schema.pop("description", None)
    schema.setdefault("properties", {})
    return schema


def _json_schema(model: type[BaseModel]) -> dict[str, Any]:
    try:
        return model.model_json_schema(mode="validation")
    except (PydanticUserError, SchemaError) as error:
        # Found out only now: the model is built when it is first needed.
        reason = error.message if isinstance(error, PydanticUserError) else str(error)
        raise ValueError(" ".join(reason.split())) from error


def with_confirmation(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Destructive tools take one argument more: the word that it is meant."""
    confirm = {"type": "boolean", "default": False, "description": "Set true to confirm; this cannot be undone."}
    return {**schema, "properties": {**schema.get("properties", {}), "confirm": confirm}}


def parameters_of(schema: Mapping[str, Any]) -> tuple[ToolParameter, ...]:
    """The top-level arguments, in the order of the schema."""
    # A schema from elsewhere may be rubbish; the registry refuses it with a reason, after we have read it.
    properties, required = schema.get("properties", {}), _listed(schema.get("required")) or ()
    if not isinstance(properties, Mapping):
        return ()
    return tuple(_parameter(name, prop, name in required) for name, prop in properties.items())


def _parameter(name: str, prop: Any, required: bool) -> ToolParameter:
    prop = prop if isinstance(prop, Mapping) else {}
    return ToolParameter(
        name=name,
        type=type_name(prop),
        description=prop.get("description", ""),
        required=required,
        default=prop.get("default"),
        enum=_listed(prop.get("enum")),
        pattern=prop.get("pattern"),
        minimum=prop.get("minimum"),
        maximum=prop.get("maximum"),
        examples=_listed(prop.get("examples")),
    )


def _listed(value: Any) -> tuple[Any, ...] | None:
    return tuple(value) if isinstance(value, list | tuple) else None


def type_name(prop: Mapping[str, Any]) -> str:
    """The type in one word, or several joined by `or`."""
    kind = prop.get("type")
    if isinstance(kind, str):
        return kind
    if isinstance(kind, list):
        return " or ".join(str(one) for one in kind)
    members = prop.get("anyOf") or prop.get("oneOf") or ()
    names = dict.fromkeys(type_name(member) for member in members if isinstance(member, Mapping))
    return " or ".join(names) or _UNTYPED


def _inline(node: Any, definitions: Mapping[str, Any], trail: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_inline(item, definitions, trail) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[-1]
        if name in trail:
            raise ValueError(f"{name} contains itself; an argument model must have a finite schema")
        target = _inline(definitions[name], definitions, (*trail, name))
        rest = {key: _inline(value, definitions, trail) for key, value in node.items() if key != "$ref"}
        return {**target, **rest}
    return {key: _inline(value, definitions, trail) for key, value in node.items()}


def _tidy(node: Any, *, names: bool = False) -> Any:
    """Drop what only costs tokens. `names` marks a mapping whose keys are argument names, not keywords."""
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    if names:
        return {key: _tidy(value) for key, value in node.items()}
    tidied = {
        key: value if key in _DATA else _tidy(value, names=key == "properties")
        for key, value in node.items()
        if key != "title"
    }
    tidied.pop("discriminator", None)
    return _without_null(tidied)


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    """`str | None = None` reads as an optional string: leaving it out says "nothing" in fewer tokens."""
    members = node.get("anyOf")
    if members is None or "default" not in node or node["default"] is not None:
        return node
    real = [member for member in members if member != {"type": "null"}]
    if len(real) == len(members):
        return node
    rest = {key: value for key, value in node.items() if key not in ("anyOf", "default")}
    return {**real[0], **rest} if len(real) == 1 else {"anyOf": real, **rest}
