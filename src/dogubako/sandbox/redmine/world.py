"""What this Redmine knows when it starts: the tables of a real one, as rows with Redmine's own column names."""

from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from dogubako.sandbox.redmine.store import Row, Store

_FILE: Final = Path(__file__).with_name("world.json")


def seeded_store() -> Store:
    """A copy of the recorded world that nobody else changes."""
    return Store(msgspec.json.decode(_recorded(), type=dict[str, list[Row]]))


@cache
def _recorded() -> bytes:
    return _FILE.read_bytes()
