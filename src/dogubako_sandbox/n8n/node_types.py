"""The node types of the sandbox, described by us, as far as this n8n itself goes by them."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

JsonObject = dict[str, Any]

_FOLDER: Final = Path(__file__).parent / "node_types"
_UNFIT: Final = "Cannot publish workflow: 1 node have configuration issues:"


@cache
def _descriptions() -> Mapping[str, list[JsonObject]]:
    known: dict[str, list[JsonObject]] = {}
    for file in sorted(_FOLDER.rglob("nodes.json")):
        package = file.parent.relative_to(_FOLDER).as_posix()
        for one in msgspec.json.decode(file.read_bytes(), type=list[JsonObject]):
            known.setdefault(f"{package}.{one['name']}", []).append(one)
    return known


def _versions(description: JsonObject) -> list[float]:
    written = description["version"]
    return written if isinstance(written, list) else [written]


def _description(node: Mapping[str, Any]) -> JsonObject | None:
    """The description of a node at its version. A type with a single description takes any version."""
    known = _descriptions().get(str(node.get("type")), [])
    fitting = [one for one in known if node.get("typeVersion", 1) in _versions(one)]
    return fitting[0] if fitting else known[0] if len(known) == 1 else None


def understood(node: Mapping[str, Any]) -> JsonObject:
    """The parameters that the node type knows: n8n drops the others when a workflow runs."""
    parameters: JsonObject = dict(node.get("parameters") or {})
    description = _description(node)
    if description is None or description.get("partial"):
        return parameters
    names = {one["name"] for one in description["properties"]}
    return {name: value for name, value in parameters.items() if name in names}


def refusal(node: Mapping[str, Any]) -> str | None:
    """The reason for which n8n does not publish a node, if it has one of those that we imitate."""
    known = _descriptions().get(str(node.get("type")), [])
    description = _description(node)
    if description is None and known:
        name, version = known[0]["name"], node.get("typeVersion", 1)
        versions = sorted({one for each in known for one in _versions(each)})
        listed = ", ".join(f"{one:g}" for one in versions)
        return (
            f'Node type "{name}" is not available in version {version:g}. Available versions: {listed}. '
            f"Use the latest version {versions[-1]:g}."
        )
    required = [one for one in (description or {}).get("properties", ()) if one.get("required")]
    always = [one["name"] for one in required if "displayOptions" not in one]
    missing = [name for name in always if not (node.get("parameters") or {}).get(name)]
    if missing and not node.get("disabled"):
        return (
            f'{_UNFIT}\n\nNode "{node.get("name")}":\n  - Missing or invalid required parameters: {", ".join(missing)}'
        )
    return None
