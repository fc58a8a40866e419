"""The packages of a lock file, as pip reads it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_LINE = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True, kw_only=True, slots=True)
class LockedPackage:
    """One version of a package, and the hashes of the files that may be installed."""

    name: str
    version: str
    hashes: tuple[str, ...]


def locked_packages(lock: Path) -> Iterator[LockedPackage]:
    """Every package in order. One that depends on the Python has several versions."""
    for line in lock.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        if match := _LINE.match(line):
            yield LockedPackage(name=match["name"], version=match["version"], hashes=tuple(_HASH.findall(line)))
