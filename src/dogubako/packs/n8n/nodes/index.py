"""An index of node types in the data folder, made once from n8n's own packages and read piece by piece.

n8n's node types are under the Sustainable Use License: we read them from the user's own installation or download, and
neither ship nor commit them.
"""

import hashlib
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import msgspec

from dogubako.packs.n8n.nodes.descriptions import DECODER, ENCODER, NodeDescription, Summary, description_of

PACKAGES: Final = ("n8n-nodes-base", "@n8n/n8n-nodes-langchain")
# Counted up when the form of the index changes: older ones are made again.
_FORM: Final = 2
# Forms of downloads that can be read still: they lack hidden nodes and inputs that are needed.
_READABLE: Final = (_FORM, 1)
_TYPES: Final = (Path("dist/types/nodes.json"), Path("nodes.json"))
# Where packages lie, from a folder that an operator names: the installation, its node_modules, or a package.
# npm puts them below n8n in a global installation, and beside it in a local one.
_PLACES: Final = (
    ".",
    "node_modules",
    "node_modules/n8n/node_modules",
    "n8n/node_modules",
    "lib/node_modules/n8n/node_modules",
    "lib/node_modules",
    "..",
    "../..",
)
_LARGEST: Final = 64 * 1024 * 1024
_SUMMARY: Final = msgspec.msgpack.Decoder(Summary)
_TABLE: Final = """
CREATE TABLE versions (package TEXT, version TEXT);
CREATE TABLE nodes (type TEXT, summary BLOB, description BLOB);
CREATE INDEX by_type ON nodes (type);
"""
# Descriptions are up to 170 KB; a workflow uses few types.
_KEPT: Final = 24


class NoNodeTypes(Exception):  # noqa: N818 - a signal to the source, which has the words for callers
    """There are no node types where they should be."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Package:
    """One installed package of node types."""

    name: str
    version: str
    types: Path
    origin: str = "installation"


def installed_packages(folder: Path) -> list[Package]:
    """The packages of node types in an installation of n8n."""
    found: dict[str, Package] = {}
    for place in _PLACES:
        for name in PACKAGES:
            home = folder / place / name
            for types in (home / one for one in _TYPES if (home / one).is_file()):
                found.setdefault(name, _package(name, home, types))
    return list(found.values())


def _package(name: str, home: Path, types: Path) -> Package:
    try:
        written = msgspec.json.decode((home / "package.json").read_bytes(), type=dict[str, Any])
    except (OSError, ValueError):
        written = {}
    origin = str(written.get("dogubakoOrigin") or "installation")
    return Package(name=name, version=str(written.get("version") or ""), types=types, origin=origin)


def index_of(packages: Sequence[Package], folder: Path) -> "NodeIndex":
    """The index of these packages; made now if there is none of exactly these files."""
    stamp = hashlib.sha256(str(_FORM).encode())
    for package in packages:
        facts = package.types.stat()
        stamp.update(f"{package.types} {facts.st_size} {facts.st_mtime_ns}".encode())
    path = folder / f"node-types-{stamp.hexdigest()[:16]}.sqlite"
    if not path.is_file():
        write_index(path, packages)
    return NodeIndex(path)


def downloaded(folder: Path, version: str, form: int = _FORM) -> Path:
    """Where the download command puts the index of a version of n8n."""
    safe = re.sub(r"[^0-9A-Za-z.-]", "_", version)[:40]
    return folder / f"node-types-{safe}-{form}.sqlite"


def downloaded_index(folder: Path, version: str) -> Path | None:
    """The newest download of the node types of a version of n8n, if there is one."""
    return next((path for form in _READABLE if (path := downloaded(folder, version, form)).is_file()), None)


def write_index(path: Path, packages: Sequence[Package]) -> None:
    """Write an index beside its place, then move it there: others never see half of one."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    unfinished = path.with_suffix(f".{os.getpid()}.part")
    unfinished.unlink(missing_ok=True)
    with closing(sqlite3.connect(unfinished)) as database, database:
        database.executescript(_TABLE)
        database.executemany("INSERT INTO versions VALUES (?, ?)", [(one.name, one.version) for one in packages])
        database.executemany("INSERT INTO nodes VALUES (?, ?, ?)", _rows(packages))
    unfinished.replace(path)


def _rows(packages: Iterable[Package]) -> Iterator[tuple[str, bytes, bytes]]:
    for package in packages:
        if package.types.stat().st_size > _LARGEST:
            raise NoNodeTypes(f"{package.types.name} is larger than {_LARGEST:,} bytes")
        try:
            # One by one: decoding all at once would hold the interpreter for too long.
            for written in msgspec.json.decode(package.types.read_bytes(), type=list[msgspec.Raw]):
                one = description_of(package.name, msgspec.json.decode(written, type=dict))
                yield one.type, ENCODER.encode(Summary.of(one)), ENCODER.encode(one)
        except msgspec.DecodeError as error:
            raise NoNodeTypes(f"{package.types.name} cannot be read") from error


class NodeIndex:
    """Reads one index. Every method reads a file: call it in a worker thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.descriptions = lru_cache(_KEPT)(self._descriptions)
        self.summaries = lru_cache(1)(self._summaries)

    def version(self) -> str:
        """The version of n8n's nodes."""
        versions: dict[str, str] = dict(self._read("SELECT package, version FROM versions"))
        return str(versions.get(PACKAGES[0]) or next(iter(versions.values()), ""))

    def packages(self) -> tuple[str, ...]:
        return tuple(name for (name,) in self._read("SELECT package FROM versions"))

    def _descriptions(self, node_type: str) -> tuple[NodeDescription, ...]:
        rows = self._read("SELECT description FROM nodes WHERE type = ?", node_type)
        return tuple(DECODER.decode(blob) for (blob,) in rows)

    def _summaries(self) -> tuple[Summary, ...]:
        """One for each type: that of its newest version."""
        newest: dict[str, Summary] = {}
        for (blob,) in self._read("SELECT summary FROM nodes"):
            one = _SUMMARY.decode(blob)
            newest.setdefault(one.type, one)
        return tuple(newest.values())

    def _read(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        try:
            with closing(sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=ro", uri=True)) as database:
                return database.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise NoNodeTypes(str(error)) from error
