"""A pack whose tools come and go while the server runs, as those of a gateway do."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from dogubako import Context, Effect, Pack, tool
from dogubako.tools import Host, PackSettings, SchemaTool


class MovingSettings(PackSettings):
    pass


_SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


async def _repeat(arguments: Mapping[str, Any], context: Context[Any]) -> str:
    return f"newcomer says {arguments['text']}"


class MovingPack(Pack[MovingSettings, Host]):
    name = "moving"
    settings = MovingSettings

    @asynccontextmanager
    async def connect(self, settings: MovingSettings, host: Host) -> AsyncIterator[Host]:
        hosts.append(host)
        yield host
        hosts.remove(host)


hosts: list[Host] = []


@tool(effect=Effect.READ)
async def come() -> str:
    """Bring another tool."""
    hosts[-1].add(SchemaTool("newcomer", "Repeat the text.", _SCHEMA, _repeat, effect=Effect.READ, talks=False))
    return "it came"


@tool(effect=Effect.READ)
async def go() -> str:
    """Take it away again."""
    hosts[-1].remove("newcomer")
    return "it went"


MovingPack.tools = (come, go)
PACK = MovingPack()
