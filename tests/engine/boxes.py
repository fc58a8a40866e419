"""A whole toolbox around a few tools, reached by its Python door."""

from collections.abc import Sequence
from typing import Any

from dogubako import Pack
from dogubako.app import Toolbox, build
from dogubako.settings import Sources
from dogubako.tools import BaseTool, ToolPack

Tools = type[BaseTool[Any, Any]] | BaseTool[Any, Any]


def box_of(*tools: Tools, packs: Sequence[Pack[Any, Any]] = (), **settings: Any) -> Toolbox:
    """A toolbox with these tools in a pack called `test`, untouched by this machine's environment and files."""
    sources = Sources(overrides=settings, environ={}, env_file=None)
    mine = [ToolPack("test", tools)] if tools else []
    return build(sources, packs=[*mine, *packs])
