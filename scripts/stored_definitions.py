"""What the tools of the built-in packs say of themselves, as files: a list then needs none of their modules."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import msgspec

from dogubako.contract.stored_tool import Definition
from dogubako.contract.tool import BaseTool

# The packs whose definitions are stored.
STORED = ("n8n", "redmine", "web")
_ATTRIBUTES = [name for name in Definition.__struct_fields__ if name not in ("schema", "answer_schema")]


def stored_definitions() -> dict[str, str]:
    """The text of each file, by its path."""
    return {f"src/dogubako/packs/{pack}/definitions.json": _text(tool_classes(pack)) for pack in STORED}


def tool_classes(pack: str) -> Sequence[type[BaseTool[Any, Any]]]:
    """The tools of a pack, without its file."""
    tools: Sequence[type[BaseTool[Any, Any]]] = import_module(f"dogubako.packs.{pack}.tools").TOOLS
    return tools


def _text(tools: Sequence[type[BaseTool[Any, Any]]]) -> str:
    """A line for each tool: a change is then seen where it is."""
    lines = [msgspec.json.encode(definition_of(one())).decode() for one in tools]
    return "[\n{}\n]\n".format(",\n".join(lines))


def definition_of(tool: BaseTool[Any, Any]) -> Definition:
    """Everything that the server knows of a tool before it is called."""
    return Definition(
        **{name: getattr(tool, name) for name in _ATTRIBUTES},
        schema=msgspec.Raw(msgspec.json.encode(tool.input_schema())),
        answer_schema=msgspec.Raw(msgspec.json.encode(tool.output_schema())),
    )
