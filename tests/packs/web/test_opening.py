"""The client of the web pack is opened by its first call, and by the start where a setting may be wrong."""

from pathlib import Path

import pytest

from dogubako.app import Toolbox, build
from dogubako.packs.web.pack import WEB
from dogubako.settings import Sources


def box(**environ: str) -> Toolbox:
    return build(Sources(environ=environ, env_file=None), packs=[WEB])


async def test_nothing_is_opened_before_the_first_call() -> None:
    async with box().running() as running:
        connection = running.packs["web"].client
        before = connection.is_open
        first, second = await connection.opened(), await connection.opened()

        assert (before, connection.is_open) == (False, True)
        assert first is second


async def test_a_proxy_is_opened_with_the_server() -> None:
    async with box(WEB_PROXY="http://127.0.0.1:9").running() as running:
        assert running.packs["web"].client.is_open


async def test_a_file_of_certificates_that_is_not_there_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        async with box(WEB_CA_BUNDLE=str(tmp_path / "none.pem")).running():
            raise AssertionError("it started")
