"""Clients with a user behind them, who is asked and reacts; other people's clients, not our own."""

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import mcp
import mcp_types
from mcp.shared.exceptions import MCPError

from tests.doors.answers import Answer, from_mcp, from_response
from tests.doors.processes import PATIENCE, environment, tool_words

from .sheds import SHED

MODES: Final = {"2025": "legacy", "2026": "2026-07-28"}


@dataclass(kw_only=True)
class User:
    """Reacts to every question in the same way, and remembers them. `watch` is told before each reaction."""

    action: str = "accept"
    content: dict[str, Any] | None = None
    watch: Callable[[], None] = lambda: None
    questions: list[str] = field(default_factory=list)

    async def react(self, context: Any, params: Any) -> mcp_types.ElicitResult:
        self.questions.append(params.message)
        self.watch()
        return mcp_types.ElicitResult.model_validate({"action": self.action, "content": self.content})


class SdkClient:
    """The official SDK's client, connected."""

    def __init__(self, client: mcp.Client) -> None:
        self._client = client

    async def call(self, name: str, arguments: dict[str, Any]) -> Answer:
        try:
            result = await self._client.call_tool(name, arguments)
        except MCPError as error:
            return from_response({"error": {"code": error.code, "message": error.message, "data": error.data}})
        except RuntimeError as error:
            # Asked the same again and again, this client gives up.
            return from_response({"error": {"code": 0, "message": str(error), "data": {"code": "GAVE_UP"}}})
        return from_mcp(result.model_dump(by_alias=True, mode="json", exclude_none=True))


@asynccontextmanager
async def over_http(url: str, era: str, user: User | None) -> AsyncIterator[SdkClient]:
    client = mcp.Client(
        f"{url}/mcp",
        mode=MODES[era],
        elicitation_callback=user.react if user else None,
        read_timeout_seconds=PATIENCE,
    )
    async with client:
        yield SdkClient(client)


@asynccontextmanager
async def over_stdio(folder: Path, era: str, user: User | None) -> AsyncIterator[SdkClient]:
    words = ["-m", "dogubako", "stdio", *tool_words(SHED)]
    server = mcp.StdioServerParameters(command=sys.executable, args=words, env=environment(folder), cwd=folder)
    with (folder / "stderr").open("w") as errors:
        client = mcp.Client(
            mcp.stdio_client(server, errlog=errors),
            mode=MODES[era],
            elicitation_callback=user.react if user else None,
            read_timeout_seconds=PATIENCE,
        )
        async with client:
            yield SdkClient(client)
