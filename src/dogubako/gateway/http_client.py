"""The HTTP client for servers."""

import ssl
from typing import TYPE_CHECKING, Any, Final

from dogubako.gateway.response_body import ACCEPTED
from dogubako.outbound.http import CONNECT_SECONDS, trusted

if TYPE_CHECKING:
    import httpx2

    from dogubako.gateway.settings import ServerSettings

_SEND_SECONDS: Final = 60.0
_MOST_CONNECTIONS: Final = 200
# A load balancer needs one or two. Each is sent with every request.
_MOST_COOKIES: Final = 50
# A message without an answer is taken at once, or not at all.
ALONE_SECONDS: Final = 10.0
# So many at a time: hundreds that wait in the HTTP library cost it seconds, and leave calls no connection.
MOST_ALONE: Final = 8


def open_client(settings: "ServerSettings", auth: "httpx2.Auth | None", transport: Any) -> "httpx2.AsyncClient":
    """An HTTP client for one server. Answers may take as long as the call that waits for them."""
    library = http_library()
    headers = library.Headers({"accept-encoding": ACCEPTED})
    headers.update({name: value.get_secret_value() for name, value in settings.headers.items()})
    client: httpx2.AsyncClient = library.AsyncClient(
        auth=auth,
        headers=headers,
        timeout=library.Timeout(None, connect=CONNECT_SECONDS, write=_SEND_SECONDS),
        limits=library.Limits(max_connections=_MOST_CONNECTIONS),
        transport=transport,
        verify=trusted(settings.ca_bundle) if transport is None else True,
        trust_env=False,
    )

    async def limit_cookies(response: "httpx2.Response") -> None:
        if len(client.cookies.jar) > _MOST_COOKIES:
            client.cookies.clear()

    client.event_hooks = {"response": [limit_cookies]}
    return client


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
