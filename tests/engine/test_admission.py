"""Schemas from elsewhere: one bad definition must not break the list, and none may send us anywhere."""

import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from dogubako import Context
from dogubako.engine.registration import RegistrationError
from dogubako.engine.registry import ToolRegistry
from dogubako.tools import SchemaTool

OBJECT: dict[str, Any] = {"type": "object", "properties": {}}


async def act(arguments: Mapping[str, Any], context: Context[Any]) -> Any:
    return {}


def with_schema(schema: Mapping[str, Any], output: Mapping[str, Any] | None = None) -> SchemaTool:
    return SchemaTool("foreign", "From elsewhere.", schema, act, output_schema=output)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        pytest.param({}, 'inputSchema must have "type": "object"', id="nothing"),
        pytest.param({"type": "array"}, 'inputSchema must have "type": "object"', id="a list"),
        pytest.param({"type": "object", "properties": []}, "every property of inputSchema", id="no properties"),
        pytest.param({"type": "object", "properties": {"a": True}}, "every property of inputSchema", id="a boolean"),
        pytest.param({"type": "object", "properties": {"a": {"type": 5}}}, "not valid JSON Schema", id="type is 5"),
        pytest.param({"type": "object", "required": "a"}, "not valid JSON Schema", id="required is text"),
        pytest.param({"type": "object", "properties": {"a": {"pattern": "("}}}, "not valid JSON Schema", id="pattern"),
        pytest.param(
            {"type": "object", "properties": {"a": {"$ref": "#/$defs/gone"}}}, "not valid JSON Schema", id="dead end"
        ),
    ],
)
def test_a_schema_that_no_client_can_use_is_refused_in_one_line(schema: dict[str, Any], reason: str) -> None:
    with pytest.raises(RegistrationError, match=reason) as caught:
        ToolRegistry().register(with_schema(schema))

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "output",
    [
        pytest.param({"type": "string"}, id="not an object"),
        pytest.param({"type": "object", "properties": {"a": {"type": "text"}}}, id="no such type"),
    ],
)
def test_an_output_schema_is_looked_at_as_well(output: dict[str, Any]) -> None:
    with pytest.raises(RegistrationError, match="outputSchema"):
        ToolRegistry().register(with_schema(OBJECT, output))


def test_references_inside_of_a_schema_are_fine() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"type": "string"}},
        "$schema": "https://json-schema.org/draft/2020-12/schema",
    }

    assert ToolRegistry().register(with_schema(schema)).name == "foreign"


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def test_a_schema_cannot_make_us_open_an_address(listening: socket.socket) -> None:
    host, port = listening.getsockname()
    schema = {"type": "object", "properties": {"a": {"$ref": f"http://{host}:{port}/schema.json"}}}

    with pytest.raises(RegistrationError, match="must not refer to other documents"):
        ToolRegistry().register(with_schema(schema))
    with pytest.raises(BlockingIOError):
        listening.accept()


def test_a_schema_cannot_make_us_read_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "schema.json"
    secret.write_text('{"type": "string"}')

    with pytest.raises(RegistrationError, match="must not refer to other documents"):
        ToolRegistry().register(with_schema({"type": "object", "properties": {"a": {"$ref": secret.as_uri()}}}))


def annotated(header: Any, kind: str = "string") -> dict[str, Any]:
    return {"type": "object", "properties": {"region": {"type": kind, "x-mcp-header": header}}}


def test_an_argument_that_is_mirrored_in_a_header_is_known_as_such() -> None:
    assert ToolRegistry().register(with_schema(annotated("Region"))).mirrored_in_headers
    assert not ToolRegistry().register(with_schema(OBJECT)).mirrored_in_headers


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param(annotated(""), id="empty"),
        pytest.param(annotated("My Region"), id="a blank"),
        pytest.param(annotated("Region\r\nX-Evil: 1"), id="a second header"),
        pytest.param(annotated(5), id="a number"),
        pytest.param(annotated("Region", "object"), id="an object in a header"),
    ],
)
def test_a_header_annotation_that_clients_would_refuse_is_refused_here(schema: dict[str, Any]) -> None:
    with pytest.raises(RegistrationError, match='Tool "foreign"'):
        ToolRegistry().register(with_schema(schema))
