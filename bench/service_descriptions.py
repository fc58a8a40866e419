"""Descriptions of HTTP APIs, and calls whose requests the OpenAPI specification settles, for `bench/services.py`."""

import importlib.util
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dogubako.app import build
from dogubako.settings import Sources
from dogubako.transports.rest.openapi import describe, with_tools

Document = dict[str, Any]

BASE: Final = "https://api.example.com/v1"
_TEXT: Final = {"type": "string"}


_LIST: Final = {"type": "array", "items": _TEXT}
_PET: Final = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "integer", "readOnly": True},
        "name": {"type": "string", "minLength": 1},
        "age": {"type": "integer", "minimum": 0},
        "kind": {"type": "string", "enum": ["cat", "dog"]},
        "tag": {"type": "string", "nullable": True},
    },
}
# Nearly every description says what an operation answers.
_ANSWERED: Final = {"responses": {"200": {"description": "ok", "content": {"application/json": {"schema": _PET}}}}}


def _parameter(name: str, place: str, schema: Any = None, **others: Any) -> Document:
    return {"name": name, "in": place, "required": place == "path", "schema": schema or _TEXT, **others}


def _operation(name: str, *parameters: Document, body: Any = None, kind: str = "application/json") -> Document:
    content = {"requestBody": {"required": True, "content": {kind: {"schema": body}}}} if body else {}
    return {"operationId": name, "summary": f"Run {name}", "parameters": list(parameters), **content, **_ANSWERED}


def _api(paths: Document, **others: Any) -> Document:
    info = {"title": "Bench", "version": "1"}
    return {"openapi": "3.0.3", "info": info, "servers": [{"url": BASE}], "paths": paths, **others}


STYLES: Final = _api(
    {
        "/pets/{id}": {
            "get": _operation("get_pet", _parameter("id", "path")),
            "put": _operation("put_pet", _parameter("id", "path"), body=_PET),
        },
        "/pets": {
            "get": _operation("list_pets", _parameter("limit", "query", {"type": "integer", "minimum": 1})),
            "post": _operation("add_pet", body=_PET),
        },
        "/lists": {
            "get": _operation(
                "lists",
                _parameter("exploded", "query", _LIST),
                _parameter("joined", "query", _LIST, style="form", explode=False),
                _parameter("pipes", "query", _LIST, style="pipeDelimited", explode=False),
            )
        },
        "/deep": {"get": _operation("deep", _parameter("filter", "query", {"type": "object"}, style="deepObject"))},
        "/flags": {"get": _operation("flags", _parameter("on", "query", {"type": "boolean"}))},
        "/headers": {"get": _operation("headers", _parameter("X-Trace", "header"), _parameter("lang", "cookie"))},
        "/matrix/{id}": {"get": _operation("matrix", _parameter("id", "path", _LIST, style="matrix", explode=True))},
        "/same/{id}": {
            "post": _operation(
                "same", _parameter("id", "path"), body={"type": "object", "properties": {"id": _TEXT, "note": _TEXT}}
            )
        },
        "/form": {
            "post": _operation(
                "form",
                body={"type": "object", "properties": {"a": _TEXT, "b": {"type": "integer"}}},
                kind="application/x-www-form-urlencoded",
            )
        },
        "/raw": {"post": _operation("raw", body={"type": "array", "items": {"type": "integer"}})},
    }
)


Request = tuple[str, str, Any] | None


@dataclass(frozen=True)
class Case:
    """One call. `request` is what must arrive (method, path and query, body), and None if nothing may be sent."""

    what: str
    tool: str
    arguments: Document
    request: Request
    # Where the two importers name arguments differently.
    theirs: Document = field(default_factory=dict)
    # What is right as well.
    also: tuple[Request, ...] = ()


CASES: Final = (
    Case("a plain id", "get_pet", {"id": "7"}, ("GET", "/pets/7", None)),
    Case("a slash in an id", "get_pet", {"id": "a/b"}, ("GET", "/pets/a%2Fb", None)),
    Case("a question mark in an id", "get_pet", {"id": "a?b"}, ("GET", "/pets/a%3Fb", None)),
    Case("dots that would change the path", "get_pet", {"id": ".."}, ("GET", "/pets/%2E%2E", None), also=(None,)),
    Case("an empty id", "get_pet", {"id": ""}, None),
    Case("a missing id", "get_pet", {}, None),
    Case("a misspelt argument", "get_pet", {"id": "7", "filed": 1}, None),
    Case("a number", "list_pets", {"limit": 5}, ("GET", "/pets?limit=5", None)),
    Case("a number below its bound", "list_pets", {"limit": 0}, None),
    Case("a text for a number", "list_pets", {"limit": "many"}, None),
    Case("a boolean", "flags", {"on": True}, ("GET", "/flags?on=true", None)),
    Case("a repeated list", "lists", {"exploded": ["a", "b"]}, ("GET", "/lists?exploded=a&exploded=b", None)),
    Case(
        "a joined list",
        "lists",
        {"joined": ["a", "b"]},
        ("GET", "/lists?joined=a,b", None),
        also=(("GET", "/lists?joined=a%2Cb", None),),
    ),
    Case("a comma in a joined list", "lists", {"joined": ["a,b", "c"]}, ("GET", "/lists?joined=a%2Cb,c", None)),
    Case("a list with pipes", "lists", {"pipes": ["a", "b"]}, ("GET", "/lists?pipes=a%7Cb", None)),
    Case(
        "a deep object",
        "deep",
        {"filter": {"a": "1", "b": "2"}},
        ("GET", "/deep?filter%5Ba%5D=1&filter%5Bb%5D=2", None),
    ),
    Case("a matrix in the path", "matrix", {"id": ["3", "4"]}, ("GET", "/matrix/;id=3;id=4", None)),
    Case(
        "a header and a cookie",
        "headers",
        {"X-Trace": "t1", "lang": "ja"},
        ("GET", "/headers", {"x-trace": "t1", "cookie": "lang=ja"}),
    ),
    Case("a line break in a header", "headers", {"X-Trace": "a\r\nX-Evil: 1"}, None),
    Case("a body", "add_pet", {"name": "Tama", "age": 3}, ("POST", "/pets", {"name": "Tama", "age": 3})),
    Case(
        "a null that is allowed",
        "add_pet",
        {"name": "Tama", "tag": None},
        ("POST", "/pets", {"name": "Tama", "tag": None}),
    ),
    Case("a field that only answers have", "add_pet", {"name": "Tama", "id": 1}, None),
    Case("a missing field", "add_pet", {"age": 3}, None),
    Case("a value outside of the enum", "add_pet", {"name": "Tama", "kind": "cow"}, None),
    Case("a negative age", "add_pet", {"name": "Tama", "age": -1}, None),
    Case("an unknown field", "add_pet", {"name": "Tama", "color": "red"}, None),
    Case(
        "one name in the path and in the body",
        "same",
        {"id": "7", "body": {"id": "8", "note": "n"}},
        ("POST", "/same/7", {"id": "8", "note": "n"}),
        theirs={"id__path": "7", "id": "8", "note": "n"},
    ),
    Case("a form", "form", {"a": "x y", "b": 2}, ("POST", "/form", "a=x%20y&b=2")),
    Case("a list as the body", "raw", {"body": [1, 2]}, ("POST", "/raw", [1, 2])),
)


def descriptions() -> dict[str, Document]:
    """The descriptions by name. One is of others, and is read from an installed package if it is there."""
    found = {
        "all styles of parameters": STYLES,
        "Dogubako's own REST API": _our_own(),
        "schemas that contain themselves": _cycles(),
        "1,000 operations": _many(),
        "Swagger 2": _swagger(),
        "three faults in ten operations": _broken(),
    }
    if (petstore := _petstore()) is not None:
        found["Swagger's petstore (a package has it)"] = petstore
    return found


def operations_of(document: Document) -> int:
    """The operations that the description has, whether they can be used or not."""
    methods = {"get", "head", "post", "put", "patch", "delete"}
    return sum(len(methods & item.keys()) for item in document["paths"].values() if isinstance(item, dict))


def _our_own() -> Document:
    box = build(Sources(environ={}, env_file=None, overrides={"sandbox": True}))
    document: Document = json.loads(json.dumps(with_tools(describe(), box.registry.list())))
    return {**document, "servers": [{"url": BASE}]}


def _cycles() -> Document:
    ref = {"$ref": "#/components/schemas/Node"}
    node = {"type": "object", "properties": {"name": _TEXT, "child": ref, "children": {"type": "array", "items": ref}}}
    paths = {f"/trees/{number}": {"post": _operation(f"plant_{number}", body=ref)} for number in range(20)}
    return _api(paths, components={"schemas": {"Node": node}})


def _many() -> Document:
    limit = _parameter("limit", "query", {"type": "integer", "minimum": 1, "maximum": 100})
    paths: Document = {}
    for number in range(500):
        one = f"/things{number}/{{id}}"
        paths[one] = {"get": _operation(f"get_thing_{number}", _parameter("id", "path"), limit)}
        paths[f"/things{number}"] = {"post": _operation(f"add_thing_{number}", body=_PET)}
    return _api(paths)


def _swagger() -> Document:
    body = {"name": "pet", "in": "body", "required": True, "schema": {"$ref": "#/definitions/Pet"}}
    ids = {"name": "ids", "in": "query", "type": "array", "items": _TEXT, "collectionFormat": "multi"}
    ok = {"responses": {"200": {"description": "ok"}}}
    return {
        "swagger": "2.0",
        "info": {"title": "Old", "version": "1"},
        "host": "api.example.com",
        "basePath": "/v1",
        "schemes": ["https"],
        "paths": {
            "/pets": {
                "get": {"operationId": "find", "parameters": [ids], **ok},
                "post": {"operationId": "add", "parameters": [body], **ok},
            }
        },
        "definitions": {"Pet": {"type": "object", "properties": {"name": _TEXT}}},
    }


def _broken() -> Document:
    paths: Document = {f"/good/{number}": {"get": _operation(f"good_{number}")} for number in range(7)}
    paths["/nowhere"] = {"get": _operation("nowhere", {"$ref": "#/components/parameters/Gone"})}
    paths["/unnamed"] = {"get": _operation("unnamed", {"in": "query", "schema": _TEXT})}
    paths["/no-object"] = {"get": "not an operation"}
    return _api(paths)


def _petstore() -> Document | None:
    spec = importlib.util.find_spec("jsonschema")
    path = Path(spec.origin).parent / "benchmarks" / "issue232" / "issue.json" if spec and spec.origin else None
    if path is None or not path.exists():
        return None
    for group in json.loads(path.read_text(encoding="utf-8")):
        for one in group.get("tests", []):
            if isinstance(one.get("data"), dict) and "paths" in one["data"]:
                return dict(one["data"])
    return None
