"""Test tools in memory: through the same pipeline as every transport, without a server process and its settings.

async with client("weather.py") as box:
    result = await box.call("weather", city="Kyoto")
    assert result.data["city"] == "Kyoto"
"""

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from inspect import isawaitable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dogubako.app import Toolbox, build
from dogubako.contract.call import ToolCall, ToolResult
from dogubako.contract.conversation import ElicitRequest, ElicitResult, InputAnswer, InputRequests
from dogubako.contract.errors import CapabilityRequiredError
from dogubako.contract.output import parse_call
from dogubako.loading import ToolSource
from dogubako.response.check import assert_mcp_tool_response
from dogubako.settings import Sources

__all__ = ["Client", "assert_mcp_tool_response", "client", "parse_call"]

# The user's reply to a question: the fields of the form, or None to decline.
Reply = Callable[[str], Mapping[str, Any] | Awaitable[Mapping[str, Any] | None] | None]


class Client:
    """Calls the tools of one toolbox as an MCP client does, and checks that every answer is a valid MCP result."""

    def __init__(self, box: Toolbox, reply: Reply | None) -> None:
        self.box = box
        # Every progress report of a tool: done, total, message.
        self.progress: list[tuple[float, float | None, str | None]] = []
        # Every line that a tool sent to the client's log: level, message.
        self.logs: list[tuple[str, str]] = []
        self._reply = reply

    async def call(self, tool: str, /, **arguments: Any) -> ToolResult:
        """Call a tool and return its result. A failure is a result too: look at `is_error`, `error.code` and `text`."""
        conversation = _Person(self, self._reply)
        result = await self.box.pipeline.handle(ToolCall(name=tool, parameters=arguments, conversation=conversation))
        assert_mcp_tool_response(result.to_mcp())
        # Observers are told on the next turn of the event loop.
        await asyncio.sleep(0)
        return result

    async def read(self, uri: str) -> str | bytes:
        """Return the text or the bytes of a resource."""
        contents = await self.box.read(uri)
        text: str | None = contents.get("text")
        return text if text is not None else b64decode(contents["blob"])

    async def prompt(self, name: str, /, **arguments: str) -> list[str]:
        """Render a prompt and return the texts of its messages."""
        _, messages = await self.box.render(name, arguments)
        return [message["content"]["text"] for message in messages if message["content"]["type"] == "text"]

    def tools(self) -> list[str]:
        """Return the names of all tools, in the order in which they are listed."""
        return [entry.name for entry in self.box.registry.list()]


class _Person:
    """Answers questions with the test's function, and records progress and log lines."""

    def __init__(self, client: Client, reply: Reply | None) -> None:
        self._client = client
        self._reply = reply

    def supports(self, capability: str) -> bool:
        return capability == "elicitation" and self._reply is not None

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        self._client.progress.append((done, total, message))

    async def log(self, level: str, message: str) -> None:
        self._client.logs.append((level, message))

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        return {key: await self._answer(request) for key, request in requests.items()}

    async def _answer(self, request: Any) -> ElicitResult:
        if not isinstance(request, ElicitRequest) or self._reply is None:
            raise CapabilityRequiredError("sampling" if not isinstance(request, ElicitRequest) else "elicitation")
        reply = self._reply(request.message)
        content = await reply if isawaitable(reply) else reply
        return (
            ElicitResult(action="decline", content={})
            if content is None
            else ElicitResult(action="accept", content=content)
        )


@asynccontextmanager
async def client(*tools: ToolSource, reply: Reply | None = None, **settings: Any) -> AsyncIterator[Client]:
    """Start a toolbox with these files, packs and tools, and with the built-in tools that search for tools.

    `reply` gets the text of a question to the user and returns the fields of the form, or None to decline. `settings`
    are settings of the server, such as `read_only=True` or `max_response_tokens=2_000`, and of packs, as tables with
    their names: `notes={"folder": "/tmp"}`. All others have their defaults.
    """
    with TemporaryDirectory(prefix="dogubako-testing-") as folder:
        tables = {name: value for name, value in settings.items() if isinstance(value, Mapping)}
        ours = {name: value for name, value in settings.items() if name not in tables}
        overrides = {"packs": ("core",), "data_dir": Path(folder), **ours}
        async with build(Sources.only(overrides, tables), extra=tools).running() as box:
            yield Client(box, reply)
