"""HTTP with SSE, the transport of 2024-11-05: receive by one stream of events, send by POST."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin, urlsplit

from dogubako.gateway.http_client import LONGEST_ANSWER, http_library, open_client, why_unreachable
from dogubako.gateway.link import Message, Receiver, RequestId, SignInRequired, UpstreamLost, WrongConfiguration
from dogubako.gateway.messages import decoded, encoded

if TYPE_CHECKING:
    import httpx2

    from dogubako.gateway.settings import ServerSettings

_ENDPOINT_SECONDS: Final = 30.0


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
        headers = {"content-type": "application/json"}
        if self._version:
            headers["mcp-protocol-version"] = self._version
        library = http_library()
        try:
            response = await self._client.post(self._endpoint.result(), content=encoded(message), headers=headers)
        except library.ConnectError as error:
            raise UpstreamLost(why_unreachable(error), may_have_run=False) from error
        except (library.HTTPError, OSError) as error:
            raise UpstreamLost("The server broke off the connection.") from error
        if response.status_code == 401:
            raise SignInRequired(response.headers.get("www-authenticate", ""))
        if response.status_code >= 400:
            raise UpstreamLost(f"The server answered with status {response.status_code}.", may_have_run=False)

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
                async for event in library.EventSource(response, max_event_size=LONGEST_ANSWER):
                    self._take(event.event, event.data)
        except (UpstreamLost, SignInRequired, WrongConfiguration) as refused:
            error = refused
        except (library.HTTPError, library.StreamError, library.SSEError, OSError) as broken:
            error = UpstreamLost(why_unreachable(broken), may_have_run=False)
        if not self._endpoint.done():
            self._endpoint.set_exception(error)
        elif self._receiver is not None:
            self._receiver.lost("The stream of events ended.")

    def _take(self, kind: str, data: str) -> None:
        if kind == "endpoint" and not self._endpoint.done():
            target = urljoin(self._settings.url or "", data)
            if urlsplit(target)[:2] != urlsplit(self._settings.url or "")[:2]:
                raise WrongConfiguration("The server wants its messages at another address.")
            self._endpoint.set_result(target)
        elif kind == "message" and self._receiver is not None:
            message = decoded(data.encode())
            if isinstance(message, dict):
                self._receiver.received(message, None)
            else:
                self.noise_lines += 1


def _check(response: "httpx2.Response") -> None:
    if response.status_code == 401:
        raise SignInRequired(response.headers.get("www-authenticate", ""))
    if response.status_code >= 400:
        raise UpstreamLost(f"The server answered with status {response.status_code}.", may_have_run=False)
