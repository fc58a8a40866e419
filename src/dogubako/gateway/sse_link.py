"""HTTP with SSE, the transport of 2024-11-05: receive by one stream of events, send by POST."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin, urlsplit

from dogubako.gateway.event_stream import Event, events_of, message_in
from dogubako.gateway.http_client import ALONE_SECONDS, MOST_ALONE, http_library, open_client, why_unreachable
from dogubako.gateway.link import Message, Receiver, RequestId, SignInRequired, UpstreamLost, WrongConfiguration
from dogubako.gateway.messages import encoded
from dogubako.gateway.response_body import discard

if TYPE_CHECKING:
    import httpx2

    from dogubako.gateway.settings import ServerSettings

_ENDPOINT_SECONDS: Final = 30.0
# Answers come by the stream that stays open, so it may take a fifth of the time.
_SHARE: Final = 0.2


class SseLink:
    """The connection to a server that speaks the older HTTP transport."""

    may_be_silent = False

    def __init__(self, settings: "ServerSettings", *, auth: "httpx2.Auth | None" = None, transport: Any = None) -> None:
        self._settings = settings
        self._auth = auth
        self._transport = transport
        self._client: httpx2.AsyncClient | None = None
        self._receiver: Receiver | None = None
        self._reading: asyncio.Task[None] | None = None
        self._version = ""
        self._alone = asyncio.Semaphore(MOST_ALONE)
        self.diagnostics = ""
        self.noise_lines = 0

    async def open(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._client = open_client(self._settings, self._auth, self._transport)
        loop = asyncio.get_running_loop()
        self._endpoint: asyncio.Future[str] = loop.create_future()
        self._reading = loop.create_task(self._read(self._client), name="events of an MCP server")
        # `_read` settles it however it ends.
        await asyncio.wait({self._endpoint}, timeout=_ENDPOINT_SECONDS)
        if not self._endpoint.done():
            raise UpstreamLost("The server does not say where messages go.", may_have_run=False)
        self._endpoint.result()

    def use(self, version: str) -> None:
        self._version = version

    def learn(self, tools: Iterable[Message]) -> Mapping[str, str]:
        """Nothing outside of a message depends on the tool that it calls."""
        return {}

    def cancel(self, request: RequestId) -> bool:
        return False

    async def send(self, message: Message) -> None:
        if self._client is None or self._receiver is None:
            raise UpstreamLost("The connection was closed.", may_have_run=False)
        if "method" in message and "id" in message:
            await self._post(self._client, message)
            return
        try:
            async with self._alone, asyncio.timeout(ALONE_SECONDS):
                await self._post(self._client, message)
        except TimeoutError as error:
            raise UpstreamLost("The server does not take messages.") from error

    async def _post(self, client: "httpx2.AsyncClient", message: Message) -> None:
        headers = {"content-type": "application/json"}
        if self._version:
            headers["mcp-protocol-version"] = self._version
        library = http_library()
        try:
            async with client.stream(
                "POST", self._endpoint.result(), content=encoded(message), headers=headers
            ) as response:
                if response.status_code == 401:
                    raise SignInRequired(response.headers.get("www-authenticate", ""))
                if response.status_code >= 400:
                    status = response.status_code
                    raise UpstreamLost(f"The server answered with status {status}.", may_have_run=False)
                await discard(response)
        except library.ConnectError as error:
            raise UpstreamLost(why_unreachable(error), may_have_run=False) from error
        except (library.HTTPError, OSError) as error:
            raise UpstreamLost("The server broke off the connection.") from error

    async def close(self) -> None:
        self._receiver = None
        if self._reading is not None:
            self._reading.cancel()
        if self._client is not None:
            await self._client.aclose()

    async def _read(self, client: "httpx2.AsyncClient") -> None:
        library = http_library()
        error: Exception = UpstreamLost("The stream of events ended.")
        try:
            headers = {"accept": "text/event-stream", "cache-control": "no-store"}
            async with client.stream("GET", self._settings.url or "", headers=headers) as response:
                _check(response)
                async for event in events_of(response, _SHARE):
                    await self._take(event)
        except (UpstreamLost, SignInRequired, WrongConfiguration) as refused:
            error = refused
        except (library.HTTPError, library.StreamError, OSError) as broken:
            error = UpstreamLost(why_unreachable(broken), may_have_run=False)
        if not self._endpoint.done():
            self._endpoint.set_exception(error)
        elif self._receiver is not None:
            self._receiver.lost("The stream of events ended.")

    async def _take(self, event: Event) -> None:
        if event.kind == "endpoint" and not self._endpoint.done():
            self._endpoint.set_result(_endpoint_in(event.data, self._settings.url or ""))
        elif event.kind == "message":
            message = await message_in(event)
            if not isinstance(message, dict):
                self.noise_lines += 1
            elif self._receiver is not None:
                self._receiver.received(message, None)


def _endpoint_in(data: bytes, url: str) -> str:
    """Where messages go. It must be at the address of the server, which alone may see our credentials."""
    try:
        target = http_library().URL(urljoin(url, data.decode()))
    except (ValueError, http_library().InvalidURL) as error:
        raise WrongConfiguration("The server does not say where messages go.") from error
    if urlsplit(str(target))[:2] != urlsplit(url)[:2]:
        raise WrongConfiguration("The server wants its messages at another address.")
    return str(target)


def _check(response: "httpx2.Response") -> None:
    if response.status_code == 401:
        raise SignInRequired(response.headers.get("www-authenticate", ""))
    if response.status_code >= 400:
        raise UpstreamLost(f"The server answered with status {response.status_code}.", may_have_run=False)
