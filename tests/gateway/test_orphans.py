"""No process of a server outlives us: not after `kill -9`, not after many reconnects, not in its own session."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from dogubako.gateway import stdio_process
from tests.process_tree import children_of, is_alive

from .upstreams import PATIENCE, fake, running, until

pytestmark = pytest.mark.slow

_ROOT: Final = Path(__file__).parents[2]
_KEEPER: Final = """
import asyncio, sys
from pathlib import Path
from tests.gateway.upstreams import fake, running

async def main():
    async with running(fake("legacy", "ignore_eof"), Path(sys.argv[1])) as server:
        print(await server.call("spawn"), flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


def test_no_descendant_survives_kill_9_of_us(tmp_path: Path) -> None:
    keeper = subprocess.Popen([sys.executable, "-c", _KEEPER, str(tmp_path)], cwd=_ROOT, stdout=subprocess.PIPE)
    try:
        assert keeper.stdout is not None
        with keeper.stdout:
            grandchild = int(keeper.stdout.readline())
        [server] = [
            int(line.split()[1]) for line in (tmp_path / "fake.marks").read_text().splitlines() if "pid" in line
        ]
        assert is_alive(server)
        assert is_alive(grandchild)
    finally:
        keeper.kill()
        keeper.wait(PATIENCE)

    asyncio.run(until(lambda: not is_alive(server) and not is_alive(grandchild)))


async def test_no_descendant_survives_the_end_of_its_server(tmp_path: Path) -> None:
    async with running(fake("legacy"), tmp_path) as server:
        grandchild = int(await server.call("spawn"))
        os.kill(server.pids()[0], signal.SIGKILL)
        await until(lambda: not is_alive(grandchild))


async def test_a_killed_guard_takes_its_server_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio_process, "EOF_SECONDS", 0.1)
    # Servers that other tests share may be children of this process too.
    others = children_of(os.getpid())
    async with running(fake("legacy", "ignore_eof"), tmp_path) as server:
        await server.is_in("ready")
        [pid] = server.pids()
        [guard] = children_of(os.getpid()) - others
        os.kill(guard, signal.SIGKILL)
        await until(lambda: not is_alive(pid))
        # A call before the loss is noticed would be lost with the process.
        await until(lambda: len(server.pids()) == 2)

        assert await server.call("echo", text="again") == "again"


def open_files(pid: int) -> list[Path]:
    return list(Path(f"/proc/{pid}/fd").iterdir())


def variables(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


async def test_200_reconnects_leave_no_process_and_no_open_file(tmp_path: Path) -> None:
    before, others = len(open_files(os.getpid())), children_of(os.getpid())
    async with running(fake("modern"), tmp_path) as server:
        for number in range(1, 201):
            await until(lambda: len(server.definitions) >= number)  # noqa: B023 - awaited in the same turn
            await server.is_in("ready")
            await server.upstream.restart()
        await until(lambda: len(server.definitions) > 200)
        alive = [pid for pid in server.pids() if is_alive(pid)]

    assert len(alive) == 1
    assert not any(is_alive(pid) for pid in server.pids())
    assert children_of(os.getpid()) <= others
    assert len(open_files(os.getpid())) <= before + 2


async def test_a_child_gets_no_variable_that_is_not_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOGUBAKO_CANARY", "secret")
    async with running(fake("legacy"), tmp_path) as server:
        await server.is_in("ready")
        [pid] = server.pids()
        environment, files = variables(pid), open_files(pid)

    assert b"CANARY" not in environment
    assert b"MARKS=" in environment
    assert len(files) == 3
