"""A tool's metadata as REST and the command line show it, in camelCase."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from dogubako.engine.entry import ToolRegistryEntry
from dogubako.engine.registry import ToolRegistry


def tool_detail(registry: ToolRegistry, name: str) -> dict[str, Any]:
    """Everything about one tool."""
    entry = registry.get(name)
    detail: dict[str, Any] = {
        **tool_info(entry),
        "registeredAt": entry.registered_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "dependencies": entry.dependencies,
        "versions": [one.version for one in registry.versions(name)],
        "inputSchema": entry.metadata.input_schema,
    }
    if entry.metadata.output_schema is not None:
        detail["outputSchema"] = entry.metadata.output_schema
    return detail


def tool_info(entry: ToolRegistryEntry) -> dict[str, Any]:
    """A tool's metadata in camelCase; what a tool does not have is left out."""
    metadata, status = entry.metadata, entry.status
    info: dict[str, Any] = {
        "name": metadata.name,
        "title": metadata.title,
        "description": metadata.description,
        "parameters": [_known(asdict(one)) for one in metadata.parameters],
        "version": metadata.version,
        "category": entry.category,
        "tags": entry.tags,
        "author": metadata.author,
        "examples": [
            _known(
                {"description": one.description, "parameters": one.parameters, "expectedResult": one.expected_result}
            )
            for one in metadata.examples
        ],
        "enabled": status.enabled,
        "reason": status.reason,
        "effect": metadata.effect.value,
    }
    return _known(info)


def _known(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}
