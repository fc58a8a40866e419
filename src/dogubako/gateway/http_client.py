"""The HTTP client for servers, and what is read from their responses: JSON, errors and streams of events."""

import ssl
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Final

import structlog

from dogubako.contract.offload import offload
from dogubako.gateway.link import AnswerTooLong, Message, UpstreamError, UpstreamLost
from dogubako.gateway.messages import decoded
from dogubako.outbound.http import CONNECT_SECONDS, trusted

if TYPE_CHECKING:
    import httpx2

    from dogubako.gateway.settings import ServerSettings

log = structlog.get_logger("dogubako.gateway")

LONGEST_ANSWER: Final = 32 * 1024 * 1024
_LARGE: Final = 256 * 1024
_SEND_SECONDS: Final = 60.0
_MOST_CONNECTIONS: Final = 200
RESUME_SECONDS: Final = 1.0
_LONGEST_PAUSE: Final = 60.0


class Events:
    """The messages of a stream of events, with the id and the pause to continue it."""

    def __init__(self, response: "httpx2.Response", before: "Events | None" = None) -> None:
        self._response = response
        self.last_id: str = before.last_id if before is not None else ""
        self.pause: float = before.pause if before is not None else RESUME_SECONDS
        self.has_new_id = False

    async def __aiter__(self) -> AsyncIterator[Message]:
        library = http_library()
        try:
            async for event in library.EventSource(self._response, max_event_size=LONGEST_ANSWER):
                if event.id:
                    self.last_id, self.has_new_id = event.id, True
                if event.retry is not None:
                    self.pause = min(event.retry / 1000, _LONGEST_PAUSE)
                if event.event == "message" and event.data:
                    message = await _decoded(event.data.encode())
                    if isinstance(message, dict):
                        yield message
        except library.SSEError as error:
            raise AnswerTooLong(f"The answer is no valid stream of events, or larger than {_MEGABYTES} MB.") from error
        except library.TransportError as error:
            log.debug("A stream of events ended", error=type(error).__name__)


_MEGABYTES: Final = LONGEST_ANSWER // 1024**2


def open_client(settings: "ServerSettings", auth: "httpx2.Auth | None", transport: Any) -> "httpx2.AsyncClient":
    """An HTTP client for one server. Answers may take as long as the call that waits for them."""
    library = http_library()
    client: httpx2.AsyncClient = library.AsyncClient(
        auth=auth,
        headers={name: value.get_secret_value() for name, value in settings.headers.items()},
        timeout=library.Timeout(None, connect=CONNECT_SECONDS, write=_SEND_SECONDS),
        limits=library.Limits(max_connections=_MOST_CONNECTIONS),
        transport=transport,
        verify=trusted(settings.ca_bundle) if transport is None else True,
        trust_env=False,
    )
    return client


async def json_of(response: "httpx2.Response") -> Any:
    message = await _decoded(await _body(response))
    if message is None:
        raise UpstreamLost("The answer is no JSON.")
    return message


async def error_of(response: "httpx2.Response") -> UpstreamError | None:
    """The JSON-RPC error in the body of a refusal."""
    body = await _decoded(await _body(response))
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("code"), int):
        return None
    return UpstreamError(error["code"], str(error.get("message") or ""), error.get("data"))


async def _body(response: "httpx2.Response") -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > LONGEST_ANSWER:
            raise AnswerTooLong(f"The answer is larger than {_MEGABYTES} MB.")
    return bytes(body)


async def _decoded(body: bytes) -> Any:
    """JSON; None for what is none. A large text is decoded in a worker thread."""
    return decoded(body) if len(body) <= _LARGE else await offload(decoded, body)


def why_unreachable(error: BaseException) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return "No secure connection could be made: is its certificate valid, or does it need a ca_bundle?"
        cause = cause.__cause__ or cause.__context__
    return "The server could not be reached."


def http_library() -> Any:
    import httpx2  # noqa: PLC0415 - heavy, and a box without HTTP servers does not need it

    return httpx2
