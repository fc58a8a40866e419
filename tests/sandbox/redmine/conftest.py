"""A client of a fresh Redmine in small: real requests, no sockets."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from dogubako_sandbox.redmine.app import redmine_app
from tests.sandbox.redmine.redmine_client import Redmine


@pytest.fixture
async def redmine() -> AsyncIterator[Redmine]:
    transport = httpx2.ASGITransport(app=redmine_app())
    async with httpx2.AsyncClient(transport=transport, base_url="http://redmine.sandbox") as client:
        yield Redmine(client)
