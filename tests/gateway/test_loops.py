"""A server that is behind itself: it neither starts itself again and again nor lists its own tools again and again."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dogubako.contract.errors import GatewayLoopError
from dogubako.contract.gateway_ids import GatewayIds
from dogubako.gateway.link import WrongConfiguration
from dogubako.gateway.stdio_process import ChildCommand
from tests.doors.processes import PATIENCE, WORKBENCH, Command, serving
from tests.doors.waiting import until
from tests.process_tree import children_of
from tests.redis_server import free_port

_LOOP = "It leads back to this server"


def _write_servers(folder: Path, **tables: str) -> None:
    folder.mkdir(exist_ok=True)
    lines = [f"[servers.{name}]\npinning = 'off'\n{table}\n" for name, table in tables.items()]
    (folder / "dogubako.toml").write_text("\n".join(lines))


def _tools(url: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    pages = 0
    while True:
        page = httpx2.get(f"{url}/v1/tools", params={"page": pages + 1}, timeout=PATIENCE).json()
        found += page["tools"]
        pages += 1
        if pages >= page["pagination"]["totalPages"]:
            return found


def _named(url: str, prefix: str) -> list[str]:
    return [one["name"] for one in _tools(url) if one["name"].startswith(prefix)]


def _is_refused(command: Command) -> bool:
    return _LOOP in command.stderr.text()


@pytest.mark.slow
async def test_a_server_that_would_start_itself_is_started_once(tmp_path: Path) -> None:
    logs = tmp_path / "child"
    start = f"command = '{sys.executable}'\nargs = ['-m', 'dogubako', 'stdio']\n"
    _write_servers(tmp_path, me=f"{start}env = {{LOG_DIR = '{logs}', HOME = '{tmp_path}'}}")

    with serving(WORKBENCH, folder=tmp_path) as server:
        url = server.url()
        await until(lambda: bool(_named(url, "me_")), "the server behind is listed", PATIENCE)
        [guard] = children_of(server.process.pid)
        [child] = children_of(guard)

        assert children_of(child) == set()
        assert "It would start itself again" in (logs / "dogubako.log").read_text()
        assert _named(url, "me_me_") == []


def test_the_same_command_in_another_folder_or_environment_is_another_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ChildCommand(command=sys.executable, cwd=tmp_path)
    monkeypatch.setenv("STARTED_BY_DOGUBAKO", first.environment["STARTED_BY_DOGUBAKO"])

    with pytest.raises(WrongConfiguration, match="start itself"):
        first.resolved()
    assert ChildCommand(command=sys.executable).resolved() == sys.executable
    assert ChildCommand(command=sys.executable, cwd=tmp_path, env={"A": "b"}).resolved() == sys.executable
    assert len(ChildCommand(command=sys.executable).environment["STARTED_BY_DOGUBAKO"].split()) == 2


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
async def test_a_server_behind_its_own_address_is_refused(workers: int, tmp_path: Path) -> None:
    port = free_port()
    _write_servers(tmp_path, me=f"url = 'http://127.0.0.1:{port}/mcp'")
    words = ["--port", str(port), "--workers", str(workers)]

    with serving(WORKBENCH, folder=tmp_path, words=words) as server:
        url = server.url()
        await until(lambda: _is_refused(server), "the server refuses itself", PATIENCE)

        assert _named(url, "me_") == []


@pytest.mark.slow
async def test_of_two_servers_behind_each_other_one_has_the_tools_of_the_other(tmp_path: Path) -> None:
    ports = {"left": free_port(), "right": free_port()}
    other = {"left": "right", "right": "left"}
    for name in ports:
        _write_servers(tmp_path / name, **{other[name]: f"url = 'http://127.0.0.1:{ports[other[name]]}/mcp'"})

    with ExitStack() as stack:
        servers = []
        for name, port in ports.items():
            words = ["--port", str(port)]
            servers.append(stack.enter_context(serving(WORKBENCH, folder=tmp_path / name, words=words)))
            servers[-1].url()
        await until(lambda: any(map(_is_refused, servers)), "one of them is refused", PATIENCE)
        names = {name: _named(server.url(), f"{other[name]}_") for name, server in zip(ports, servers, strict=True)}

    assert [one for one in names["left"] if one.startswith("right_left_")] == []
    assert [one for one in names["right"] if one.startswith("left_right_")] == []


def test_a_server_knows_itself_and_the_gateways_before_it() -> None:
    outer, inner = GatewayIds(), GatewayIds()
    inner.check(outer.header)

    with pytest.raises(GatewayLoopError):
        outer.check(outer.header)
    with pytest.raises(GatewayLoopError):
        outer.check(inner.header)


def test_processes_with_one_key_are_one_server() -> None:
    key = "k" * 200

    with pytest.raises(GatewayLoopError):
        GatewayIds(key).check(GatewayIds(key).header)
    GatewayIds(key).check(GatewayIds("another key").header)


@pytest.mark.parametrize("header", ["", ",", "é\n" * 5, "0" * 100_000, ",".join(f"{n:016x}" for n in range(1000))])
def test_whatever_a_client_says_is_taken_and_bounded(header: str) -> None:
    ids = GatewayIds()

    ids.check(header)

    assert len(ids.header) < 1000
