"""Deliver the lines of the audit log to where they are collected: at least once, with an id for each line.

The file comes first, and nothing waits for what is done here. Each sink goes on where it stopped, also after a restart
or a crash, and a sink that is away delays its lines and loses none, as long as the file is there.
"""

import asyncio
import fcntl
import json
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Final, Protocol

import structlog

from dogubako.contract.pack import HealthCheck
from dogubako.gate.audit_files import AuditFiles, Position, SentLine
from dogubako.outbound.shared_redis import end_tasks

log = structlog.get_logger("dogubako.gate")

SUBJECT: Final = "audit sink"
_LOCK: Final = "audit.shipping.lock"
_POSITIONS: Final = "audit.shipped.json"
_LOOK_SECONDS: Final = 0.5
_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE: Final = 15.0
# How long the end of the server waits for the last lines.
_LAST_SECONDS: Final = 5.0


class SinkAway(Exception):  # noqa: N818 - lines wait, nothing is wrong with them
    """A sink did not take lines now. The text says why."""


class AuditSink(Protocol):
    """A place to which lines are delivered."""

    @property
    def name(self) -> str:
        """Where that is, for people."""

    async def position(self) -> Position | None:
        """Where to go on, or None for the beginning. Raises SinkAway."""

    async def deliver(self, lines: Sequence[SentLine], before: Position | None, after: Position) -> None:
        """Deliver all lines between two positions, or raise SinkAway."""

    async def close(self) -> None: ...


class LinesOut(Protocol):
    """Takes lines, and does not know positions."""

    name: str

    async def write(self, lines: Sequence[SentLine]) -> None:
        """Write all lines, or raise SinkAway."""

    async def close(self) -> None: ...


class PositionedSink:
    """A sink whose position is stored in the data folder."""

    def __init__(self, out: LinesOut, data_dir: Path) -> None:
        self._out = out
        self._path = data_dir / _POSITIONS

    @property
    def name(self) -> str:
        return self._out.name

    async def position(self) -> Position | None:
        text = self._stored().get(self.name)
        return Position.parse(text) if isinstance(text, str) else None

    async def deliver(self, lines: Sequence[SentLine], before: Position | None, after: Position) -> None:
        if lines:
            await self._out.write(lines)
        positions = {**self._stored(), self.name: str(after)}
        # Not synced: after the end of the machine some lines are delivered again.
        unfinished = self._path.with_name(f"{self._path.name}.{token_hex(8)}.part")
        try:
            unfinished.write_text(json.dumps(positions))
            unfinished.replace(self._path)
        except OSError as error:
            unfinished.unlink(missing_ok=True)
            raise SinkAway(f"the position cannot be stored: {error.strerror}") from error

    async def close(self) -> None:
        await self._out.close()

    def _stored(self) -> dict[str, object]:
        try:
            stored = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        return stored if isinstance(stored, dict) else {}


class AuditShipping:
    """Delivers the audit log of a data folder to sinks. One process of the folder does it for all of them."""

    def __init__(self, data_dir: Path, sinks: Sequence[AuditSink], *, files: AuditFiles | None = None) -> None:
        self._data_dir = data_dir
        self._sinks = sinks
        self._files = files or AuditFiles(data_dir)
        # Since when a sink takes nothing, and why.
        self._away: dict[str, tuple[float, str]] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Deliver lines until the end, and then what is left."""
        lock = _ShippingLock(self._data_dir / _LOCK)
        tasks = [asyncio.create_task(self._ship(sink, lock)) for sink in self._sinks]
        try:
            yield
        finally:
            await end_tasks(*tasks)
            await asyncio.gather(*(self._ship_rest(sink, lock) for sink in self._sinks))
            lock.release()

    async def _ship(self, sink: AuditSink, lock: "_ShippingLock") -> None:
        pause = _PAUSE_SECONDS
        while True:
            try:
                more = lock.held() and await self._ship_batch(sink)
            except SinkAway as error:
                self._complain(sink, str(error))
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
                continue
            pause = _PAUSE_SECONDS
            if self._away.pop(sink.name, None):
                log.info("An audit sink takes lines again", sink=sink.name)
            if not more:
                await asyncio.sleep(_LOOK_SECONDS)

    async def _ship_rest(self, sink: AuditSink, lock: "_ShippingLock") -> None:
        """The last lines. What a sink does not take now is delivered after the next start."""
        with suppress(SinkAway, TimeoutError):
            async with asyncio.timeout(_LAST_SECONDS):
                while lock.held() and await self._ship_batch(sink):
                    pass
        await sink.close()

    async def _ship_batch(self, sink: AuditSink) -> bool:
        """Deliver the next lines. Returns whether there may be more."""
        before = await sink.position()
        lines, after = self._files.read(before)
        if after is None or after == before:
            return False
        await sink.deliver(lines, before, after)
        return True

    def _complain(self, sink: AuditSink, reason: str) -> None:
        if sink.name not in self._away:
            log.warning("An audit sink takes no lines; they wait in the file", sink=sink.name, reason=reason)
        since, _ = self._away.get(sink.name, (time.time(), ""))
        self._away[sink.name] = (since, reason)

    def check(self) -> list[HealthCheck]:
        """Which sinks take lines."""
        return [self._finding(sink.name) for sink in self._sinks]

    def _finding(self, name: str) -> HealthCheck:
        if (away := self._away.get(name)) is None:
            return HealthCheck(ok=True, subject=SUBJECT, message=name)
        since, reason = away
        message = f"{name} has taken no lines for {time.time() - since:.0f} s ({reason}); they wait in the audit log."
        advice = "Nothing is lost as long as DOGUBAKO_DATA_DIR is there."
        return HealthCheck(ok=False, subject=SUBJECT, message=message, advice=advice, severity="warning")


class _ShippingLock:
    """Held by the one process that delivers the log of a data folder. It ends with its process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def held(self) -> bool:
        """Whether this process delivers, from now on if nobody else does."""
        if self._file is not None:
            return True
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise SinkAway(f"{self._path.name} cannot be opened: {error.strerror}") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            return False
        self._file = file
        return True

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
