"""Encrypted records by name that all processes of one server have: the fields of a `SharedHash`, sealed.

A record that an old key of the ring sealed is sealed again as soon as no process seals with that key any more, so that
the key can be dropped.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import structlog

from dogubako.contract.errors import BusyError, ConflictError
from dogubako.key_ring import KeyRing, RingCipher, key_id_of
from dogubako.outbound.redis_cache import Unavailable
from dogubako.outbound.shared_hash import Fields, SharedHash
from dogubako.outbound.shared_redis import SharedRedis

log = structlog.get_logger("dogubako.outbound")

_PURPOSE: Final = b"dogubako shared records"

_AWAY: Final = "The Redis that all processes share {reason}: nothing was changed."
_CHANGED: Final = "Another process made a change at the same moment: nothing was changed."
_HINT: Final = "Try again in a moment; `dogubako doctor` says more."


class SealedRecords:
    """The records of one kind. `ring` seals them, if it is another one than that of all that is shared."""

    def __init__(
        self, shared: SharedRedis, kind: str, *, ring: KeyRing | None = None, path: Path | None = None
    ) -> None:
        self._shared = shared
        self._kind = kind
        self._key = shared.name(kind)
        self._ring = ring or shared.ring
        self._cipher = RingCipher(self._ring, _PURPOSE)
        self._listener: Callable[[], None] = lambda: None
        # Records as they were last opened.
        self._opened: dict[bytes, tuple[bytes, bytes | None]] = {}
        self._hash = SharedHash(shared, kind, self._changed, path=path)
        shared.refresh_with(self.refresh)

    @property
    def version(self) -> int:
        return self._hash.version

    def listen(self, listener: Callable[[], None]) -> None:
        """Call this after every change, also of this process."""
        self._listener = listener

    def _changed(self) -> None:
        self._listener()

    def all(self) -> dict[str, bytes]:
        """All records by name."""
        opened = ((field, self._open(field, sealed)) for field, sealed in self._hash.fields.items())
        return {field.decode("utf-8", "replace"): record for field, record in opened if record is not None}

    def get(self, name: str) -> bytes | None:
        """The record of this name; None if there is none that can be opened."""
        field = name.encode()
        sealed = self._hash.fields.get(field)
        return None if sealed is None else self._open(field, sealed)

    def _open(self, field: bytes, sealed: bytes) -> bytes | None:
        known = self._opened.get(field)
        if known is None or known[0] != sealed:
            known = self._opened[field] = (sealed, self._cipher.open(self._bound(field), sealed))
            if known[1] is None:
                log.warning("A record in the shared Redis is not one of this server, and is ignored", of=self._kind)
        return known[1]

    def _bound(self, field: bytes) -> bytes:
        return self._key.encode() + b" " + field

    def _sealed(self, field: bytes, record: bytes) -> bytes:
        return self._cipher.seal(self._bound(field), record)

    async def put(self, name: str, record: bytes, *, seen: int | None = None) -> None:
        """Store a record, or raise a `DogubakoError`. With `seen` only if nothing was changed since that version."""
        field = name.encode()
        changes = {field: self._sealed(field, record)}
        try:
            if seen is None:
                done = await self._hash.change(lambda fields: changes)
            else:
                done = await self._hash.put(changes, seen=seen)
        except Unavailable as error:
            raise BusyError(_AWAY.format(reason=error.reason), hint=_HINT) from None
        if not done:
            raise ConflictError(_CHANGED, hint="Look at it again, and repeat the change if it is still wanted.")

    async def read(self) -> None:
        """Read changes now. Raises BusyError where that is impossible."""
        try:
            await self._hash.refresh()
        except Unavailable as error:
            raise BusyError(_AWAY.format(reason=error.reason), hint=_HINT) from None

    async def refresh(self) -> None:
        """Read the records if they changed, and seal again what an old key sealed. May raise Unavailable."""
        await self._hash.refresh()
        if (old := self._sealed_with_old_keys(self._hash.fields)) and await self._hash.change(self._sealed_again):
            log.warning("Shared records were sealed again, with the key in force", of=self._kind, records=len(old))

    def _sealed_with_old_keys(self, fields: Fields) -> list[bytes]:
        """Records whose key this process has, and which no process seals with any more."""
        dropped = set(self._ring.ids[1:]) - self._shared.sealing_ids
        return [field for field, sealed in fields.items() if key_id_of(sealed) in dropped] if dropped else []

    def _sealed_again(self, fields: Fields) -> Fields:
        old = ((field, self._open(field, fields[field])) for field in self._sealed_with_old_keys(fields))
        return {field: self._sealed(field, record) for field, record in old if record is not None}
