"""Ends what a caller keeps open, once the caller is no longer let in."""

import asyncio
from typing import Final

import structlog
from starlette.types import Message, Receive, Scope, Send

from dogubako.contract.errors import ApiError, AuthenticationError
from dogubako.engine.alarm import Alarm, set_alarm
from dogubako.gate.authentication import Authenticator

log = structlog.get_logger("dogubako.http")

# As often as keys are looked at.
LOOK_AGAIN_SECONDS: Final = 1.0


class Welcome:
    """Around one request: looks at its credentials again and again, and then plays a client that hangs up.

    A key that was revoked or a token that expired must not go on hearing of changes through a stream that it opened
    before. The work behind it ends as it does for every client that leaves.
    """

    def __init__(self, authenticator: Authenticator, scope: Scope, receive: Receive, send: Send) -> None:
        self._authenticator = authenticator
        self._headers = scope["headers"]
        self._receive = receive
        self._send = send
        self._over: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._looking: asyncio.Task[None] | None = None
        self._started = self._unfinished = False
        self._reason: AuthenticationError | None = None
        self._alarm: Alarm

    async def __aenter__(self) -> "Welcome":
        self._alarm = set_alarm(LOOK_AGAIN_SECONDS, self._look)
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        self._alarm.cancel()
        if self._looking is not None:
            self._looking.cancel()
        if self._reason is None or kind is not None:
            return
        if not self._started:
            raise self._reason
        if self._unfinished:
            # For the client too it is an orderly end, after which it may come again and hear why.
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def receive(self) -> Message:
        """What the client says, or that it has left."""
        said: asyncio.Future[Message] = asyncio.ensure_future(self._receive())
        try:
            await asyncio.wait({said, self._over}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            said.cancel()
            raise
        if said.done():
            return said.result()
        said.cancel()
        return self._over.result()

    async def send(self, message: Message) -> None:
        self._started = True
        self._unfinished = message["type"] == "http.response.start" or bool(message.get("more_body"))
        await self._send(message)

    def _look(self) -> None:
        self._looking = asyncio.get_running_loop().create_task(self._look_again())

    async def _look_again(self) -> None:
        try:
            if self._authenticator.known(self._headers) is None:
                await self._authenticator.find(self._headers)
        except AuthenticationError as error:
            self._reason = error
            self._over.set_result({"type": "http.disconnect"})
            return
        except ApiError:
            # Who was let in stays, while the authorization server cannot be asked.
            pass
        except Exception as error:
            # The edge of a task of its own. Whatever went wrong with this look, it must not be the last one.
            log.error("A caller could not be looked at again", exc_info=error)
        self._alarm = set_alarm(LOOK_AGAIN_SECONDS, self._look)
