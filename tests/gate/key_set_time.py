"""Time for tests of the key set: a clock that only goes when it is told to, and fetches that wait."""

import time
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from dogubako.gate.jwks import Jwks
from tests.doors.waiting import until


class Clock:
    """The key set's clock; the loop keeps its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = time.monotonic()
        monkeypatch.setattr("dogubako.gate.jwks.time", SimpleNamespace(monotonic=lambda: self.now))


class Patience:
    """From now on fetches wait until they are let go; `addresses` has those that have begun."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.addresses: list[str] = []
        self._let_go = anyio.Event()
        fetch = Jwks._json

        async def dawdle(keys: Jwks, url: str) -> dict[str, Any]:
            self.addresses.append(url)
            await self._let_go.wait()
            return await fetch(keys, url)

        monkeypatch.setattr(Jwks, "_json", dawdle)

    async def begun(self) -> None:
        await until(lambda: bool(self.addresses), "the server was asked")

    def let_go(self) -> None:
        self._let_go.set()
