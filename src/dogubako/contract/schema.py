"""JSON schemas of arguments and answers, kept short to save tokens."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, PydanticUserError
from pydantic_core import SchemaError

from dogubako.contract.call import ToolResult
from dogubako.contract.credentials import INSTANCE
from dogubako.contract.metadata import ToolParameter
from dogubako.contract.output import Content

Schema = dict[str, Any]

_UNTYPED = "any"

INSTANCE_DESCRIPTION: Final = "Which one of them."

# The values of these keywords are data: a `title` in them is not a keyword.
_DATA = frozenset({"default", "examples", "enum", "const"})


def schema_of(model: type[BaseModel], *, of_answer: bool = False) -> dict[str, Any]:
    """Derive the schema of arguments or of an answer.

    Raises ValueError for a model without one, for example because it contains itself.
    """
    schema = tidy_schema(_json_schema(model), of_answer=of_answer)
    schema.pop("description", None)
    schema.setdefault("properties", {})
    return schema


def tidy_schema(raw: dict[str, Any], *, of_answer: bool = False) -> dict[str, Any]:
    """A schema as pydantic derives it, without `$ref` and without keywords that only cost tokens.

    A caller leaves out an argument that is None; an answer has it as null.
    """
    definitions = raw.pop("$defs", {})
    optional = _with_null if of_answer else _without_null
    schema: dict[str, Any] = _tidy(_inline(raw, definitions, ()), optional)
    return schema


def _json_schema(model: type[BaseModel]) -> dict[str, Any]:
    try:
        return model.model_json_schema(mode="validation")
    except (PydanticUserError, SchemaError) as error:
        # Detected late, because a model is built when it is first needed.
        reason = error.message if isinstance(error, PydanticUserError) else str(error)
        raise ValueError(" ".join(reason.split())) from error


def with_confirmation(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Add the argument `confirm`, which destructive tools require."""
    confirm = {"type": "boolean", "default": False, "description": "Set true to confirm; this cannot be undone."}
    return {**schema, "properties": {**schema.get("properties", {}), "confirm": confirm}}


def with_instance(schema: Mapping[str, Any], instances: Sequence[str], default: str | None) -> dict[str, Any]:
    """Add the argument `instance`, as `BaseTool.choose_instance` adds it to a model."""
    instance = {"description": INSTANCE_DESCRIPTION, "enum": [*instances], "type": "string"}
    properties = {**schema["properties"], INSTANCE: instance if default is None else {"default": default, **instance}}
    required = [*schema.get("required", ()), *([INSTANCE] if default is None else ())]
    # In the order of pydantic, which sorts them.
    parts = {**schema, "properties": properties, **({"required": required} if required else {})}
    return dict(sorted(parts.items()))


def parameters_of(schema: Mapping[str, Any]) -> tuple[ToolParameter, ...]:
    """The top-level arguments, in the order of the schema."""
    # A foreign schema may be invalid; the registry rejects it with a reason later.
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
    """The type as one word, or several joined by `or`."""
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


def _tidy(node: Any, optional: Callable[[Schema], Schema], *, names: bool = False) -> Any:
    """Drop keywords that only cost tokens. `names` marks a mapping whose keys are argument names."""
    if isinstance(node, list):
        return [_tidy(item, optional) for item in node]
    if not isinstance(node, dict):
        return node
    if names:
        return {key: _tidy(value, optional) for key, value in node.items()}
    tidied = {
        key: value if key in _DATA else _tidy(value, optional, names=key == "properties")
        for key, value in node.items()
        if key != "title"
    }
    tidied.pop("discriminator", None)
    return optional(tidied)


def _with_null(node: Schema) -> Schema:
    """Keep `null` among the types of an answer's field. Its default is of no use to a reader."""
    return {key: value for key, value in node.items() if key != "default" or value is not None}


def _without_null(node: Schema) -> Schema:
    """Write `str | None = None` as an optional string, which costs fewer tokens."""
    members = node.get("anyOf")
    if members is None or "default" not in node or node["default"] is not None:
        return node
    real = [member for member in members if member != {"type": "null"}]
    if len(real) == len(members):
        return node
    rest = {key: value for key, value in node.items() if key not in ("anyOf", "default")}
    return {**real[0], **rest} if len(real) == 1 else {"anyOf": real, **rest}


# MCP requires an object; other values are put under this key.
RESULT_KEY: Final = "result"
# Types whose schema would say no more than "text" or "data".
_SHAPELESS: Final = (Any, None, NoneType, object, str, bytes, dict, list, tuple, Mapping, ...)
_NOT_DESCRIBED: Final = (
    PydanticInvalidForJsonSchema,
    PydanticSchemaGenerationError,
    PydanticUserError,
    SchemaError,
    ValueError,
)


class OutputSchema:
    """The schema of a return type, derived on first use."""

    def __init__(self, hint: Any) -> None:
        self._hint = hint

    @property
    def schema(self) -> dict[str, Any] | None:
        return self._derived[0]

    @property
    def wraps(self) -> bool:
        """Whether the value is no object and is put under `result`."""
        return self._derived[1]

    @cached_property
    def _derived(self) -> tuple[dict[str, Any] | None, bool]:
        if not _has_shape(self._hint):
            return None, False
        try:
            schema = tidy_schema(TypeAdapter(self._hint).json_schema(mode="serialization"), of_answer=True)
        except _NOT_DESCRIBED:
            # Without a schema, for a type that pydantic cannot describe. The answer is still JSON.
            return None, False
        if schema.get("type") == "object":
            return {"properties": {}, **schema}, False
        return {"type": "object", "properties": {RESULT_KEY: schema}, "required": [RESULT_KEY]}, True


def _has_shape(hint: Any) -> bool:
    """Whether a schema of the type would be useful to a client."""
    if _is_shapeless(hint):
        return False
    origin, members = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        # A string among the members is shown as text, which no schema describes.
        return not any(member is str or _is_content(member) for member in members)
    if origin in (dict, Mapping):
        return _has_shape(members[1]) or members[1] is str
    return not any(_is_content(member) for member in members)


def _is_shapeless(hint: Any) -> bool:
    return any(hint is one for one in _SHAPELESS) or _is_content(hint)


def _is_content(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Content | ToolResult)
