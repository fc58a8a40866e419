"""Real servers of other people behind ours: every tool is listed, found, and called by the name that is shown.

`make test-servers` runs those that need no network; `make test-fleet` runs all.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dogubako.app import Toolbox, build
from dogubako.contract.call import TRUSTED, ToolResult
from dogubako.settings import Sources
from dogubako.transports.mcp import lists
from tests.doors import waiting

from .fleet import OFFLINE, ONLINE, RealServer

pytestmark = pytest.mark.anyio

# A server may take half a minute to start on a busy machine.
_START_SECONDS = 240
_PETSTORE = {
    "openapi": "3.0.0",
    "info": {"title": "Pets", "version": "1"},
    "paths": {
        path: {"get": {"operationId": name, "responses": {"200": {"description": "OK"}}}}
        for path, name in (("/pets", "listPets"), ("/owners", "listOwners"))
    },
}

ALL = [pytest.param(server, id=server.name, marks=pytest.mark.real_servers) for server in OFFLINE] + [
    pytest.param(server, id=server.name, marks=pytest.mark.fleet) for server in ONLINE
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with a file, and what some servers want to find."""
    place = tmp_path / "work"
    place.mkdir()
    (place / "note.txt").write_text("hello\n")
    (place / "petstore.json").write_text(json.dumps(_PETSTORE))
    subprocess.run(["git", "init", "--quiet", str(place)], check=True, timeout=60)
    return place


def box_with(server: RealServer, tmp_path: Path, folder: Path) -> Toolbox:
    settings = {"data_dir": tmp_path / "data", "discovery": "full", "confirm": "argument", "packs": ("core",)}
    return build(Sources.only(settings, {"servers": {server.name: {**server.table(folder), "pinning": "off"}}}))


@pytest.mark.parametrize("server", ALL)
async def test_every_tool_of_a_real_server_is_listed_found_and_called(
    server: RealServer, tmp_path: Path, folder: Path
) -> None:
    box = box_with(server.installed(), tmp_path, folder)
    async with box.running():
        pack = box.servers.packs[server.name]
        await waiting.until(lambda: bool(pack.served), f"{server.name} lists its tools: {pack.state}", _START_SECONDS)
        shown = [one["name"] for one in lists.tools(box, TRUSTED)["tools"] if one["name"] in pack.served]
        lost = [name for name in shown if name not in _found(box, name)]
        outcome = await box.call(*_call(server, folder)) if server.call is not None else None

    assert (len(shown), pack.faults) == (server.tools, [])
    assert lost == []
    if outcome is not None and server.call is not None:
        assert (outcome.is_error, server.call[2] in _text(outcome)) == (False, True), _text(outcome)


def _found(box: Toolbox, name: str) -> list[str]:
    words = name.replace("_", " ").replace("-", " ")
    return [match.entry.name for match in box.registry.search(words).matches]


def _call(server: RealServer, folder: Path) -> tuple[str, dict[str, Any]]:
    assert server.call is not None
    name, arguments, _ = server.call
    return name, {
        key: value.format(folder=folder) if isinstance(value, str) else value for key, value in arguments.items()
    }


def _text(result: ToolResult) -> str:
    return " ".join(block.get("text", "") for block in result.content)


@pytest.mark.real_servers
@pytest.mark.parametrize("server", [one for one in OFFLINE if one.name != "fetch"], ids=lambda one: one.name)
async def test_every_tool_of_a_real_server_is_known_to_it_by_the_name_that_is_shown(
    server: RealServer, tmp_path: Path, folder: Path
) -> None:
    """Each is called with the least that its schema allows: it may fail, but not because there is no such tool."""
    box = box_with(server.installed(), tmp_path, folder)
    unknown = []
    async with box.running():
        pack = box.servers.packs[server.name]
        await waiting.until(lambda: bool(pack.served), f"{server.name} lists its tools: {pack.state}", _START_SECONDS)
        for name, tool in list(pack.served.items()):
            result = await box.call(name, {**_least(tool.input_schema(), folder), **_confirmed(tool)})
            code = result.error.code if result.error is not None else "OK"
            if (
                code in ("TOOL_NOT_FOUND", "VALIDATION_ERROR", "TOOL_EXECUTION_ERROR")
                and "tool" in _text(result).lower()
            ):
                unknown.append((name, code, _text(result)[:200]))

    assert unknown == []


def _confirmed(tool: Any) -> dict[str, bool]:
    return {"confirm": True} if tool.effect.value == "destroy" else {}


def _least(schema: dict[str, Any], folder: Path) -> Any:
    """The smallest value that a schema allows."""
    if "default" in schema or "const" in schema:
        return schema.get("const", schema.get("default"))
    if "enum" in schema:
        return schema["enum"][0]
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return _least(schema[key][0], folder)
    match schema.get("type"):
        case "object":
            properties = schema.get("properties", {})
            return {name: _least(properties.get(name, {}), folder) for name in schema.get("required", [])}
        case "array":
            return [_least(schema.get("items", {}), folder)] * schema.get("minItems", 0)
        case "integer" | "number":
            return max(schema.get("minimum", 1), 1)
        case "boolean":
            return False
    return str(folder) if schema.get("type", "string") == "string" else None
