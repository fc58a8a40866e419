"""A server behind the gate, with one key for each kind of caller."""

import time
from collections.abc import AsyncIterator

import pytest

from dogubako.transports.http.app import HttpApp
from tests.doors.asgi import Client, opened
from tests.doors.conftest import _own_logging, loop_clock

from .callers import Keyring, keys_for_everybody
from .clock import Clock
from .guarded import guarded_box

__all__ = ["_own_logging", "loop_clock"]


@pytest.fixture(scope="session")
def keyring(tmp_path_factory: pytest.TempPathFactory) -> Keyring:
    """A data folder with keys in it."""
    return keys_for_everybody(tmp_path_factory.mktemp("data"))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time of day, for everything that counts or remembers by it."""
    clock = Clock()
    monkeypatch.setattr(time, "time", clock)
    return clock


@pytest.fixture
async def door(keyring: Keyring) -> HttpApp:
    """The HTTP door of a server that wants keys."""
    return HttpApp(guarded_box(keyring.folder))


@pytest.fixture
async def web(door: HttpApp) -> AsyncIterator[Client]:
    async with opened(door) as client:
        yield client
