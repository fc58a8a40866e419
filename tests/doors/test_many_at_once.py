"""Many clients call tools of one file at the same moment: nothing is refused that no limit asked for."""

import asyncio
from collections import Counter
from pathlib import Path

import httpx2
import pytest

from .processes import PATIENCE, WORKBENCH, serving

CLIENTS = 256


@pytest.mark.slow
async def test_256_calls_of_own_tools_at_once_are_all_answered(tmp_path: Path) -> None:
    body = {"name": "slow", "parameters": {"seconds": 0.5}}
    with serving(WORKBENCH, folder=tmp_path) as server:
        limits = httpx2.Limits(max_connections=CLIENTS)
        async with httpx2.AsyncClient(timeout=PATIENCE, limits=limits, trust_env=False) as http:
            url = f"{server.url()}/v1/tools/call"
            answers = await asyncio.gather(*(http.post(url, json=body) for _ in range(CLIENTS)))

    assert Counter(answer.status_code for answer in answers) == {200: CLIENTS}
