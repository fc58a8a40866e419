"""A fixture for folders whose tests log much: their conftest imports it."""

from collections.abc import Iterator

import pytest
import structlog.testing


@pytest.fixture(autouse=True)
def no_log_on_the_terminal() -> Iterator[None]:
    """Without a configured log every call would be drawn on the terminal, which takes longer than the call."""
    with structlog.testing.capture_logs():
        yield
