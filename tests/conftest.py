"""What every test may use, and how property tests are run."""

import pytest
from hypothesis import settings

# How long an example takes says more about the machine than about us; speed is measured in `make bench`.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
