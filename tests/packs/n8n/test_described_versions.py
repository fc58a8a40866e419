"""A description names what its version has: options inside of collections, choices, and sub-nodes that it needs."""

from pathlib import Path
from typing import Any

import msgspec

from .wired import bench

OLD = {"show": {"@version": [{"_cnd": {"lt": 2}}]}}
NEW = {"hide": {"@version": [{"_cnd": {"lt": 2}}]}}
PUT = {"show": {"/operation": ["put"]}}


def parameter(name: str, kind: str = "string", **more: Any) -> dict[str, Any]:
    return {"name": name, "displayName": name, "type": kind, "default": "", **more}


PRESS = {
    "name": "press",
    "displayName": "Press",
    "group": ["transform"],
    "version": [1, 2],
    "description": "Presses",
    "inputs": "={{ [] }}",
    "outputs": ["main"],
    "builderHint": {
        "inputs": {
            "ai_languageModel": {"required": True},
            "ai_memory": {"required": False},
            "ai_document": {"required": True, "displayOptions": {"show": {"operation": ["put"]}}},
            "ai_tool": {"required": True, "displayOptions": {"show": {"options.deep": [True]}}},
            "ai_embedding": {"required": True, "displayOptions": OLD},
        }
    },
    "properties": [
        parameter(
            "operation",
            "options",
            default="get",
            options=[{"name": one, "value": one} for one in ("get", "put")],
        ),
        parameter(
            "mode",
            "options",
            options=[{"name": "a", "value": "a", "displayOptions": OLD}, {"name": "b", "value": "b"}],
        ),
        parameter(
            "options",
            "collection",
            default={},
            options=[
                parameter("gone", displayOptions=OLD),
                parameter("come", displayOptions=NEW),
                parameter("putting", displayOptions=PUT),
                parameter("secret", "hidden"),
                parameter(
                    "deep",
                    "fixedCollection",
                    default={},
                    options=[
                        {"name": "row", "values": [parameter("lost", displayOptions=OLD), parameter("kept")]},
                    ],
                ),
            ],
        ),
    ],
}


def node_types(folder: Path) -> str:
    """An installation of a package with one node type."""
    package = folder / "n8n-nodes-base"
    (package / "dist" / "types").mkdir(parents=True)
    (package / "package.json").write_bytes(msgspec.json.encode({"name": package.name, "version": "2.41.1"}))
    (package / "dist" / "types" / "nodes.json").write_bytes(msgspec.json.encode([PRESS]))
    return str(folder)


def line_of(described: dict[str, Any], name: str) -> str:
    return str(next(line for line in described["parameters"] if line.startswith(f"{name}:")))


async def test_options_and_choices_of_other_versions_are_left_out(tmp_path: Path) -> None:
    async with bench(tmp_path, N8N_NODE_TYPES=node_types(tmp_path / "n8n")) as n8n:
        old = await n8n.data("describe_node", type="press", version=1, operation="get")
        new = await n8n.data("describe_node", type="press", operation="get")
        put = await n8n.data("describe_node", type="press", operation="put")
        whole = await n8n.data("describe_node", type="press", parameter="options")

    assert line_of(old, "options").startswith("options: {gone, deep: {…}}")
    assert line_of(new, "options").startswith("options: {come, deep: {…}}")
    assert line_of(put, "options").startswith("options: {come, putting, deep: {…}}")
    assert [line_of(one, "mode").split(" ")[1] for one in (old, new)] == ["a|b", "b"]
    assert [line.split(":")[0] for line in whole["options"]] == ["come", "putting", "deep"]
    assert "lost" not in str(whole)
    assert "kept" in str(whole)


async def test_the_sub_nodes_that_a_node_needs_are_named_with_their_conditions(tmp_path: Path) -> None:
    async with bench(tmp_path, N8N_NODE_TYPES=node_types(tmp_path / "n8n")) as n8n:
        open_yet = await n8n.data("describe_node", type="press")
        put = await n8n.data("describe_node", type="press", operation="put")
        got = await n8n.data("describe_node", type="press", operation="get")

    tool = "ai_tool [options.deep=true]"
    assert open_yet["needsConnected"] == ["ai_languageModel", "ai_document [operation=put]", tool]
    assert put["needsConnected"] == ["ai_languageModel", "ai_document", tool]
    assert got["needsConnected"] == ["ai_languageModel", tool]
