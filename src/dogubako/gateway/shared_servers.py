"""Servers that several processes share: a change is a record in the shared Redis, and every process follows it.

A record comes before the settings file: it may add a server that no file names, take away one that a file names, and
has what was approved. Public names of tools are in it as well, so that they are the same everywhere.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol

import msgspec
import structlog

from dogubako.contract.errors import DogubakoError, ValidationError
from dogubako.contract.pack import secrets_of
from dogubako.gateway.definitions import Definitions
from dogubako.gateway.pack import ServerPack
from dogubako.gateway.server_changes import Serving
from dogubako.gateway.servers import Servers
from dogubako.gateway.settings import read_server
from dogubako.settings import SettingsError

log = structlog.get_logger("dogubako.gateway")

# Definitions that are larger are left out: each process reads them from the server itself.
_MOST_BYTES_OF_DEFINITIONS: Final = 1024 * 1024
_MOST_BYTES: Final = 8 * 1024 * 1024
_TOO_LARGE: Final = "The definitions of this server are too large to be shared by several processes."


class Records(Protocol):
    """Records by name, which all processes follow."""

    @property
    def version(self) -> int: ...

    def all(self) -> dict[str, bytes]: ...

    def listen(self, listener: Any) -> None: ...

    async def read(self) -> None: ...

    async def put(self, name: str, record: bytes, *, seen: int) -> None: ...


class ServerRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was changed of one server."""

    removed: bool = False
    # Its settings; None if the settings files of the machines have it.
    table: dict[str, Any] | None = None
    definitions: dict[str, Any] | None = None
    # What was approved; None if nothing was approved this way.
    pins: dict[str, Any] | None = None
    # The public names of its tools.
    names: dict[str, str] = {}
    # How often it was restarted.
    restarts: int = 0


_decode = msgspec.json.Decoder(ServerRecord).decode


class SharedServers:
    """Writes records, and makes the servers of this process what the records say."""

    def __init__(self, records: Records, servers: Servers, box: Serving) -> None:
        self._records = records
        self._servers = servers
        self._box = box
        # What this process does now.
        self._followed: dict[str, ServerRecord] = {}
        self._followed_version = 0
        self._changed = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        records.listen(self._changed.set)

    # Changes.

    def names_in_files(self, name: str) -> bool:
        """A server that was removed may be added again, also if a settings file has it."""
        return name in self._servers.sources.tables and not self._record(name).removed

    async def prepare(self) -> None:
        await self._records.read()
        await self.follow()

    async def add(self, pack: ServerPack, table: Mapping[str, Any], *, approve: bool) -> None:
        pins, definitions = self._servers.pins, pack.definitions
        stored = definitions.stored()
        record = ServerRecord(
            table=dict(table),
            definitions=stored if len(_packed(stored)) <= _MOST_BYTES_OF_DEFINITIONS else None,
            pins=pins.with_approved(pack.name, definitions) if approve else None,
            names=self._servers.parts.names.of(pack.name, [one["name"] for one in definitions.tools], keep=False),
        )
        await self._put(pack.name, record)

    async def remove(self, name: str) -> None:
        await self._put(name, ServerRecord(removed=True))
        if self._servers.sources.sign_ins is not None:
            await self._servers.sources.sign_ins.forget(name)

    async def approve(self, name: str, tools: Sequence[str] | None) -> None:
        pack = self._servers.named(name)
        self._servers.check_tools(name, tools)
        pins = self._servers.pins.with_approved(name, pack.definitions, tools)
        names = self._servers.parts.names.of(name, [*pins["tools"]], keep=False)
        record = self._record(name)
        await self._put(name, msgspec.structs.replace(record, pins=pins, names={**record.names, **names}))

    async def restart(self, name: str) -> None:
        record = self._record(name)
        await self._put(name, msgspec.structs.replace(record, restarts=record.restarts + 1))

    def _record(self, name: str) -> ServerRecord:
        return self._followed.get(name, ServerRecord())

    async def _put(self, name: str, record: ServerRecord) -> None:
        packed = _packed(record)
        if len(packed) > _MOST_BYTES:
            raise ValidationError.of("settings", _TOO_LARGE)
        await self._records.put(name, packed, seen=self._followed_version)
        await self.follow()

    # What other processes changed.

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Follow the records until the end."""
        # An event belongs to the loop that first waited for it.
        self._changed, self._one_at_a_time = asyncio.Event(), asyncio.Lock()
        self._records.listen(self._changed.set)
        await self.follow(starting=True)
        task = asyncio.create_task(self._follow_changes())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _follow_changes(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            await self.follow()

    def drop_removed(self) -> None:
        """Before anything is connected: servers of the settings file that were removed are not served."""
        for name, packed in self._records.all().items():
            record = _unpacked(packed)
            if record is not None and record.removed and name in self._servers.packs:
                self._withdraw(name)

    async def follow(self, *, starting: bool = False) -> None:
        """Make the servers of this process what the records say."""
        async with self._one_at_a_time:
            version = self._records.version
            for name, packed in self._records.all().items():
                record = _unpacked(packed)
                before = self._followed.get(name)
                if record is None or record == before:
                    continue
                self._followed[name] = record
                try:
                    await self._follow(name, before, record)
                    if not starting and record.restarts > (before.restarts if before else 0):
                        await self._restart(name)
                except (SettingsError, DogubakoError, OSError) as error:
                    # One server that does not work here must not keep the others from being followed.
                    reason = self._box.redactor.mask_all(str(error))
                    log.error("A change of a server could not be followed", server=name, reason=reason)
            self._followed_version = version

    async def _follow(self, name: str, before: ServerRecord | None, record: ServerRecord) -> None:
        known = name in self._servers.packs
        if record.removed:
            if known:
                self._withdraw(name)
            return
        self._servers.parts.names.adopt(name, record.names)
        approved = record.pins is not None and record.pins != self._servers.pins.stored(name)
        if record.pins is not None and approved:
            self._servers.pins.store(name, record.pins)
        table = before.table if before is not None else self._servers.sources.tables.get(name)
        if record.table is not None and (not known or table != record.table):
            if known:
                self._withdraw(name)
            await self._serve(name, record)
        elif known and approved:
            self._servers.packs[name].refresh()

    async def _restart(self, name: str) -> None:
        pack = self._servers.packs.get(name)
        if pack is not None and pack.missing is None:
            await pack.restart()

    async def _serve(self, name: str, record: ServerRecord) -> None:
        settings = read_server(name, record.table or {})
        if record.definitions is not None:
            self._servers.store.save(name, Definitions.read(record.definitions))
        if record.pins is not None:
            self._servers.pins.store(name, record.pins)
        pack = self._servers.made(name, settings)
        self._box.redactor.add(*secrets_of(pack.server))
        self._servers.packs[name] = pack
        await self._box.serve_server(pack)
        log.info("A shared server is served", server=name)

    def _withdraw(self, name: str) -> None:
        self._box.withdraw_server(name)
        del self._servers.packs[name]
        self._servers.store.forget(name)
        log.info("A shared server was taken away", server=name)


def _packed(value: Any) -> bytes:
    return zlib.compress(msgspec.json.encode(value))


def _unpacked(packed: bytes) -> ServerRecord | None:
    try:
        return _decode(zlib.decompress(packed))
    except (zlib.error, ValueError, RecursionError):
        return None
