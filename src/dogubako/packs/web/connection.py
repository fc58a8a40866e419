"""`WebConnection`: opens the client of the web pack with the first call."""

from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Self

import anyio

from dogubako._lazy import load
from dogubako.contract.offload import offload
from dogubako.contract.pack import Host
from dogubako.packs.web.settings import WebSettings

if TYPE_CHECKING:
    from dogubako.packs.web.client import WebClient
    from dogubako.packs.web.parsing.parser import OpenPerformer


class WebConnection:
    """The client, when it is needed: its libraries and the CA certificates take longer than the rest of a start."""

    def __init__(self, settings: WebSettings, host: Host, open_performer: "OpenPerformer | None" = None) -> None:
        self._settings = settings
        self._host = host
        self._open_performer = open_performer
        self._opening = anyio.Lock()
        self._stack = AsyncExitStack()
        self._client: WebClient | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @property
    def is_open(self) -> bool:
        return self._client is not None

    async def opened(self) -> "WebClient":
        """The open client. Any task may open it: nothing in it belongs to a task."""
        if self._client is not None:
            return self._client
        async with self._opening:
            if self._client is None:
                module = await offload(load, "dogubako.packs.web.client")
                opening: AbstractAsyncContextManager[WebClient] = module.connect(
                    self._settings, self._host, self._open_performer or module.page_workers
                )
                self._client = await self._stack.enter_async_context(opening)
        assert self._client is not None
        return self._client
