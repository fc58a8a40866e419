"""Time for tests of the key set: a clock that only goes when it is told to, and fetches that wait."""

import time
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from dogubako.gate.key_set import KeySet
from tests.doors.waiting import until


class Clock:
    """The key set's clock; the loop keeps its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = time.monotonic()
        for module in ("key_set", "unknown_keys"):
            monkeypatch.setattr(f"dogubako.gate.{module}.time", SimpleNamespace(monotonic=lambda: self.now))


class Patience:
    """From now on fetches wait until they are let go; `addresses` has those that have begun."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.addresses: list[str] = []
        self._let_go = anyio.Event()
        fetch = KeySet._json

        async def dawdle(keys: KeySet, url: str) -> dict[str, Any]:
            self.addresses.append(url)
            await self._let_go.wait()
            return await fetch(keys, url)

        monkeypatch.setattr(KeySet, "_json", dawdle)

    async def begun(self) -> None:
        await until(lambda: bool(self.addresses), "the server was asked")

    def let_go(self) -> None:
        self._let_go.set()
