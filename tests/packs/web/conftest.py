"""Fixtures of the web pack's tests: a running toolbox on a fresh sandbox."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import structlog.testing

from dogubako.app import Toolbox

from .boxes import sandbox


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Toolbox]:
    """Without a configured log every call would be drawn on the terminal, which takes longer than the call."""
    with structlog.testing.capture_logs():
        async with sandbox(tmp_path).running() as box:
            yield box
