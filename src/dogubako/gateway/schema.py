"""Normalise the JSON schemas of foreign tools for clients: JSON Schema 2020-12, without `$ref`, of bounded size.

Some clients refuse draft-07, others `$ref`. Arguments are still checked against the schema that the server sent.
"""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from dogubako.contract.schema import Schema, tidy_schema

_MOST_NODES: Final = 5_000
_DEEPEST: Final = 24

_CURRENT_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
# What an object without any member would break.
_DEMANDS: Final = frozenset(
    {"allOf", "anyOf", "dependentRequired", "dependentSchemas", "if", "minProperties", "not", "oneOf", "required"}
)

_NAMED: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})
_LISTED: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SINGLE: Final = frozenset(
    {
        *("additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames"),
        *("then", "unevaluatedItems", "unevaluatedProperties"),
    }
)
# Identifiers, and what is written in the place of references to it.
_DROPPED: Final = frozenset(
    {
        *("$schema", "$id", "id", "$anchor", "$comment", "$defs", "definitions", "$ref", "$vocabulary"),
        *("$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "additionalItems", "dependencies"),
    }
)


def normalised(schema: Mapping[str, Any], *, of_answer: bool = False) -> Schema:
    """The schema as clients see it. It allows at least what the original allows."""
    writer = _Writer(schema)
    written = tidy_schema(writer.written(schema, (), 0), of_answer=of_answer)
    properties = written.get("properties")
    if schema.get("$schema") == _CURRENT_DRAFT:
        # Its author says what it is, and may refer to its parts elsewhere.
        written = {"$schema": _CURRENT_DRAFT, **written, **writer.named_parts()}
    return {**written, "type": "object", "properties": properties if isinstance(properties, dict) else {}}


def relaxed(schema: Schema) -> Schema:
    """The schema of an answer of which nothing is required: a server may break its promise, and data may not fit."""
    return {key: value for key, value in schema.items() if key not in _DEMANDS}


class _Writer:
    """Writes one schema again. A reference is replaced by its target; one that leads into itself is cut."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._nodes = 0

    def named_parts(self) -> Schema:
        """The definitions, without references like everything else."""
        parts = self._root.get("$defs")
        return {"$defs": self._keyword("properties", parts, (), 0)} if isinstance(parts, Mapping) and parts else {}

    def written(self, node: Any, trail: tuple[str, ...], depth: int) -> Schema:
        """One subschema. `trail` has the references that are being replaced around it."""
        self._nodes += 1
        if not isinstance(node, Mapping):
            # `true` allows everything, and so does what is no schema at all.
            return {"not": {}} if node is False else {}
        if self._nodes > _MOST_NODES or depth > _DEEPEST:
            return _stub(node)
        keywords = {key: value for key, value in node.items() if key not in _DROPPED and not _is_obsolete(key, value)}
        rest = {key: self._keyword(key, value, trail, depth) for key, value in keywords.items()}
        rest = {**rest, **self._of_older_drafts(node, trail, depth)}
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return rest
        target = self._target(reference)
        if reference in trail or target is None:
            return {**_stub(target), **rest}
        return {**self.written(target, (*trail, reference), depth + 1), **rest}

    def _keyword(self, key: str, value: Any, trail: tuple[str, ...], depth: int) -> Any:
        if key in _NAMED and isinstance(value, Mapping):
            return {name: self.written(one, trail, depth + 1) for name, one in value.items()}
        if key in _LISTED and isinstance(value, list):
            return [self.written(one, trail, depth + 1) for one in value]
        if key in ("additionalProperties", "unevaluatedProperties") and isinstance(value, bool):
            return value
        if key in _SINGLE and not isinstance(value, list):
            return self.written(value, trail, depth + 1)
        return value

    def _of_older_drafts(self, node: Mapping[str, Any], trail: tuple[str, ...], depth: int) -> Schema:
        """What drafts 4 to 7 write in another way."""
        found: Schema = {}
        if isinstance(node.get("items"), list):
            found["prefixItems"] = [self.written(one, trail, depth + 1) for one in node["items"]]
            found["items"] = self.written(node.get("additionalItems", True), trail, depth + 1)
        for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if node.get(exclusive) is True and isinstance(node.get(bound), int | float):
                found[exclusive] = node[bound]
        dependencies = node.get("dependencies")
        if isinstance(dependencies, Mapping):
            required = {name: one for name, one in dependencies.items() if isinstance(one, list)}
            schemas = {name: one for name, one in dependencies.items() if not isinstance(one, list)}
            found |= {"dependentRequired": required} if required else {}
            found |= {"dependentSchemas": self._keyword("dependentSchemas", schemas, trail, depth)} if schemas else {}
        return found

    def _target(self, reference: str) -> Any:
        """What a reference inside the schema leads to; None for any other."""
        if not reference.startswith("#"):
            return None
        target: Any = self._root
        for part in [unquote(one) for one in reference[1:].split("/")[1:]]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(target, Mapping) and key in target:
                target = target[key]
            elif isinstance(target, list) and key.isascii() and key.isdigit() and int(key) < len(target):
                target = target[int(key)]
            else:
                return None
        return target if isinstance(target, Mapping | bool) else None


def _is_obsolete(keyword: str, value: Any) -> bool:
    """Whether it is written in another way today, or says nothing. The data of `const` and `default` may be null."""
    if value is None:
        return keyword not in ("const", "default")
    return keyword in ("exclusiveMinimum", "exclusiveMaximum") and isinstance(value, bool)


def _stub(node: Any) -> Schema:
    """What is said in the place of a schema that is too deep to be written: its type and what it means."""
    kept = ("type", "description")
    return {key: node[key] for key in kept if key in node} if isinstance(node, Mapping) else {}
