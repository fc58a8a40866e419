"""A circuit breaker: a service that fails or hangs is left alone for a while, so that calls need not wait for it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import structlog

log = structlog.get_logger("dogubako.outbound")

ResultT = TypeVar("ResultT")

# How long the breaker stays open after the first failure, and at most; each failed probe doubles it.
FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 30.0


class Unavailable(Exception):  # noqa: N818 - a signal to whoever can do without the service
    """The service failed, took too long, or was not asked."""


class CircuitBreaker:
    """Closed: every call asks the service. Open: none does. After the pause one call asks, and its outcome decides."""

    def __init__(self, service: str, *, seconds: float, failures: tuple[type[Exception], ...]) -> None:
        self._service = service
        self._seconds = seconds
        # A timeout is an OSError.
        self._failures: tuple[type[Exception], ...] = (OSError, *failures)
        self._pause = 0.0
        self._open_until = 0.0
        self._probing = False

    async def run(self, work: Callable[[], Awaitable[ResultT]]) -> ResultT:
        """Do the work in its time, or raise Unavailable."""
        probe = self._admit()
        try:
            async with asyncio.timeout(self._seconds):
                result = await work()
        except self._failures as error:
            self._fail(error, probe)
            # Without the cause: what waits for nobody should not keep the buffers of a broken connection.
            raise Unavailable from None
        finally:
            if probe:
                self._probing = False
        self._succeed()
        return result

    def _admit(self) -> bool:
        """Whether this call is the probe; raise Unavailable if the service is not asked now."""
        if not self._pause:
            return False
        if self._probing or time.monotonic() < self._open_until:
            raise Unavailable
        self._probing = True
        return True

    def _fail(self, error: Exception, probe: bool) -> None:
        if not self._pause:
            self._pause = FIRST_PAUSE_SECONDS
            reason = type(error).__name__
            log.warning("Circuit breaker opened", service=self._service, error=reason, pause_seconds=self._pause)
        elif probe:
            self._pause = min(self._pause * 2, LONGEST_PAUSE_SECONDS)
        else:
            # It was under way when another call failed, which has been counted.
            return
        self._open_until = time.monotonic() + self._pause

    def _succeed(self) -> None:
        if self._pause:
            self._pause = 0.0
            log.warning("Circuit breaker closed", service=self._service)
