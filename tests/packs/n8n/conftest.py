"""Fixtures of the n8n pack's tests: a sandbox per test, and what it says of every recording, asked once."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import structlog.testing

from dogubako.app import Toolbox

from .recorded import Told, ask_everything, sandbox


@pytest.fixture(autouse=True)
def no_log_on_the_terminal() -> Iterator[None]:
    """Without a configured log every call would be drawn on the terminal, which takes longer than the call."""
    with structlog.testing.capture_logs():
        yield


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Toolbox]:
    """A running toolbox on a fresh sandbox, for tests that go on asking."""
    async with sandbox(tmp_path).running() as box:
        yield box


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """The summary and the diagnosis of every recording, for tests that only read them."""
    with structlog.testing.capture_logs():
        return asyncio.run(ask_everything(tmp_path_factory.mktemp("told")))
