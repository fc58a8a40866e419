"""A tool that tells how long the server's event loop stood still since it was last asked, and the memory it has."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from dogubako import Context, Effect, Pack, tool
from tests.heartbeat import Heartbeat


@tool(effect=Effect.READ, open_world=False)
async def heartbeat(context: Context) -> dict[str, float]:
    """The longest stall of the event loop since the last call in milliseconds, and the resident memory in MB."""
    heart: Heartbeat = context.client
    return {"stall_ms": round(heart.take() * 1000, 1), "rss_mb": round(resident_bytes() / 1024 / 1024, 1)}


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class HeartbeatPack(Pack[Any, Heartbeat]):
    name = "heartbeat"
    tools = (heartbeat,)

    @asynccontextmanager
    async def connect(self, settings: Any, host: Any) -> AsyncIterator[Heartbeat]:
        with Heartbeat() as heart:
            yield heart


PACK = HeartbeatPack()
