"""The interface of a transport that a session uses, and the errors of a connection."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

Message = dict[str, Any]
RequestId = int | str


class UpstreamError(Exception):
    """The server answered a request with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.data = data


class UpstreamLost(Exception):  # noqa: N818 - a state of the connection, not a fault of ours
    """The connection ended before the answer arrived.

    `may_have_run` is False only if the server certainly did not process the request.
    """

    def __init__(self, reason: str, *, may_have_run: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.may_have_run = may_have_run


class SessionLost(UpstreamLost):
    """The server no longer knows the session, and refused the request for that reason."""

    def __init__(self) -> None:
        super().__init__("The server no longer knows the session.", may_have_run=False)


class AnswerTooLong(UpstreamLost):
    """The answer exceeds the limit and was discarded. The connection goes on."""


class SignInRequired(Exception):  # noqa: N818 - a state of the connection, not a fault of ours
    """The server refuses us until somebody signs in. `challenge` is its `WWW-Authenticate` header."""

    def __init__(self, challenge: str = "") -> None:
        super().__init__("sign-in required")
        self.challenge = challenge


class WrongConfiguration(Exception):  # noqa: N818 - a state of the connection, not a fault of ours
    """The server cannot be started as it is configured; another attempt would fail in the same way."""


class WrongTransport(Exception):  # noqa: N818 - says to try the other one
    """The address does not speak Streamable HTTP; it may speak the older HTTP with SSE."""


class Receiver(Protocol):
    """The session, as its transport sees it. All methods are called on the event loop and must not block."""

    def received(self, message: Message, within: RequestId | None) -> None:
        """A message arrived. `within` is the request whose response stream carried it, where there are streams."""

    def failed(self, request: RequestId, error: Exception) -> None:
        """The answer to one request can no longer arrive."""

    def lost(self, reason: str) -> None:
        """The connection ended. No further message arrives."""


class Link(Protocol):
    """A transport to one server."""

    # Whether a server may ignore a request that it does not know.
    may_be_silent: bool

    async def open(self, receiver: Receiver) -> None:
        """Connect. Raises `UpstreamLost`, `WrongConfiguration` or `SignInRequired`."""

    async def send(self, message: Message) -> None:
        """Send a message. Raises `UpstreamLost` if it certainly did not leave."""

    def cancel(self, request: RequestId) -> bool:
        """Stop a request by closing its stream. False where a notification has to say it."""

    def use(self, version: str) -> None:
        """Use this protocol version from now on."""

    def learn(self, tools: Iterable[Message]) -> Mapping[str, str]:
        """Take note of the tools that the server listed. The tools that cannot be called, by name, and why."""

    async def close(self) -> None:
        """End the connection, in order. Never raises."""

    @property
    def diagnostics(self) -> str:
        """The last words of the server beside the protocol: lines of stderr, or noise on stdout."""

    @property
    def noise_lines(self) -> int:
        """How many lines were no messages."""
