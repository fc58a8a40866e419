"""Assign stable public names to the tools of other servers: their own names, with a prefix only on collision."""

import hashlib
import re
from collections.abc import Collection, Mapping
from typing import Final

import structlog

from dogubako.gateway.definitions import DefinitionStore, read_json, write_json

log = structlog.get_logger("dogubako.gateway")

_LONGEST: Final = 64
_NOT_ALLOWED: Final = re.compile(r"[^A-Za-z0-9_-]")


class Names:
    """Gives every tool of every server one public name, and remembers it.

    A name is never given to another tool, not even after its server was removed: what agents, scopes and habits
    refer to stays the same.
    """

    def __init__(self, store: DefinitionStore, own: Collection[str], kind: str = "names") -> None:
        # The names of Dogubako's own tools, which no server can have.
        self._own = frozenset(own)
        self._path = store.folder / f"{kind}.json"
        self._by_tool: dict[tuple[str, str], str] = {}

    def of(self, server: str, tools: Collection[str], *, keep: bool = True) -> dict[str, str]:
        """The public name of each tool. New ones are stored, unless they are only to be looked at."""
        own = self._own
        # Another process may have named tools meanwhile.
        self._by_tool = {**self._by_tool, **self._stored()}
        taken = {*own, *self._by_tool.values()}
        new: dict[tuple[str, str], str] = {}
        for tool in tools:
            key = (server, tool)
            # A later version of Dogubako may have a tool of this name: then the server's tool gets another one.
            if key not in self._by_tool or self._by_tool[key] in own:
                new[key] = _free(server, tool, taken)
                taken.add(new[key])
        named = {**self._by_tool, **new}
        if new and keep:
            self._by_tool = named
            self._save()
        return {tool: named[server, tool] for tool in tools}

    def adopt(self, server: str, names: Mapping[str, str]) -> None:
        """Use the names that another process gave to tools of a server. A name that is taken here is not given away."""
        own = {(server, tool): name for tool, name in names.items()}
        taken = self.taken_by_others(server)
        new = {key: name for key, name in own.items() if name not in taken and self._by_tool.get(key) != name}
        if new:
            self._by_tool = {**self._by_tool, **self._stored(), **new}
            self._save()

    def taken_by_others(self, server: str) -> frozenset[str]:
        """The names that belong to Dogubako and to other servers."""
        stored = {**self._by_tool, **self._stored()}
        return self._own | {name for (owner, _), name in stored.items() if owner != server}

    def _stored(self) -> dict[tuple[str, str], str]:
        found = read_json(self._path)
        tables = (
            [(server, one) for server, one in found.items() if isinstance(one, dict)] if isinstance(found, dict) else []
        )
        return {(server, tool): str(name) for server, names in tables for tool, name in names.items()}

    def _save(self) -> None:
        tables: dict[str, dict[str, str]] = {}
        for (server, tool), name in self._by_tool.items():
            tables.setdefault(server, {})[tool] = name
        try:
            write_json(self._path, tables)
        except OSError as error:
            # The names are used all the same: the next start derives the same ones, unless a server was added.
            log.error("Names of tools cannot be stored", path=str(self._path), reason=error.strerror)


def _free(server: str, tool: str, taken: Collection[str]) -> str:
    """The tool's own name if it is free, else with the server's name before it."""
    own = _NOT_ALLOWED.sub("_", tool)
    digest = hashlib.sha256(f"{server}\n{tool}".encode()).hexdigest()[:8]
    if not own.strip("_-"):
        # Nothing of a name in another script is left, and a row of underscores is no name.
        own = f"tool_{digest}"
    for name in (own, f"{server}_{own}"):
        if len(name) <= _LONGEST and name not in taken:
            return name
    return f"{f'{server}_{own}'[: _LONGEST - 9]}_{digest}"
