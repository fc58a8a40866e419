"""Turn schemas of a description into plain JSON Schema 2020-12: without references, in bounded size."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from dogubako.openapi.document import DescriptionError, Documents

Schema = dict[str, Any]
Direction = Literal["request", "response"]

_DEEPEST: Final = 12
_MOST_NODES: Final = 4_000
_LONGEST_DESCRIPTION: Final = 1_000
# Keywords whose value is kept as it is.
_PLAIN: Final = frozenset(
    {
        *("type", "format", "enum", "const", "default", "pattern", "minimum", "maximum", "multipleOf", "title"),
        *(
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "uniqueItems",
            "minProperties",
            "maxProperties",
            "required",
        ),
        *("exclusiveMinimum", "exclusiveMaximum", "contentEncoding", "contentMediaType"),
    }
)
_LISTS: Final = ("oneOf", "anyOf", "prefixItems")
_SINGLE: Final = ("items", "not", "additionalProperties", "contains", "propertyNames")


class SchemaWriter:
    """Writes the schemas of one operation. What recurs or is too deep is cut, with a note in its description."""

    def __init__(self, documents: Documents, direction: Direction) -> None:
        self._documents = documents
        self._hidden = "readOnly" if direction == "request" else "writeOnly"
        self._nodes = 0

    def write(self, node: Any, base: str) -> Schema:
        """The schema without references. Raises DescriptionError for one that leads nowhere."""
        return self._written(node, base, (), 0)

    def _written(self, node: Any, base: str, trail: tuple[int, ...], depth: int) -> Schema:
        if isinstance(node, bool):
            return {} if node else {"not": {}}
        target, base = self._documents.resolve(node, base)
        if not isinstance(target, Mapping):
            raise DescriptionError("A schema is no object.")
        self._nodes += 1
        if id(target) in trail or depth > _DEEPEST or self._nodes > _MOST_NODES:
            return _cut(target)
        inner = (*trail, id(target))
        found = self._keywords(target, base, inner, depth + 1)
        if isinstance(node, Mapping) and node is not target:
            # 3.1 allows a description beside a reference.
            found |= {key: node[key] for key in ("description", "default") if key in node}
        for part in self._parts(target):
            found = _merged(found, self._written(part, base, inner, depth + 1))
        return _nullable(found) if target.get("nullable") is True else found

    def _parts(self, node: Mapping[str, Any]) -> Sequence[Any]:
        parts = node.get("allOf")
        return parts if isinstance(parts, list) else ()

    def _keywords(self, node: Mapping[str, Any], base: str, trail: tuple[int, ...], depth: int) -> Schema:
        found: Schema = {key: node[key] for key in node if key in _PLAIN and node[key] is not None}
        if isinstance(node.get("description"), str):
            found["description"] = node["description"][:_LONGEST_DESCRIPTION]
        if isinstance(node.get("properties"), Mapping):
            found["properties"] = self._properties(node["properties"], base, trail, depth)
            found["required"] = [one for one in _names(node.get("required")) if one in found["properties"]]
        for key in _LISTS:
            if isinstance(node.get(key), list):
                found[key] = [self._written(one, base, trail, depth) for one in node[key]]
        for key in _SINGLE:
            if isinstance(node.get(key), Mapping | bool):
                value = node[key]
                found[key] = value if isinstance(value, bool) else self._written(value, base, trail, depth)
        return _modern(found)

    def _properties(
        self, properties: Mapping[str, Any], base: str, trail: tuple[int, ...], depth: int
    ) -> dict[str, Schema]:
        found = {}
        for name, one in properties.items():
            target, _ = self._documents.resolve(one, base)
            if not (isinstance(target, Mapping) and target.get(self._hidden) is True):
                found[str(name)] = self._written(one, base, trail, depth)
        return found


def _names(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _modern(schema: Schema) -> Schema:
    """Write what OpenAPI 3.0 and Swagger 2 write in another way."""
    if not isinstance(schema.get("required", []), list) or schema.get("required") == []:
        schema.pop("required")
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(schema.get(exclusive), bool):
            is_exclusive = schema.pop(exclusive)
            if is_exclusive and bound in schema:
                schema[exclusive] = schema.pop(bound)
    if schema.get("type") == "file":
        schema |= {"type": "string", "format": "binary"}
    elif not _is_type(schema.get("type", "object")):
        schema.pop("type")
    if not isinstance(schema.get("enum", []), list):
        schema.pop("enum")
    return schema


_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})


def _is_type(value: Any) -> bool:
    return value in _TYPES if isinstance(value, str) else isinstance(value, list) and set(map(str, value)) <= _TYPES


def _merged(one: Schema, other: Schema) -> Schema:
    """Both schemas at once, as far as one object can say it (`allOf`)."""
    merged = {**other, **one}
    if "properties" in one or "properties" in other:
        merged["properties"] = {**other.get("properties", {}), **one.get("properties", {})}
    required = [
        *one.get("required", []),
        *(name for name in other.get("required", []) if name not in one.get("required", [])),
    ]
    if required:
        merged["required"] = required
    if "oneOf" in one and "oneOf" in other:
        merged["allOf"] = [{"oneOf": one["oneOf"]}, {"oneOf": other["oneOf"]}]
        del merged["oneOf"]
    return merged


def _nullable(schema: Schema) -> Schema:
    if isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
    if "enum" in schema and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    return schema


def _cut(node: Mapping[str, Any]) -> Schema:
    """What stands for a schema that contains itself or is too deep."""
    name = node.get("title") or "the same kind"
    found: Schema = {"description": f"Nested further ({str(name)[:60]}); not written out."}
    if _is_type(node.get("type")):
        found["type"] = node["type"]
    return found
