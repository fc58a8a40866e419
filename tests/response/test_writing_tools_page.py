"""The example of docs/writing-tools.md runs as it stands there."""

import re
from pathlib import Path
from typing import Any

from dogubako.app import build
from dogubako.settings import Sources
from dogubako.tools import BaseTool, ToolPack

_PAGE = Path(__file__).parents[2] / "docs" / "writing-tools.md"


def _tool_named(name: str) -> BaseTool[Any, Any]:
    blocks = re.findall(r"^```python[^\n]*\n(.*?)^```", _PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    [source] = [block for block in blocks if f"def {name}(" in block]
    names: dict[str, Any] = {"__name__": __name__}
    exec(source, names)
    found: BaseTool[Any, Any] = names[name]
    return found


async def test_blocks_of_another_server() -> None:
    pack = ToolPack("page", (_tool_named("far_weather"),))
    result = await build(Sources(overrides={}, environ={}, env_file=None), packs=[pack]).call("far_weather")

    assert result.content == (
        {"type": "text", "text": "Sunny, 21 °C", "annotations": {"audience": ["user"]}},
        {"type": "text", "text": "[A block of type 'video' was left out: MCP has no such type.]"},
    )
    assert result.structured is None
