"""Schemathesis makes calls for a description, and writes them itself: our tool accepts each one and sends the same."""

import json
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dogubako.engine.validation import compiled
from dogubako.openapi.definitions import REQUEST, RequestPlan
from dogubako.openapi.description import Wanted, read_description
from dogubako.openapi.request import write_request
from tests.hypothesis_profiles import examples

TEXT = {"type": "string", "pattern": "^[A-Za-z0-9 ~é日/?&=%+-]{1,12}$"}
DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Everything", "version": "1"},
    "servers": [{"url": "https://api.example.com/v1"}],
    "paths": {
        "/things/{id}/{kind}": {
            "get": {
                "operationId": "find",
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "integer", "minimum": 0}},
                    {"name": "kind", "in": "path", "required": True, "schema": {"enum": ["a", "b c", "ü"]}},
                    {"name": "q", "in": "query", "schema": TEXT},
                    {"name": "many", "in": "query", "schema": {"type": "array", "items": TEXT, "minItems": 1}},
                    {"name": "flag", "in": "query", "schema": {"type": "boolean"}},
                ],
                "responses": {"200": {"description": "ok"}},
            }
        },
        "/things": {
            "post": {
                "operationId": "add",
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "required": ["name"],
                                "additionalProperties": False,
                                "properties": {
                                    "name": TEXT,
                                    "age": {"type": "integer"},
                                    "parts": {"type": "array", "items": {"type": "object"}},
                                    "note": {"type": "string", "nullable": True},
                                },
                            }
                        }
                    },
                },
                "responses": {"200": {"description": "ok"}},
            }
        },
    },
}


def _tool_of(document: dict[str, Any], method: str, path: str) -> dict[str, Any]:
    address = "https://api.example.com/openapi.json"
    found = read_description(Wanted(address=address, content=json.dumps(document).encode()))
    wanted = (method.lower(), path)
    return next(
        one for one in found.tools if (one["_meta"][REQUEST]["method"], one["_meta"][REQUEST]["path"]) == wanted
    )


def _arguments(case: Any) -> dict[str, Any]:
    """The values of a case. Those in its path are quoted already, and booleans in its query are texts."""
    body = case.body if isinstance(case.body, dict) else {}
    path = {
        name: unquote(value) if isinstance(value, str) else value
        for name, value in (case.path_parameters or {}).items()
    }
    query = {
        name: {"true": True, "false": False}.get(value, value) if name == "flag" else value
        for name, value in (case.query or {}).items()
    }
    return {**path, **query, **body}


def _check(document: dict[str, Any], case: Any) -> None:
    tool = _tool_of(document, case.method, case.path)
    arguments = _arguments(case)
    assert compiled(tool["inputSchema"]).is_valid(arguments), (tool["inputSchema"], arguments)
    plan = msgspec.convert(tool["_meta"][REQUEST], RequestPlan)
    ours = write_request(plan, arguments, {})
    theirs = case.as_transport_kwargs(base_url="https://api.example.com/v1")
    sent = urlsplit(theirs["url"])
    assert f"/v1{ours.path}" == sent.path
    wanted = [
        (name, str(one))
        for name, value in (theirs.get("params") or {}).items()
        for one in (value if isinstance(value, list) else [value])
    ]
    assert sorted(parse_qsl("&".join(ours.query), keep_blank_values=True)) == sorted(wanted)
    if "json" in theirs:
        assert json.loads(ours.content or b"null") == theirs["json"]


@pytest.mark.slow
def test_what_schemathesis_generates_is_accepted_and_sent_alike() -> None:
    schema = schemathesis.openapi.from_dict(DOCUMENT)
    operations: list[Any] = [result.ok() for result in schema.get_all_operations()]  # type: ignore[union-attr]
    assert operations
    for operation in operations:

        @settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(case=operation.as_strategy())
        def accepted(case: Any) -> None:
            _check(DOCUMENT, case)

        accepted()


@pytest.mark.slow
@settings(max_examples=examples(100), deadline=None)
@given(arguments=st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5) | st.none(), max_size=4))
def test_what_is_refused_is_invalid_for_the_service(arguments: dict[str, Any]) -> None:
    """A body that our tool refuses is one that the description refuses as well."""
    tool = _tool_of(DOCUMENT, "post", "/things")
    body = DOCUMENT["paths"]["/things"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    plain = json.loads(json.dumps(body).replace('"type": "string", "nullable": true', '"type": ["string", "null"]'))
    assert compiled(tool["inputSchema"]).is_valid(arguments) == compiled(plain).is_valid(arguments)
