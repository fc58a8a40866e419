"""API keys of all processes of one server, in the shared Redis: one sealed record per key.

Every process authenticates from its own copy, so a call asks nobody, and known keys go on working while Redis is away.
A process that has never read the keys lets nobody in. Records are sealed with the key ring: who can write into Redis
cannot make a key, and a process that knows a key as revoked never takes it back. A record that was sealed with an old
key of the ring is sealed again as soon as no process seals with that key any more.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
import structlog

from dogubako.contract.errors import BusyError
from dogubako.gate.api_keys import (
    ApiKey,
    KeysError,
    check_name,
    key_of_secret,
    key_with_credential,
    meant_key,
    new_key,
    revoked_key,
)
from dogubako.key_ring import RingCipher, key_id_of
from dogubako.outbound.redis_cache import Unavailable
from dogubako.outbound.shared_hash import Fields, SharedHash
from dogubako.outbound.shared_redis import SharedRedis

if TYPE_CHECKING:
    from dogubako.gate.credential_vault import CredentialVault

log = structlog.get_logger("dogubako.gate")

ResultT = TypeVar("ResultT")

_HASH: Final = "keys"
_PURPOSE: Final = b"dogubako API keys"
# Expired keys must not be remembered for longer.
_LOOK_AGAIN_SECONDS: Final = 1.0
_UNREAD: Final = "The API keys have not been read: the Redis of DOGUBAKO_SHARED does not answer."
_AWAY: Final = "The Redis that all processes share {reason}: no key was changed."
_CONTENDED: Final = "Others change keys at this moment: no key was changed."
_FOREIGN: Final = "Some API keys are sealed with a key that this process does not have: no key was changed."
_ADVICE: Final = "DOGUBAKO_REQUEST_STATE_KEY must be that of the other processes; see docs/scale.md for changing it."


class SharedKeys:
    """The copy of one process, and changes of what all of them have."""

    advice = (
        "`dogubako keys create --name … --scope …` makes one; `dogubako keys share` copies those of this data folder."
    )

    def __init__(self, shared: SharedRedis, open_vault: "Callable[[], CredentialVault]") -> None:
        self._shared = shared
        self._open_vault = open_vault
        self._cipher = RingCipher(shared.ring, _PURPOSE)
        self._hash = SharedHash(shared, _HASH, self._apply)
        self._keys: dict[str, ApiKey] = {}
        # Records as they were last decoded, by key id.
        self._decoded: dict[bytes, tuple[bytes, ApiKey]] = {}
        self._unreadable: frozenset[bytes] = frozenset()
        # Records that another key than the one in force sealed.
        self._old: list[bytes] = []
        self._looked = float("-inf")
        self._follows = False

    def follow(self) -> None:
        """Keep the copy up to date while the server runs."""
        self._follows = True
        self._shared.decides_calls(_HASH)
        self._shared.refresh_with(self.refresh)

    def find(self, secret: str) -> ApiKey | None:
        return key_of_secret(self._current(), secret)

    def get(self, key_id: str) -> ApiKey | None:
        return self._current().get(key_id)

    def all(self) -> list[ApiKey]:
        return list(self._current().values())

    def last_look(self) -> float | None:
        return self._looked if time.monotonic() - self._looked < _LOOK_AGAIN_SECONDS else None

    def trouble(self) -> str | None:
        if self._unreadable:
            return f"Sealed with a key that this process does not have: {len(self._unreadable)}."
        if self._old:
            return f"Still sealed with an old key: {len(self._old)}. Keep that key until there are none."
        return None

    def _current(self) -> dict[str, ApiKey]:
        if not self._hash.is_read:
            raise KeysError(_UNREAD, hint="Start it, or change DOGUBAKO_SHARED.")
        if self.last_look() is None:
            self._looked = time.monotonic()
        return self._keys

    async def refresh(self) -> None:
        """Read the keys if they changed, and seal again what an old key sealed. May raise Unavailable."""
        await self._hash.refresh()
        old = self._old
        if not old or {key_id_of(self._hash.fields[field]) for field in old} & self._shared.sealing_ids:
            return
        if await self._hash.change(self._sealed_again):
            log.warning("API keys were sealed again, with the key in force", keys=len(old))

    async def all_keys(self) -> list[ApiKey]:
        """All keys as Redis has them now, or as this process knows them while it does not answer."""
        try:
            await self._hash.refresh()
        except Unavailable:
            return self.all()
        return self.all()

    async def meant(self, which: str) -> ApiKey:
        """The active key of this id or name, or KeysError."""
        return meant_key(await self.all_keys(), which)

    async def create(self, name: str, scopes: Sequence[str], expires_in: timedelta | None) -> tuple[str, ApiKey]:
        """Create a key. The first part of the result is the only copy of its secret."""
        secret, key = new_key(name, scopes, expires_in)

        def added(keys: list[ApiKey]) -> ApiKey:
            self._check_all_are_read()
            check_name(keys, name)
            return key

        return secret, await self._change(added)

    async def revoke(self, which: str) -> ApiKey:
        """Revoke a key by id or by name."""
        return await self._change(lambda keys: revoked_key(keys, which))

    async def set_credential(self, which: str, service: str, sealed: Callable[[ApiKey], str] | None) -> ApiKey:
        """Keep the encrypted credential of a key's holder for a service; None removes it."""
        return await self._change(lambda keys: key_with_credential(keys, which, service, sealed))

    async def add_all(self, found: Iterable[ApiKey]) -> list[ApiKey]:
        """Add keys of a data folder. Known ones stay as they are, and are revoked if they are revoked there."""
        added: list[ApiKey] = []

        def changes(keys: list[ApiKey]) -> list[ApiKey]:
            self._check_all_are_read()
            known = {key.id: key for key in keys}
            added[:] = [key for key in found if key.id not in known or (key.revoked and not known[key.id].revoked)]
            return added

        await self._change_all(changes)
        return added

    async def _change(self, change: Callable[[list[ApiKey]], ApiKey]) -> ApiKey:
        changed: list[ApiKey] = []

        def changes(keys: list[ApiKey]) -> list[ApiKey]:
            changed[:] = [change(keys)]
            return changed

        await self._change_all(changes)
        return changed[0]

    async def _change_all(self, changes: Callable[[list[ApiKey]], list[ApiKey]]) -> None:
        def compute(fields: Fields) -> Fields:
            return dict(map(self._sealed, changes(list(self._keys.values()))))

        hint = "Try again in a moment; `dogubako doctor` says more."
        try:
            await self._hash.refresh()
            done = await self._hash.change(compute)
        except Unavailable as error:
            raise BusyError(_AWAY.format(reason=error.reason), hint=hint) from None
        if not done:
            raise BusyError(_CONTENDED, hint=hint)

    def _check_all_are_read(self) -> None:
        """Raise if some keys are unknown: one may have the name of a new key, and no other process could open that."""
        if self._unreadable:
            raise KeysError(_FOREIGN, hint=_ADVICE)

    def _apply(self) -> None:
        """Decode the records that differ from before."""
        keys: dict[str, ApiKey] = {}
        decoded: dict[bytes, tuple[bytes, ApiKey]] = {}
        for field, sealed in self._hash.fields.items():
            known = self._decoded.get(field)
            key = known[1] if known is not None and known[0] == sealed else self._opened(field, sealed)
            if key is None:
                continue
            if known is not None and known[1].revoked is not None and key.revoked is None:
                log.error("A revoked API key came back in the shared Redis, and stays revoked here", key=key.name)
                key = known[1]
            decoded[field], keys[key.id] = (sealed, key), key
        self._say_unreadable(frozenset(self._hash.fields.keys() - decoded.keys()))
        # The order of a hash says nothing; people read the oldest first.
        self._keys = dict(sorted(keys.items(), key=lambda item: item[1].created))
        self._decoded, self._looked = decoded, float("-inf")
        own = self._shared.ring.sealing.id_bytes
        self._old = [field for field, (sealed, _) in decoded.items() if not sealed.startswith(own)]

    def _say_unreadable(self, unreadable: frozenset[bytes]) -> None:
        # A command says it when it matters.
        if self._follows and unreadable - self._unreadable:
            log.error("API keys in the shared Redis cannot be opened", keys=len(unreadable), advice=_ADVICE)
        self._unreadable = unreadable

    def _sealed(self, key: ApiKey) -> tuple[bytes, bytes]:
        field = key.id.encode()
        return field, self._cipher.seal(field, msgspec.json.encode(key))

    def _opened(self, field: bytes, sealed: bytes) -> ApiKey | None:
        plain = self._cipher.open(field, sealed)
        try:
            key = msgspec.json.decode(plain, type=ApiKey) if plain is not None else None
        except msgspec.DecodeError:
            key = None
        return key

    def _sealed_again(self, fields: Fields) -> Fields:
        """Records of old keys, sealed with the key in force: they themselves, and the credentials in them."""
        vault = self._open_vault()
        changed: dict[bytes, bytes] = {}
        for field in self._old:
            key = self._decoded[field][1]
            opened = {service: vault.open(key.id, service, text) for service, text in key.credentials.items()}
            credentials = {
                service: key.credentials[service] if own is None else vault.seal(key.id, service, own)
                for service, own in opened.items()
            }
            changed.update([self._sealed(msgspec.structs.replace(key, credentials=credentials))])
        return changed
