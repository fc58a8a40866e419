"""Change the tables `[servers.NAME]` of the settings file. Comments and everything else stay as they are."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from dogubako.gate.files import write_temp_file
from dogubako.gateway.definitions import DefinitionStore, read_json, write_json
from dogubako.settings import SettingsError

_SERVERS: Final = "servers"
_UNDO: Final = "import-undo.json"


def enter_servers(path: Path, tables: Mapping[str, Mapping[str, Any]], section: str = _SERVERS) -> None:
    """Add or replace the tables of servers. OSError if the file cannot be written; it is then as it was."""
    document = _read(path)
    servers = document.get(section)
    if not isinstance(servers, Table):
        servers = document[section] = tomlkit.table(is_super_table=True)
    for name, table in tables.items():
        written = tomlkit.table()
        for key, value in table.items():
            written[key] = _written(value)
        servers[name] = written
    _write(path, tomlkit.dumps(document))


def drop_servers(path: Path, names: Iterable[str], section: str = _SERVERS) -> None:
    """Remove the tables of servers."""
    document = _read(path)
    servers = document.get(section)
    for name in names:
        if isinstance(servers, Table) and name in servers:
            del servers[name]
    if isinstance(servers, Table) and not servers:
        del document[section]
    _write(path, tomlkit.dumps(document))


def import_servers(path: Path, store: DefinitionStore, tables: Mapping[str, Mapping[str, Any]]) -> None:
    """Enter servers, and remember how to undo it."""
    before = path.read_text(encoding="utf-8") if path.exists() else None
    enter_servers(path, tables)
    after = path.read_bytes()
    undo = {"path": str(path.absolute()), "before": before, "after": _digest(after), "servers": [*tables]}
    write_json(store.folder / _UNDO, undo)


def undo_import(path: Path, store: DefinitionStore) -> list[str]:
    """Undo the last import into this file, and return the servers that it removes.

    If the file was changed since, only the imported tables are removed.
    """
    undo = read_json(store.folder / _UNDO)
    if not isinstance(undo, dict) or undo.get("path") != str(path.absolute()) or not path.exists():
        raise SettingsError(f"There is no import into {path} that could be undone.")
    servers = [str(one) for one in undo.get("servers", [])]
    if _digest(path.read_bytes()) != undo.get("after"):
        drop_servers(path, servers)
    elif isinstance(undo.get("before"), str):
        _write(path, undo["before"])
    else:
        path.unlink()
    (store.folder / _UNDO).unlink()
    return servers


def _written(value: Any) -> Any:
    if isinstance(value, Mapping):
        inline = tomlkit.inline_table()
        inline.update({key: _written(one) for key, one in value.items()})
        return inline
    return [*value] if isinstance(value, tuple) else value


def _read(path: Path) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else tomlkit.document()
    except (TOMLKitError, UnicodeDecodeError):
        raise SettingsError(f"{path} is not valid TOML; mend it first, nothing was changed.") from None


def _write(path: Path, text: str) -> None:
    """Replace the file in one step. It keeps its mode; a new one is private, because it may hold keys."""
    target = path.resolve()
    with write_temp_file(target, text.encode()) as file:
        if target.exists():
            file.chmod(target.stat().st_mode & 0o777)
        file.replace(target)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
