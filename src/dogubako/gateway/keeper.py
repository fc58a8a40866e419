"""Keep one server connected: reconnect with back-off, disconnect when idle, and reconnect on a call."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Literal

import structlog

from dogubako.contract.errors import ApiError, CredentialRequiredError, DogubakoError
from dogubako.contract.gateway_ids import GatewayIds
from dogubako.gateway.connection import Connection, link_of, open_connection
from dogubako.gateway.definitions import Definitions
from dogubako.gateway.handshake import WrongEra
from dogubako.gateway.link import (
    Link,
    Message,
    SessionLost,
    SignInRequired,
    UpstreamError,
    UpstreamLost,
    WrongConfiguration,
    WrongTransport,
)
from dogubako.gateway.session import Era, UpstreamSession
from dogubako.gateway.settings import ServerSettings
from dogubako.gateway.sign_ins import SignIns

log = structlog.get_logger("dogubako.gateway")

StateName = Literal["starting", "ready", "sign_in_needed", "broken_configuration", "unreachable", "sleeping", "stopped"]
# In these states another attempt cannot help until somebody changes something.
_PARKED: Final = frozenset({"sign_in_needed", "broken_configuration"})

FIRST_DELAY_SECONDS: Final = 1.0
LONGEST_DELAY_SECONDS: Final = 300.0
_MOST_DOUBLINGS: Final = 10
# A connection that lasted this long shows that the server works; the next failure starts the back-off anew.
_STABLE_SECONDS: Final = 30.0
# A call starts a server at once, unless it failed a moment ago.
_CALL_FLOOR_SECONDS: Final = 1.0
_MOST_ERAS_TRIED: Final = 3
# It is shown with every call, and logged.
_LONGEST_REASON: Final = 300
# How soon a sign-in by another process is noticed.
_LOOK_SECONDS: Final = 1.0


@dataclass(frozen=True, kw_only=True)
class UpstreamState:
    """What a server is doing, why, and since when (seconds since 1970)."""

    name: StateName
    reason: str = ""
    since: float = 0.0
    last_stderr: str = ""
    noise_lines: int = 0


class ConnectionKeeper:
    """Keeps the connection of one server while `run` runs. Any task may wait for the connection."""

    def __init__(
        self,
        name: str,
        settings: ServerSettings,
        *,
        on_definitions: Callable[[Definitions], None],
        on_resource_updated: Callable[[str], None],
        sign_ins: SignIns | None = None,
        gateways: GatewayIds | None = None,
    ) -> None:
        self.name = name
        self.settings = settings
        self._state = UpstreamState(name="stopped", since=time.time())
        self._link: Link | None = None
        self._on_definitions = on_definitions
        self._on_resource_updated = on_resource_updated
        self._sign_ins = sign_ins
        self._gateways = gateways
        self._era: Era | None = None
        self._failures = 0
        self._failed_at = -_CALL_FLOOR_SECONDS
        self.connection: Connection | None = None
        self._wake = asyncio.Event()
        self._waiting: set[asyncio.Future[Connection]] = set()
        self.subscribed: set[str] = set()
        # When somebody had last signed in before the last attempt.
        self._tried_at = 0.0
        self._stopped = False
        self._restarting = False
        # Called when the state changes.
        self.on_state: Callable[[], None] = _nothing

    @property
    def state(self) -> UpstreamState:
        """What it is doing. What the server wrote beside the protocol is that of its last process."""
        link = self._link
        if link is None:
            return self._state
        return replace(self._state, last_stderr=link.diagnostics, noise_lines=link.noise_lines)

    # Keeping the connection.

    async def run(self) -> None:
        """Connect, keep the connection and connect again, until cancelled."""
        try:
            while True:
                self._wake.clear()
                self._restarting = False
                try:
                    delay = await self._live()
                except Exception as error:
                    # Whatever a server makes us stumble over, it must not stay dead until somebody looks.
                    log.error("Connecting an MCP server failed", server=self.name, exc_info=error)
                    delay = self._failed("unreachable", "An unexpected error occurred; the log has it.")
                if delay is None or delay > 0:
                    await self._pause(delay)
        finally:
            self._stopped = True
            self._set_state("stopped")
            self._fail_waiting(self.unavailable())

    async def restart(self) -> None:
        """End the connection, if there is one, and connect again at once."""
        self._failures, self._era, self._restarting = 0, None, True
        self._failed_at = -_CALL_FLOOR_SECONDS
        self._wake.set()
        if self.connection is not None:
            self.connection.end("The server is restarted.")

    async def _live(self) -> float | None:
        """Have one connection, from its beginning to its end. The seconds until the next; None to wait for a call."""
        self._set_state("starting")
        try:
            connection = await self._connected()
        except (SignInRequired, WrongConfiguration) as error:
            signed_out = isinstance(error, SignInRequired)
            reason = "Somebody has to sign in." if signed_out else str(error)
            return self._failed("sign_in_needed" if signed_out else "broken_configuration", reason)
        except (UpstreamLost, UpstreamError, WrongEra, TimeoutError) as error:
            return self._failed("unreachable", _reason_of(error))
        began = time.monotonic()
        try:
            self._set_state("ready")
            self.connection = connection
            self._on_definitions(connection.definitions)
            self._serve_waiting(connection)
            idle = await connection.keep(self.settings.idle_timeout, self._on_definitions)
        finally:
            self.connection = None
            await connection.close()
        if idle:
            self._set_state("sleeping", "No call for a while.")
            return None
        if time.monotonic() - began >= _STABLE_SECONDS:
            self._failures = 0
        if connection.needs_sign_in:
            return self._failed("sign_in_needed", connection.end_reason)
        if self._wake.is_set():
            return 0
        return self._lost(connection.end_reason)

    async def _connected(self) -> Connection:
        """Connect. A process that began in the wrong era is started again."""
        for _ in range(_MOST_ERAS_TRIED - 1):
            try:
                return await self._attempt()
            except WrongEra as wrong:
                self._era = wrong.era if wrong.era == "legacy" and self._era is None else None
            except WrongTransport as wrong:
                if self.settings.transport is not None:
                    raise UpstreamLost(str(wrong)) from wrong
                self.settings = self.settings.model_copy(update={"transport": "sse"})
        return await self._attempt()

    async def _attempt(self) -> Connection:
        self._tried_at = self._signed_in_at()
        auth = None if self._sign_ins is None else self._sign_ins.auth(self.name, self.settings)
        self._link = link_of(self.settings, auth=auth, gateways=self._gateways)
        era = "legacy" if self.settings.kind == "sse" else self._era
        return await open_connection(self._link, era, subscribed=self.subscribed, on_updated=self._on_resource_updated)

    def _failed(self, state: StateName, reason: str) -> float | None:
        """Note a failed attempt. The seconds until the next one; None where it cannot help."""
        self._failed_at = time.monotonic()
        seconds = self._lost(reason, state)
        self._fail_waiting(self.unavailable())
        if not self._restarting:
            # The calls that wanted this attempt have been told.
            self._wake.clear()
        return None if state in _PARKED else seconds

    def _lost(self, reason: str, state: StateName = "unreachable") -> float:
        """Note that there is no connection. The seconds until the next attempt."""
        self._failures += 1
        self._set_state(state, reason)
        log.warning("MCP server is not available", server=self.name, state=state, reason=reason)
        longest: float = min(FIRST_DELAY_SECONDS * 2 ** min(self._failures - 1, _MOST_DOUBLINGS), LONGEST_DELAY_SECONDS)
        return longest * random.uniform(0.5, 1)  # noqa: S311 - spreads load, guards nothing

    async def _pause(self, seconds: float | None) -> None:
        """Wait for the next attempt, for a call that wants one, or for a sign-in by another process."""
        waits_for_sign_in = seconds is None and self.state.name == "sign_in_needed" and self._sign_ins is not None
        while not self._wake.is_set() and not self._somebody_signed_in():
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS if waits_for_sign_in else seconds):
                    await self._wake.wait()
            if not waits_for_sign_in:
                return

    def _somebody_signed_in(self) -> bool:
        """Whether somebody signed in since the last attempt, which failed for that reason."""
        return self.state.name == "sign_in_needed" and self._signed_in_at() != self._tried_at

    def _signed_in_at(self) -> float:
        return 0.0 if self._sign_ins is None else self._sign_ins.changed_at(self.name)

    def _set_state(self, name: StateName, reason: str = "") -> None:
        self._state = UpstreamState(name=name, reason=reason, since=time.time())
        self.on_state()

    # Waiting for the connection.

    async def on_a_connection(self, work: Callable[[UpstreamSession], Awaitable[Message]]) -> Message:
        """Do the work on the connection; once more on a new one, if the server certainly did not do it."""
        try:
            return await self._once_on_a_connection(work)
        except UpstreamLost as error:
            if error.may_have_run:
                raise
        return await self._once_on_a_connection(work)

    async def _once_on_a_connection(self, work: Callable[[UpstreamSession], Awaitable[Message]]) -> Message:
        connection = await self.connection_ready()
        with connection.in_use():
            try:
                return await work(connection.session)
            except SessionLost as error:
                self._wake.set()
                connection.end(error.reason)
                raise
            except SignInRequired:
                connection.needs_sign_in = True
                connection.end("Somebody has to sign in.")
                raise

    async def connection_ready(self) -> Connection:
        """The connection. A server that sleeps or has died is started, unless it failed a moment ago."""
        if self.connection is not None and self.connection.is_open:
            return self.connection
        failed_just_now = time.monotonic() - self._failed_at < _CALL_FLOOR_SECONDS
        waits = self.state.name == "unreachable" and failed_just_now
        parked = self.state.name in _PARKED and not self._somebody_signed_in()
        if self._stopped or parked or waits:
            raise self.unavailable()
        future: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        self._wake.set()
        try:
            return await future
        finally:
            self._waiting.discard(future)

    def _serve_waiting(self, connection: Connection) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(connection)

    def _fail_waiting(self, error: DogubakoError) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_exception(error)

    def unavailable(self) -> DogubakoError:
        """The error for a call that cannot be made now. An upstream's 401 is never one of ours."""
        state = self.state
        if state.name == "sign_in_needed":
            return self.sign_in_needed()
        message = f"The server '{self.name}' is not available: {state.reason or state.name}"
        if state.name == "broken_configuration":
            return ApiError(message, hint=f"The operator has to correct [servers.{self.name}].")
        return ApiError(message, unreachable=True, hint="Try again in a moment.")

    def sign_in_needed(self) -> DogubakoError:
        return CredentialRequiredError(
            f"The server '{self.name}' needs somebody to sign in.",
            hint=f"The operator signs in with: dogubako servers login {self.name}",
        )


def _nothing() -> None:
    return None


def _reason_of(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "It did not answer in time."
    if isinstance(error, UpstreamError):
        return f"It refused the connection: {error.message[:_LONGEST_REASON]}"
    return error.reason if isinstance(error, UpstreamLost) else str(error)
