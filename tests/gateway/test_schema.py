"""Schemas for clients: JSON Schema 2020-12 without references, of bounded size; arguments meet the original."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from dogubako.contract.call import ToolResult
from dogubako.contract.output import Blocks
from dogubako.gateway.schema import normalised
from dogubako.gateway.upstream_tool import usable_definitions

from .boxes import Fleet, ScriptedUpstream, eventually, offering, tool

NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "value": {"type": "integer"}}}


def test_references_are_replaced_and_one_that_leads_into_itself_is_cut() -> None:
    schema = normalised({"type": "object", "properties": {"list": {"$ref": "#/$defs/node"}}, "$defs": {"node": NODE}})

    assert schema["properties"]["list"] == {
        "type": "object",
        "properties": {"next": {"type": "object"}, "value": {"type": "integer"}},
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(
            {"definitions": {"a": {"type": "string"}}, "$ref": "#/definitions/a"}, {"type": "string"}, id="ref"
        ),
        pytest.param(
            {"type": "array", "items": [{"type": "string"}], "additionalItems": False},
            {"type": "array", "prefixItems": [{"type": "string"}], "items": {"not": {}}},
            id="a tuple",
        ),
        pytest.param(
            {"type": "number", "minimum": 3, "exclusiveMinimum": True},
            {"type": "number", "minimum": 3, "exclusiveMinimum": 3},
            id="an exclusive bound of draft 4",
        ),
        pytest.param(
            {"type": "object", "dependencies": {"a": ["b"], "c": {"required": ["d"]}}},
            {"type": "object", "dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"required": ["d"]}}},
            id="dependencies",
        ),
        pytest.param({"$ref": "https://x.example/schema.json"}, {}, id="another document"),
        pytest.param(
            {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}, {"type": "string"}, id="or null"
        ),
        pytest.param(True, {}, id="true"),
        pytest.param({"type": "string", "description": None, "title": "T"}, {"type": "string"}, id="null and title"),
    ],
)
def test_older_drafts_are_written_as_2020_12(old: Any, new: Any) -> None:
    document = {"definitions": old["definitions"]} if isinstance(old, dict) and "definitions" in old else {}
    part = {key: value for key, value in old.items() if key != "definitions"} if isinstance(old, dict) else old
    schema = normalised({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": part}, **document})

    assert schema == {"type": "object", "properties": {"a": new}}
    jsonschema_rs.Draft202012Validator(schema)


def test_a_schema_that_would_grow_without_end_stays_small() -> None:
    parts = {
        f"p{n}": {"type": "object", "properties": {k: {"$ref": f"#/$defs/p{n + 1}"} for k in "abcd"}} for n in range(20)
    }
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/p0"}}, "$defs": {**parts, "p20": {}}}

    assert len(json.dumps(normalised(schema))) < 1_000_000


def test_a_current_schema_keeps_its_name_and_its_named_parts() -> None:
    current = "https://json-schema.org/draft/2020-12/schema"
    schema = normalised({"$schema": current, "type": "object", "$defs": {"a": {"type": "string"}}})

    assert (schema["$schema"], schema["$defs"]) == (current, {"a": {"type": "string"}})


def test_a_tool_without_a_usable_schema_costs_the_others_nothing() -> None:
    broken = {**tool("broken"), "inputSchema": {"type": "object", "properties": {"a": {"type": "strnig"}}}}
    missing = {"name": "missing"}
    found = usable_definitions(offering(tool("good"), broken, missing, {"name": 3}, "no object"))  # type: ignore[arg-type]

    assert [one["name"] for one in found.tools] == ["good"]
    assert len(found.faults) == 4


@pytest.mark.anyio
async def test_arguments_are_checked_against_the_original(tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "properties": {"list": {"$ref": "#/definitions/node"}},
        "required": ["list"],
        "definitions": {
            "node": {**NODE, "properties": {"next": {"$ref": "#/definitions/node"}, "value": {"type": "integer"}}}
        },
    }
    fleet = Fleet(lists={"one": offering({**tool("walk"), "inputSchema": schema})})
    box = fleet.box(tmp_path, {"one": {"pinning": "off"}})
    async with box.running():
        await eventually(lambda: "walk" in box.servers.packs["one"].served)
        good = await box.call("walk", {"list": {"next": {"next": {"value": 3}}}})
        bad = await box.call("walk", {"list": {"next": {"next": {"value": "three"}}}})
        none = await box.call("walk", {})

    assert (good.is_error, bad.is_error, none.is_error) == (False, True, True)
    assert len(fleet.calls) == 1


PROMISED = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("structured", "shown", "texts"),
    [
        pytest.param({"n": 1}, {"n": 1}, ["text"], id="as promised"),
        pytest.param({"n": "one"}, {}, ["text"], id="against its schema"),
        pytest.param(None, {}, ["text"], id="nothing"),
        pytest.param({"n": 1, "big": "x" * 400_000}, {}, ["text"], id="too large"),
    ],
)
async def test_wrong_or_large_structured_data_never_costs_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, structured: Any, shown: Any, texts: list[str]
) -> None:
    async def call_tool(self: ScriptedUpstream, *args: Any, **options: Any) -> Blocks:
        return Blocks(content=[{"type": "text", "text": "text"}], structured=structured)

    monkeypatch.setattr(ScriptedUpstream, "call_tool", call_tool)
    fleet = Fleet(lists={"one": offering(tool("count", outputSchema=PROMISED))})
    box = fleet.box(tmp_path, {"one": {"pinning": "off"}})
    async with box.running():
        await eventually(lambda: "count" in box.servers.packs["one"].served)
        result: ToolResult = await box.call("count", {})
        schema = box.registry.get("count").metadata.output_schema

    assert not result.is_error
    assert result.structured == shown
    assert [block["text"] for block in result.content] == texts
    assert schema is not None
    jsonschema_rs.Draft202012Validator(dict(schema)).validate(result.structured)
