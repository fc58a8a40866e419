"""A client of a fresh n8n in small: real requests, no sockets."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from dogubako_sandbox.n8n.app import SANDBOX_KEY, n8n_app
from tests.sandbox.n8n_client import N8n


@pytest.fixture
async def n8n() -> AsyncIterator[N8n]:
    transport = httpx2.ASGITransport(app=n8n_app())
    headers = {"X-N8N-API-KEY": SANDBOX_KEY}
    async with httpx2.AsyncClient(transport=transport, base_url="http://n8n.sandbox", headers=headers) as client:
        yield N8n(client)
