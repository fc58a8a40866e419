"""Descriptions become definitions of tools: every operation is read, or named with the reason."""

import json
from pathlib import Path
from typing import Any

import pytest

from dogubako.openapi.definitions import REQUEST
from dogubako.openapi.description import Described, Wanted, read_description
from dogubako.openapi.document import DescriptionError

ADDRESS = "https://api.example.com/openapi.json"


def described(document: dict[str, Any], **wanted: Any) -> Described:
    return read_description(Wanted(address=ADDRESS, content=json.dumps(document).encode(), **wanted))


def openapi(paths: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"openapi": "3.1.0", "info": {"title": "Pets", "version": "1"}, "paths": paths, **others}


def tool(found: Described, name: str) -> dict[str, Any]:
    return next(one for one in found.tools if one["name"] == name)


def schema_of(found: Described, name: str) -> Any:
    return tool(found, name)["inputSchema"]


LIST_PETS = {
    "operationId": "listPets",
    "summary": "List pets",
    "parameters": [{"name": "limit", "in": "query", "schema": {"type": "integer"}}],
}


def test_an_operation_becomes_a_tool_with_flat_arguments() -> None:
    body = {
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {"name": {"type": "string"}, "tag": {"type": "string"}},
                }
            }
        },
        "required": True,
    }
    path = {"name": "owner", "in": "path", "required": True, "schema": {"type": "string"}, "description": "Whose pet."}
    found = described(
        openapi(
            {"/owners/{owner}/pets": {"post": {"operationId": "addPet", "parameters": [path], "requestBody": body}}}
        )
    )
    schema = schema_of(found, "addPet")

    assert schema["required"] == ["owner", "name"] and schema["additionalProperties"] is False
    assert schema["properties"]["owner"] == {"type": "string", "description": "Whose pet."}
    assert tool(found, "addPet")["annotations"] == {
        "readOnlyHint": False,
        "destructiveHint": False,
        "idempotentHint": False,
    }
    assert tool(found, "addPet")["description"] == "POST https://api.example.com/owners/{owner}/pets"


@pytest.mark.parametrize(
    ("method", "effect"),
    [
        ("get", (True, False, True)),
        ("put", (False, False, True)),
        ("patch", (False, False, False)),
        ("delete", (False, True, True)),
    ],
)
def test_effects_follow_the_method(method: str, effect: tuple[bool, bool, bool]) -> None:
    found = described(openapi({"/pets": {method: {"operationId": "act"}}}))
    assert tuple(tool(found, "act")["annotations"].values()) == effect


def test_an_operation_without_words_is_described_by_its_request() -> None:
    found = described(openapi({"/pets": {"get": {**LIST_PETS}, "post": {"operationId": "addPet"}}}))

    assert tool(found, "listPets")["description"].splitlines() == ["List pets", "GET https://api.example.com/pets"]
    assert tool(found, "addPet")["description"] == "POST https://api.example.com/pets"


def test_names_come_from_the_path_where_there_is_no_id_and_equal_ones_are_numbered() -> None:
    paths = {
        "/b": {"get": {"operationId": "same"}},
        "/a": {"get": {"operationId": "same"}},
        "/pets/{id}": {"get": {"parameters": [{"name": "id", "in": "path", "schema": {}}]}},
        "/x": {"get": {"operationId": "ペット一覧"}},
        "/long": {"get": {"operationId": "x" * 100}},
    }
    found = described(openapi(paths))
    by_path = {one["_meta"][REQUEST]["path"]: one["name"] for one in found.tools}

    assert by_path == {"/a": "same", "/b": "same_2", "/pets/{id}": "get_pets_by_id", "/x": "get_x", "/long": "x" * 64}


def test_one_argument_name_in_two_places_becomes_two_arguments() -> None:
    parameters = [
        {"name": "id", "in": place, "schema": {"type": "string"}, "required": True}
        for place in ("path", "query", "header")
    ]
    found = described(openapi({"/pets/{id}": {"get": {"operationId": "get", "parameters": parameters}}}))
    assert [*schema_of(found, "get")["properties"]] == ["id", "id_query", "id_header", "fields"]


def test_a_cycle_is_cut_with_a_note_and_inherited_parts_are_merged() -> None:
    node = {
        "type": "object",
        "properties": {"child": {"$ref": "#/components/schemas/Node"}, "name": {"type": "string"}},
    }
    base = {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"type": "string"}, "id": {"type": "integer", "readOnly": True}},
    }
    schemas = {"Node": node, "Base": base, "Cat": {"allOf": [{"$ref": "#/components/schemas/Base"}, node]}}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Cat"}}}, "required": True}
    found = described(
        openapi({"/cats": {"post": {"operationId": "add", "requestBody": body}}}, components={"schemas": schemas})
    )
    properties = schema_of(found, "add")["properties"]

    assert {*properties} == {"kind", "child", "name"}, "a field that only answers have is no argument"
    assert "$ref" not in json.dumps(found.tools) and "not written out" in json.dumps(properties["child"])
    assert schema_of(found, "add")["required"] == ["kind"]


def test_a_faulty_operation_costs_no_other() -> None:
    paths = {
        "/good": {"get": LIST_PETS},
        "/gone": {"get": {"parameters": [{"$ref": "#/components/parameters/Gone"}]}},
        "/unnamed/{id}": {"get": {}},
        "/list": {"get": [1, 2]},
        "/loop": {"$ref": "#/paths/~1loop"},
        "/elsewhere": {"get": {"requestBody": {"$ref": "https://evil.example.net/x.json"}}},
        "no slash": {"get": {}},
    }
    found = described(openapi(paths))

    assert [one["name"] for one in found.tools] == ["listPets"]
    assert len(found.faults) == 6
    faults = "\n".join(found.faults)
    assert "leads nowhere" in faults and "which no parameter describes" in faults and "another server" in faults


def test_deprecated_and_unwanted_operations_are_left_out() -> None:
    paths = {
        "/old": {"get": {"operationId": "old", "deprecated": True}},
        "/pets": {"get": {**LIST_PETS, "tags": ["pets"]}, "delete": {"operationId": "drop"}},
    }

    def names(**wanted: Any) -> list[str]:
        return [one["name"] for one in described(openapi(paths), **wanted).tools]

    assert names() == ["listPets", "drop"] and names(deprecated=True) == ["old", "listPets", "drop"]
    assert (
        names(tags=("pets",)) == ["listPets"] and names(methods=("DELETE",)) == ["drop"] and names(paths=("/o*",)) == []
    )
    assert any("deprecated" in fault for fault in described(openapi(paths)).faults)


SWAGGER = {
    "swagger": "2.0",
    "host": "old.example.com",
    "basePath": "/v1",
    "schemes": ["http", "https"],
    "paths": {
        "/upload": {
            "post": {
                "operationId": "upload",
                "consumes": ["multipart/form-data"],
                "parameters": [
                    {"name": "file", "in": "formData", "type": "file", "required": True},
                    {"name": "note", "in": "formData", "type": "string"},
                ],
            }
        },
        "/find": {
            "get": {
                "operationId": "find",
                "parameters": [
                    {
                        "name": "ids",
                        "in": "query",
                        "type": "array",
                        "items": {"type": "integer"},
                        "collectionFormat": "pipes",
                    }
                ],
            }
        },
        "/pets": {
            "put": {
                "operationId": "put",
                "parameters": [
                    {"name": "pet", "in": "body", "required": True, "schema": {"$ref": "#/definitions/Pet"}}
                ],
            }
        },
    },
    "definitions": {
        "Pet": {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0, "exclusiveMinimum": True}}}
    },
    "securityDefinitions": {"key": {"type": "apiKey", "name": "X-Key", "in": "header"}},
}


def test_swagger_2_is_read_like_openapi_3() -> None:
    found = described(SWAGGER)

    assert [one["name"] for one in found.tools] == ["upload", "find", "put"] and found.faults == []
    assert (
        tool(found, "upload")["_meta"][REQUEST]["body"] == "multipart"
        and "file" in schema_of(found, "upload")["required"]
    )
    assert tool(found, "find")["_meta"][REQUEST]["arguments"]["ids"]["style"] == "pipeDelimited"
    assert schema_of(found, "put")["properties"]["age"] == {"type": "integer", "exclusiveMinimum": 0}
    assert tool(found, "put")["_meta"][REQUEST]["base"] == "https://old.example.com/v1" and "key" in found.schemes


def test_yaml_keeps_dates_as_texts_and_answers_as_keys(tmp_path: Path) -> None:
    text = """
openapi: 3.0.3
info: {title: Pets, version: 2026-11-15}
paths:
  /pets:
    get:
      operationId: list
      responses:
        200: {description: ok}
"""
    found = read_description(Wanted(address=ADDRESS, content=text.encode()))
    assert found.version == "2026-11-15" and [one["name"] for one in found.tools] == ["list"]


def test_files_beside_the_description_are_read_and_no_others(tmp_path: Path) -> None:
    folder = tmp_path / "api"
    folder.mkdir()
    (tmp_path / "secret.json").write_text("{}")
    (folder / "pets.yaml").write_text("get:\n  operationId: list\n")
    document = openapi({"/pets": {"$ref": "pets.yaml"}, "/out": {"$ref": "../secret.json"}})
    address = (folder / "openapi.json").as_uri()
    found = read_description(
        Wanted(address=address, content=json.dumps(document).encode(), url="https://x.example.com")
    )

    assert [one["name"] for one in found.tools] == ["list"] and "out of the folder" in found.faults[0]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no object"),
        (b"[1]", "no object"),
        (b"<html>", "no object"),
        (b"{: :", "neither valid JSON nor valid YAML"),
        (b"openapi: [" * 5000, "neither valid JSON nor valid YAML"),
        (b'{"a": 1}', "names no version"),
        (b'{"openapi": "3.1.0", "paths": []}', "no object"),
        (b" " * (21 * 1024 * 1024), "larger than 20 MB"),
    ],
)
def test_what_is_no_description_is_refused_with_a_sentence(content: bytes, reason: str) -> None:
    with pytest.raises(DescriptionError, match=reason):
        read_description(Wanted(address=ADDRESS, content=content))


def test_a_bomb_of_references_stays_small() -> None:
    schemas: dict[str, Any] = {"L0": {"type": "string"}}
    for level in range(1, 40):
        ref = {"$ref": f"#/components/schemas/L{level - 1}"}
        schemas[f"L{level}"] = {"type": "object", "properties": {f"p{index}": ref for index in range(20)}}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/L39"}}}, "required": True}
    found = described(
        openapi({"/bomb": {"post": {"operationId": "bomb", "requestBody": body}}}, components={"schemas": schemas})
    )
    assert len(json.dumps(found.tools)) < 1_000_000


def test_a_thousand_operations_are_all_there() -> None:
    paths = {f"/things/{number}": {"get": {"operationId": f"thing_{number}"}} for number in range(1000)}
    assert len({one["name"] for one in described(openapi(paths)).tools}) == 1000


def test_a_key_that_is_also_described_as_a_parameter_is_no_argument() -> None:
    key = {"name": "Api_Key", "in": "header", "schema": {"type": "string"}}
    same_name = {"name": "api_key", "in": "query", "schema": {"type": "string"}}
    schemes = {"key": {"type": "apiKey", "in": "header", "name": "api_key"}}
    found = described(
        openapi(
            {"/pets": {"delete": {"operationId": "drop", "parameters": [key, same_name]}}},
            components={"securitySchemes": schemes},
        )
    )

    sent = tool(found, "drop")["_meta"][REQUEST]["arguments"]
    assert [(name, one["place"]) for name, one in sent.items()] == [("api_key", "query")]
