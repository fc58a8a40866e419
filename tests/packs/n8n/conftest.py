"""Fixtures of the n8n pack's tests: a sandbox per test, and what it says of every recording, asked once."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import structlog.testing

from dogubako.app import Toolbox
from tests.log_capture import no_log_on_the_terminal

from .recorded import Told, ask_everything, sandbox

__all__ = ["no_log_on_the_terminal"]


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
