"""Other people's clients, in one form: the official SDK's and FastMCP's."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import fastmcp
import mcp
import mcp_types
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport
from mcp.client.context import ClientRequestContext
from mcp.shared.exceptions import MCPError

from .answers import Answer, from_mcp, from_response
from .processes import PATIENCE, environment, tool_words

Client = Literal["sdk-stdio-2025", "sdk-stdio-2026", "sdk-http-2025", "sdk-http-2026", "fastmcp-stdio", "fastmcp-http"]
CLIENTS: Final[tuple[Client, ...]] = (
    "sdk-stdio-2025",
    "sdk-stdio-2026",
    "sdk-http-2025",
    "sdk-http-2026",
    "fastmcp-stdio",
    "fastmcp-http",
)


@dataclass(kw_only=True)
class Heard:
    """What the server told the client besides answers."""

    questions: list[str] = field(default_factory=list)
    progress: list[tuple[float, float | None, str | None]] = field(default_factory=list)
    messages: list[Any] = field(default_factory=list)

    async def on_progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append((progress, total, message))


class ForeignClient(Protocol):
    """What the tests need of a client."""

    heard: Heard

    async def names(self) -> list[str]: ...

    async def call(self, name: str, arguments: dict[str, Any]) -> Answer: ...


class Official:
    """The SDK's client."""

    def __init__(self, client: mcp.Client, heard: Heard) -> None:
        self.client = client
        self.heard = heard

    async def names(self) -> list[str]:
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def call(self, name: str, arguments: dict[str, Any]) -> Answer:
        try:
            result = await self.client.call_tool(name, arguments, progress_callback=self.heard.on_progress)
        except MCPError as error:
            return _refused(error)
        return _answered(result)


class Fast:
    """FastMCP's client."""

    def __init__(self, client: "fastmcp.Client[Any]", heard: Heard) -> None:
        self._client = client
        self.heard = heard

    async def names(self) -> list[str]:
        return [tool.name for tool in await self._client.list_tools()]

    async def call(self, name: str, arguments: dict[str, Any]) -> Answer:
        try:
            result = await self._client.call_tool_mcp(name, arguments, progress_handler=self.heard.on_progress)
        except MCPError as error:
            return _refused(error)
        return _answered(result)


@asynccontextmanager
async def connected(
    kind: Client, *, url: str, tools: tuple[Path, ...], folder: Path, answer: str | None = "green"
) -> AsyncIterator[ForeignClient]:
    """A client of this kind. `answer` is what its user says when asked; without one it cannot ask."""
    heard = Heard()
    words = ["-m", "dogubako", "stdio", *tool_words(*tools)]
    if kind.startswith("fastmcp"):
        process = StdioTransport(
            sys.executable, words, env=environment(folder), cwd=str(folder), log_file=folder / "stderr"
        )
        target = process if kind == "fastmcp-stdio" else f"{url}/mcp"
        async with fastmcp.Client(target, elicitation_handler=_fast_user(heard, answer), timeout=PATIENCE) as fast:
            yield Fast(fast, heard)
        return
    server = mcp.StdioServerParameters(command=sys.executable, args=words, env=environment(folder), cwd=folder)
    with (folder / "stderr").open("w") as errors:
        sdk = mcp.Client(
            mcp.stdio_client(server, errlog=errors) if "stdio" in kind else f"{url}/mcp",
            mode="legacy" if kind.endswith("2025") else "2026-07-28",
            elicitation_callback=_sdk_user(heard, answer),
            message_handler=_listener(heard),
            read_timeout_seconds=PATIENCE,
        )
        async with sdk:
            yield Official(sdk, heard)


def _sdk_user(heard: Heard, answer: str | None) -> Any:
    async def user(context: ClientRequestContext, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
        heard.questions.append(params.message)
        return mcp_types.ElicitResult(action="accept", content={"answer": str(answer)})

    return user if answer is not None else None


def _fast_user(heard: Heard, answer: str | None) -> Any:
    async def user(message: str, response_type: Any, params: Any, context: Any) -> ElicitResult[Any]:
        heard.questions.append(message)
        return ElicitResult(action="accept", content={"answer": answer})

    return user if answer is not None else None


def _listener(heard: Heard) -> Any:
    async def listen(message: Any) -> None:
        heard.messages.append(message)

    return listen


def _answered(result: mcp_types.CallToolResult) -> Answer:
    return from_mcp(result.model_dump(by_alias=True, mode="json", exclude_none=True))


def _refused(error: MCPError) -> Answer:
    return from_response({"error": {"code": error.code, "message": error.message, "data": error.data}})
