"""Carry out what administrators change of servers: add, remove, approve, restart.

A server that is alone changes its settings file and its data folder. Several processes share records of the changes,
and each of them follows: `shared_servers.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from dogubako.contract.redaction import Redactor
from dogubako.engine.registry import ToolRegistry
from dogubako.gateway.config_file import drop_servers, enter_servers
from dogubako.gateway.pack import ServerPack
from dogubako.gateway.servers import Servers
from dogubako.pack_state import PackState


class Serving(Protocol):
    """The running toolbox, as far as packs are added to it and taken out."""

    redactor: Redactor
    registry: ToolRegistry
    packs: dict[str, PackState]

    async def serve_server(self, pack: ServerPack) -> None: ...

    def withdraw_server(self, name: str) -> None: ...


class ServerChanges(Protocol):
    """Changes of servers. Each raises OSError or a `DogubakoError` if it cannot be stored, and does nothing then."""

    def names_in_files(self, name: str) -> bool:
        """Whether the settings have a server of this name that is not served, so that it cannot be added."""

    async def prepare(self) -> None:
        """Know what others changed, before anything is decided."""

    async def add(self, pack: ServerPack, table: Mapping[str, Any], *, approve: bool) -> None:
        """Serve a server that was connected once. Approve its tools, or hold them back."""

    async def remove(self, name: str) -> None: ...

    async def approve(self, name: str, tools: Sequence[str] | None) -> None: ...

    async def restart(self, name: str) -> None: ...


class LocalChanges:
    """Changes of this process, in the settings file and the data folder."""

    def __init__(self, servers: Servers, box: Serving) -> None:
        self._servers = servers
        self._box = box

    def names_in_files(self, name: str) -> bool:
        return name in self._servers.sources.tables

    async def prepare(self) -> None:
        """Nobody else changes them."""

    async def add(self, pack: ServerPack, table: Mapping[str, Any], *, approve: bool) -> None:
        self._servers.store.save(pack.name, pack.definitions)
        enter_servers(self._servers.sources.config_file, {pack.name: table})
        self._servers.packs[pack.name] = pack
        if approve:
            self._servers.approve(pack.name)
        await self._box.serve_server(pack)

    async def remove(self, name: str) -> None:
        drop_servers(self._servers.sources.config_file, [name])
        self._box.withdraw_server(name)
        del self._servers.packs[name]
        self._servers.store.forget(name)

    async def approve(self, name: str, tools: Sequence[str] | None) -> None:
        self._servers.approve(name, tools)

    async def restart(self, name: str) -> None:
        await self._servers.named(name).restart()
