"""Records in the shared Redis that every process follows: a hash with a field per record and a version that only grows.

Every process has a copy, in memory and in its data folder, and compares the version on news and twice a second. Who
changes a record names the version that it has seen: of two changes at the same time, one is refused. A Redis that knows
less than a process (it was emptied, or an older copy took over) gets the records back from that process.
Records are encrypted, also in the data folder: they may hold secrets.
"""

import base64
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

import msgspec
import structlog

from dogubako.contract.errors import BusyError, ConflictError
from dogubako.outbound.redis_cache import Unavailable
from dogubako.outbound.shared_cipher import SharedCipher
from dogubako.outbound.shared_hash import PUT_FIELDS, RESTORE_FIELDS
from dogubako.outbound.shared_redis import SharedRedis

log = structlog.get_logger("dogubako.outbound")

_PURPOSE: Final = b"dogubako shared records"
_VERSION: Final = b"#"

_AWAY: Final = "The Redis that all processes share does not answer: nothing was changed."
_CHANGED: Final = "Another process made a change at the same moment: nothing was changed."


class _Copy(msgspec.Struct, frozen=True):
    """What the data folder has of the records, as they are in Redis."""

    version: int
    fields: dict[str, str]


class SharedRecords:
    """The records of one kind."""

    def __init__(self, shared: SharedRedis, kind: str, path: Path) -> None:
        self._shared = shared
        self._path = path
        self._keys = [shared.name(kind), shared.name("news")]
        self._cipher = SharedCipher(shared, _PURPOSE)
        self._put = shared.client.register_script(PUT_FIELDS)
        self._restore = shared.client.register_script(RESTORE_FIELDS)
        self._listener: Callable[[], None] = lambda: None
        self.version, self._sealed = self._stored()
        shared.refresh_with(self.refresh)

    def listen(self, listener: Callable[[], None]) -> None:
        """Call this after every change, also of this process."""
        self._listener = listener

    def all(self) -> dict[str, bytes]:
        """All records by name."""
        opened = ((name, self._cipher.open(self._bound(name), sealed)) for name, sealed in self._sealed.items())
        return {name: record for name, record in opened if record is not None}

    async def put(self, name: str, record: bytes, *, seen: int) -> None:
        """Store a record if nothing was changed since the version `seen`, or raise a `DogubakoError`."""
        sealed = self._cipher.seal(self._bound(name), record)
        try:
            version = await self._shared.run_script(self._put, self._keys, seen, name, sealed)
        except Unavailable:
            raise BusyError(_AWAY, hint="Try again in a moment; `dogubako doctor` says more.") from None
        if version <= 0:
            raise ConflictError(_CHANGED, hint="Look at it again, and repeat the change if it is still wanted.")
        if version == self.version + 1:
            self._apply(version, {**self._sealed, name: sealed})

    async def read(self) -> None:
        """Read changes now. Raises BusyError where that is impossible."""
        try:
            await self.refresh()
        except Unavailable:
            raise BusyError(_AWAY, hint="Try again in a moment; `dogubako doctor` says more.") from None

    async def refresh(self) -> None:
        """Read the records if their version differs."""
        client, key = self._shared.client, self._keys[0]
        version = _number(await self._shared.run(lambda: client.hget(key, _VERSION)))
        if version == self.version:
            return
        if version < self.version:
            await self._write_back()
            return
        stored: dict[bytes, bytes] = await self._shared.run(lambda: client.hgetall(key))
        version = _number(stored.pop(_VERSION, None))
        self._apply(version, {name.decode("utf-8", "replace"): sealed for name, sealed in stored.items()})

    async def _write_back(self) -> None:
        fields: list[Any] = [part for pair in self._sealed.items() for part in pair]
        if await self._shared.run_script(self._restore, self._keys, self.version, *fields):
            log.warning("The shared Redis had lost records, which were written back", records=len(self._sealed))

    def _apply(self, version: int, sealed: dict[str, bytes]) -> None:
        self.version, self._sealed = version, sealed
        self._store()
        self._listener()

    def _bound(self, name: str) -> str:
        return f"{self._keys[0]} {name}"

    def _stored(self) -> tuple[int, dict[str, bytes]]:
        try:
            copy = msgspec.json.decode(self._path.read_bytes(), type=_Copy)
            return copy.version, {name: base64.b64decode(one) for name, one in copy.fields.items()}
        except (OSError, ValueError):
            return 0, {}

    def _store(self) -> None:
        copy = _Copy(self.version, {name: base64.b64encode(one).decode() for name, one in self._sealed.items()})
        unfinished = self._path.with_name(f"{self._path.name}.{token_hex(8)}.part")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            unfinished.write_bytes(msgspec.json.encode(copy))
            unfinished.replace(self._path)
        except OSError as error:
            # It is needed only while Redis is away at a start, or was emptied.
            log.warning("Shared records cannot be kept in the data folder", reason=error.strerror)


def _number(stored: bytes | None) -> int:
    try:
        return int(stored or 0)
    except ValueError:
        raise Unavailable from None
