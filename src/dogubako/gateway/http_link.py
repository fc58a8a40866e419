"""Streamable HTTP: every request is a POST whose response is JSON or a stream of events.

The SDK's transport is not used: one network error ends all its requests, it hides status codes, and it does not tell
which request a question of the server belongs to. Its OAuth provider plugs into the HTTP client (`oauth.py`).
"""

import asyncio
import re
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin, urlsplit

import structlog

from dogubako.contract.errors import GatewayLoopError
from dogubako.contract.gateway_ids import GATEWAYS_HEADER, GatewayIds
from dogubako.gateway.event_stream import RESUME_SECONDS, SMALL_SHARE, Events
from dogubako.gateway.http_client import ALONE_SECONDS, MOST_ALONE, http_library, open_client, why_unreachable
from dogubako.gateway.link import (
    Message,
    Receiver,
    RequestId,
    SessionLost,
    SignInRequired,
    UpstreamError,
    UpstreamLost,
    WrongConfiguration,
    WrongTransport,
)
from dogubako.gateway.messages import encoded
from dogubako.gateway.response_body import discard, error_of, json_of
from dogubako.gateway.routing_headers import RoutingHeaders

if TYPE_CHECKING:
    import httpx2

    from dogubako.gateway.settings import ServerSettings

log = structlog.get_logger("dogubako.gateway")

_END_SECONDS: Final = 3.0
# So many messages are delivered before others get their turn.
_BATCH: Final = 100
# A stream that ended early is continued this often, unless new events arrive.
_MOST_RESUMPTIONS: Final = 3
_INVALID_REQUEST: Final = -32600
_METHOD_NOT_FOUND: Final = -32601
# Streams that stay open while the server runs.
_LONG_LIVED: Final = frozenset({"subscriptions/listen"})
_SESSION: Final = "mcp-session-id"
# What the protocol allows, and what fits beside the other headers.
_SESSION_ID: Final = re.compile(r"[\x21-\x7e]{0,4096}\Z")
_NO_STREAM: Final = frozenset({404, 405})


class HttpLink:
    """The connection to a server over HTTP. `auth` signs requests, for servers with OAuth."""

    may_be_silent = False

    def __init__(
        self,
        settings: "ServerSettings",
        *,
        auth: "httpx2.Auth | None" = None,
        transport: Any = None,
        gateways: GatewayIds | None = None,
    ) -> None:
        self._settings = settings
        self._gateways = gateways
        self._auth = auth
        self._sign_in_errors: tuple[type[Exception], ...] = getattr(auth, "errors", ())
        self._transport = transport
        self._url = settings.url or ""
        self._client: httpx2.AsyncClient | None = None
        self._receiver: Receiver | None = None
        self._session_id = ""
        self._tasks: dict[RequestId, asyncio.Task[None]] = {}
        self._changes: asyncio.Task[None] | None = None
        self._alone = asyncio.Semaphore(MOST_ALONE)
        self.routing = RoutingHeaders()
        # Whether the lists were read, so that a change before the stream of changes was open is missed.
        self._listed = False
        self.diagnostics = ""
        self.noise_lines = 0

    async def open(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._client = open_client(self._settings, self._auth, self._transport)

    def use(self, version: str) -> None:
        self.routing.version = version

    async def send(self, message: Message) -> None:
        if self._receiver is None:
            raise UpstreamLost("The connection was closed.", may_have_run=False)
        request = message.get("id")
        if "method" in message and request is not None:
            work = self._request(message, request)
            task = asyncio.get_running_loop().create_task(work, name=f"{message['method']} over HTTP")
            self._tasks[request] = task
            task.add_done_callback(lambda done: self._forget(request, done))
            return
        await self._post_alone(message)
        if message.get("method") == "notifications/initialized":
            self._changes = asyncio.get_running_loop().create_task(self._read_changes(), name="changes over HTTP")

    def cancel(self, request: RequestId) -> bool:
        """Close the stream of a request. That is the cancellation since 2026-07-28; before, a message has to say it."""
        if (task := self._tasks.get(request)) is not None:
            task.cancel()
        return self.routing.is_modern

    def learn(self, tools: Iterable[Message]) -> Mapping[str, str]:
        self._listed = True
        return self.routing.learn(tools)

    async def close(self) -> None:
        self._receiver = None
        for task in [*self._tasks.values(), *([self._changes] if self._changes is not None else [])]:
            task.cancel()
        client, self._client = self._client, None
        if client is None:
            return
        library = http_library()
        try:
            async with asyncio.timeout(_END_SECONDS):
                if self._session_id:
                    async with client.stream("DELETE", self._url, headers=self._headers(None)):
                        log.debug("A session of an MCP server was closed")
                await client.aclose()
        except (library.HTTPError, TimeoutError, OSError, SignInRequired, UpstreamLost, *self._sign_in_errors) as error:
            log.debug("A session of an MCP server was not closed", reason=type(error).__name__)

    def _forget(self, request: RequestId, task: "asyncio.Task[None]") -> None:
        if self._tasks.get(request) is task:
            del self._tasks[request]

    # One request.

    async def _request(self, message: Message, request: RequestId) -> None:
        await self._guarded(request, self._exchange(message, request))

    async def _guarded(self, request: RequestId, work: Coroutine[Any, Any, None]) -> None:
        """Report how a request failed, so that its caller does not wait for ever."""
        library = http_library()
        try:
            await work
        except (UpstreamLost, UpstreamError, SignInRequired, WrongConfiguration, WrongTransport) as error:
            self._failed(request, error)
        except self._sign_in_errors as error:
            log.warning("The sign-in at an MCP server failed", reason=str(error)[:300])
            self._failed(request, SignInRequired())
        except (library.ConnectError, library.ConnectTimeout) as error:
            reason = why_unreachable(error)
            self._failed(request, UpstreamLost(reason, may_have_run=False))
            if self._receiver is not None:
                self._receiver.lost(reason)
        except (library.HTTPError, library.StreamError, OSError) as error:
            log.debug("An MCP server broke off a connection", error=type(error).__name__)
            self._failed(request, UpstreamLost("The server broke off the connection."))

    async def _exchange(self, message: Message, request: RequestId) -> None:
        for _ in range(2):
            async with self._posted(message) as response:
                if self._moved(response):
                    continue
                await self._read(response, message, request)
                return
        raise WrongConfiguration("The server redirects again and again.")

    @asynccontextmanager
    async def _posted(self, message: Message) -> AsyncIterator["httpx2.Response"]:
        assert self._client is not None
        async with self._client.stream(
            "POST", self._url, content=encoded(message), headers=self._headers(message)
        ) as response:
            yield response

    def _headers(self, message: Message | None) -> dict[str, str]:
        headers = {
            "accept": "application/json, text/event-stream",
            **({"content-type": "application/json"} if message is not None else {}),
            **({GATEWAYS_HEADER: self._gateways.header} if self._gateways is not None else {}),
            **self.routing.headers(message),
        }
        return headers | ({_SESSION: self._session_id} if self._session_id else {})

    def _moved(self, response: "httpx2.Response") -> bool:
        """Follow a redirect that keeps the request and the origin, for example to the same path with a slash."""
        if response.status_code not in (307, 308):
            return False
        target = urljoin(self._url, response.headers.get("location", ""))
        if urlsplit(target)[:2] != urlsplit(self._url)[:2]:
            raise WrongConfiguration("The server redirects to another address; set that one as its url.")
        self._url = target
        return True

    async def _read(self, response: "httpx2.Response", message: Message, request: RequestId) -> None:
        if response.status_code >= 400 or response.status_code == 202:
            await self._refused(response, message)
        if message["method"] == "initialize":
            self._session_id = _session_id_in(response)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/json":
            await self._deliver(await json_of(response), request)
            # Nothing else follows: without this a call would wait until its timeout.
            self._failed(request, UpstreamLost("The server answered another request than this one."))
        elif kind == "text/event-stream":
            await self._read_stream(response, request, SMALL_SHARE if message["method"] in _LONG_LIVED else 1.0)
        else:
            raise UpstreamError(_INVALID_REQUEST, "The server answered with neither JSON nor a stream of events.")

    async def _refused(self, response: "httpx2.Response", message: Message) -> None:
        """Raise what a status means. A server that refuses a request has not run it."""
        status = response.status_code
        if status == 401 or (status == 403 and "www-authenticate" in response.headers):
            raise SignInRequired(response.headers.get("www-authenticate", ""))
        if status == GatewayLoopError.http_status:
            raise WrongConfiguration("It leads back to this server, which would list its own tools again and again.")
        if status == 202:
            raise UpstreamError(_INVALID_REQUEST, "The server accepted a request without answering it.")
        error = await error_of(response)
        if status == 404 and self._session_id and (error is None or error.code != _METHOD_NOT_FOUND):
            raise SessionLost
        if error is not None:
            raise error
        if status in _NO_STREAM and message["method"] == "initialize":
            raise WrongTransport(f"The server answered with status {status}.")
        if status >= 500:
            raise UpstreamLost(f"The server answered with status {status}.")
        raise UpstreamError(_INVALID_REQUEST, f"The server answered with status {status}.")

    async def _read_stream(self, response: "httpx2.Response", request: RequestId, share: float) -> None:
        """Read events until the answer. A stream with ids that ends early is continued where it ended."""
        stream = Events(response, share=share)
        if await self._take_events(stream, request):
            return
        resumed = 0
        while stream.last_id and resumed < _MOST_RESUMPTIONS:
            await asyncio.sleep(stream.pause)
            async with self._resumed(stream.last_id) as continued:
                if continued.status_code >= 400:
                    break
                stream = Events(continued, stream, share)
                if await self._take_events(stream, request):
                    return
            resumed = 0 if stream.has_new_id else resumed + 1
        raise UpstreamLost("The stream of the answer ended early.")

    async def _take_events(self, stream: "Events", request: RequestId | None) -> bool:
        """Deliver the messages of a stream. True once it held the answer."""
        async for message in stream:
            await self._deliver(message, request)
            if request is not None and "method" not in message and message.get("id") == request:
                return True
        return False

    @asynccontextmanager
    async def _resumed(self, last_id: str = "") -> AsyncIterator["httpx2.Response"]:
        assert self._client is not None
        headers = {**self._headers(None), "accept": "text/event-stream"}
        if last_id:
            headers["last-event-id"] = last_id
        async with self._client.stream("GET", self._url, headers=headers) as response:
            yield response

    async def _deliver(self, message: Any, request: RequestId | None) -> None:
        """Deliver a message, or the messages of a batch, which may be very many."""
        for number, one in enumerate(message if isinstance(message, list) else (message,), 1):
            if isinstance(one, dict) and self._receiver is not None:
                self._receiver.received(one, request)
            if number % _BATCH == 0:
                await asyncio.sleep(0)

    def _failed(self, request: RequestId, error: Exception) -> None:
        if self._receiver is not None:
            self._receiver.failed(request, error)

    # Messages without an answer, and the stream of changes.

    async def _post_alone(self, message: Message) -> None:
        """Send a notification, or an answer to a question of the server."""
        library = http_library()
        try:
            async with self._alone, asyncio.timeout(ALONE_SECONDS), self._posted(message) as response:
                if response.status_code >= 400:
                    log.debug("An MCP server refused a message", status=response.status_code)
                await discard(response)
        except (library.HTTPError, OSError, TimeoutError, SignInRequired, *self._sign_in_errors) as error:
            raise UpstreamLost(why_unreachable(error), may_have_run=False) from error

    async def _read_changes(self) -> None:
        """Read what the server reports outside of requests, up to 2025-11-25. Not every server offers it."""
        library = http_library()
        stream: Events | None = None
        failures = 0
        while failures <= _MOST_RESUMPTIONS:
            try:
                async with self._resumed(stream.last_id if stream is not None else "") as response:
                    if response.status_code >= 400:
                        return
                    if stream is None and self._listed:
                        await self._deliver({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}, None)
                    stream = Events(response, stream, SMALL_SHARE)
                    await self._take_events(stream, None)
                    failures = 0
            except (library.HTTPError, library.StreamError, OSError, UpstreamLost):
                failures += 1
            except SignInRequired:
                return
            except self._sign_in_errors:
                return
            # Nobody waits for it, so a server that wants to be asked at once is asked after a moment.
            await asyncio.sleep(max(stream.pause, RESUME_SECONDS) if stream is not None else RESUME_SECONDS)


def _session_id_in(response: "httpx2.Response") -> str:
    session_id: str = response.headers.get(_SESSION, "")
    if not _SESSION_ID.match(session_id):
        raise UpstreamLost("The server gave a session id that cannot be sent.", may_have_run=False)
    return session_id
