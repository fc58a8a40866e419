"""Hand a call that is running on the fast path over to the SDK when its tool wants to talk to the client.

Most tools of other servers say nothing while they work, though they could. Their calls take the fast path for every
client. With the first progress, log line or question the SDK gets the request as if nothing had happened, finds the
call that is running, and answers it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from dogubako.contract.call import ToolResult
from dogubako.contract.conversation import (
    INPUT_REQUIRED,
    URL_ELICITATION,
    ClientLogLevel,
    Conversation,
    InputAnswer,
    InputRequests,
)

# The key of a call that was handed over in the scope of its HTTP request.
HANDOVER: Final = "dogubako.handover"


class Handover:
    """The conversation of one call on the fast path. `capabilities` are what its client declared."""

    def __init__(
        self, capabilities: Mapping[str, Any], hand_over: Callable[[], Awaitable[None]], *, modern: bool
    ) -> None:
        self._capabilities = capabilities
        self._modern = modern
        self._hand_over = hand_over
        self._conversation: asyncio.Future[Conversation] | None = None
        self._result: asyncio.Future[ToolResult] | None = None
        self.cancel: Callable[[], None] = _nothing

    @property
    def begun(self) -> bool:
        """Whether the SDK answers the request."""
        return self._conversation is not None

    # What the tool uses.

    def supports(self, capability: str) -> bool:
        if capability == INPUT_REQUIRED:
            return self._modern
        declared = self._capabilities.get("elicitation" if capability == URL_ELICITATION else capability)
        if capability == URL_ELICITATION:
            return isinstance(declared, Mapping) and declared.get("url") is not None
        if capability == "elicitation" and isinstance(declared, Mapping):
            return declared.get("form") is not None or declared.get("url") is None
        return declared is not None

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        await (await self._client()).progress(done, total, message)

    async def log(self, level: ClientLogLevel, message: str) -> None:
        await (await self._client()).log(level, message)

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        return await (await self._client()).request(requests)

    async def begin(self) -> None:
        """Let the SDK answer the request from now on."""
        if self._conversation is None:
            loop = asyncio.get_running_loop()
            self._conversation, self._result = loop.create_future(), loop.create_future()
            await self._hand_over()

    async def _client(self) -> Conversation:
        await self.begin()
        assert self._conversation is not None
        # A tool that gives up waiting must not take the conversation from its other tasks.
        return await asyncio.shield(self._conversation)

    # What both sides of the handover use.

    async def adopt(self, conversation: Conversation) -> ToolResult:
        """Give the call its client, and wait for its result. Cancelling this cancels the call."""
        assert self._conversation is not None and self._result is not None
        self._conversation.set_result(conversation)
        try:
            return await asyncio.shield(self._result)
        except asyncio.CancelledError:
            self.cancel()
            raise

    def finish(self, result: ToolResult | None) -> None:
        """The call has ended; None if it was cancelled."""
        if self._result is None or self._result.done():
            return
        if result is None:
            self._result.cancel()
        else:
            self._result.set_result(result)


def _nothing() -> None:
    return None
