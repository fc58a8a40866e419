"""Isolation of servers: the command lines everywhere, and bubblewrap itself where the machine has it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dogubako.contract.errors import ApiError
from dogubako.gateway import child_guard
from dogubako.gateway.connection import link_of
from dogubako.gateway.isolation import Program, isolated, variables_for
from dogubako.gateway.settings import ServerSettings, read_server
from dogubako.settings import SettingsError

from .upstreams import FAKE, fake, running


def _bwrap_works() -> bool:
    if shutil.which("bwrap") is None:
        return False
    line = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "true"]
    return subprocess.run(line, capture_output=True, check=False).returncode == 0


needs_bwrap = pytest.mark.skipif(not _bwrap_works(), reason="bubblewrap is not installed, or may make no namespaces")


def test_without_a_profile_nothing_stands_before_the_command() -> None:
    assert isolated((), Program("server", ["--flag"])) == ["server", "--flag"]


def test_words_of_the_operator_stand_before_the_command() -> None:
    assert isolated(("nice", "-n", "5"), Program("server", ["a"])) == ["nice", "-n", "5", "server", "a"]


def pairs_of(line: list[str], option: str) -> list[tuple[str, str]]:
    return [(line[at + 1], line[at + 2]) for at, word in enumerate(line) if word == option]


def test_a_bubble_shows_the_system_and_what_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    program = tmp_path / "venv" / "bin" / "server"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    folders = [f"{tmp_path}/docs", f"{tmp_path}/out:rw", "~/notes"]
    line = isolated("bwrap", Program(str(program), ["x"], cwd=tmp_path / "work", folders=folders))
    read_only, writable = pairs_of(line, "--ro-bind"), pairs_of(line, "--bind")

    assert line[0] == "bwrap"
    assert line[-3:] == ["--", str(program), "x"]
    assert [one for one, _ in read_only] == [f"{tmp_path}/venv", f"{tmp_path}/docs", f"{tmp_path}/home/notes"]
    assert [one for one, _ in writable] == [f"{tmp_path}/out", f"{tmp_path}/work"]
    assert "/" not in [one for one, _ in pairs_of(line, "--ro-bind-try")]
    assert line[line.index("--chdir") + 1] == str(tmp_path / "work")
    assert "--unshare-net" not in line
    assert "--unshare-net" in isolated("bwrap-offline", Program("true", []))


def test_of_a_program_that_is_no_installation_the_file_alone_is_shown(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o700)

    assert pairs_of(isolated("bwrap", Program(str(script), [])), "--ro-bind") == [(str(script), str(script))]


def test_a_container_gets_names_of_variables_and_no_values(tmp_path: Path) -> None:
    program = Program("node", ["s.js"], cwd=tmp_path, folders=["/data"], variables=["TOKEN"], memory=512)
    line = isolated("podman:node:22", program)

    assert line[:2] == ["podman", "run"]
    assert line[-3:] == ["node:22", "node", "s.js"]
    assert {"--env=TOKEN", "--memory=512m", "--cap-drop=ALL", "--read-only", "--interactive", "--rm"} <= set(line)
    assert {"--volume=/data:/data:ro", f"--volume={tmp_path}:{tmp_path}:rw", f"--workdir={tmp_path}"} <= set(line)


def test_a_scope_has_a_limit_and_hides_the_session_from_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1")
    line = isolated("systemd-run", Program("server", ["a"], memory=256))

    assert line[:3] == ["systemd-run", "--user", "--scope"]
    assert "--property=MemoryMax=256M" in line
    assert line[line.index("--") :] == [
        *("--", "env", "-u", "XDG_RUNTIME_DIR", "-u", "DBUS_SESSION_BUS_ADDRESS", "server", "a")
    ]
    assert variables_for("systemd-run")["XDG_RUNTIME_DIR"] == "/run/user/1"
    assert variables_for("bwrap") == {}
    assert variables_for(("nice",)) == {}


@pytest.mark.parametrize("run_as", ["chroot", "docker:", "bwrap --unshare-net", ""])
def test_an_unknown_profile_is_refused(run_as: str) -> None:
    with pytest.raises(SettingsError, match="bwrap-offline"):
        read_server("one", {"command": "x", "run_as": run_as})


@pytest.mark.parametrize("limit", [-1, 1, 15])
def test_a_memory_limit_is_none_or_enough(limit: int) -> None:
    with pytest.raises(SettingsError, match="memory_limit"):
        read_server("one", {"command": "x", "memory_limit": limit})


def test_every_child_has_a_memory_limit_unless_the_table_says_otherwise() -> None:
    def limit(**table: object) -> object:
        return link_of(ServerSettings(command="x", **table))._command.memory_limit  # type: ignore[attr-defined]

    assert (limit(), limit(memory_limit=64), limit(memory_limit=0)) == (4096 * 1024**2, 64 * 1024**2, None)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_counted_over_all_descendants() -> None:
    script = "import subprocess,sys,time; b=b'x'*40_000_000; "
    child = (
        f"{script}p=subprocess.Popen([sys.executable,'-c',{script + 'print(1,flush=True);time.sleep(60)'!r}]);p.wait()"
    )
    process = subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        found = child_guard._descendants_of(os.getpid())
        used = child_guard._resident_bytes()
    finally:
        for pid in child_guard._descendants_of(process.pid):
            os.kill(pid, 9)
        process.kill()
        process.communicate()

    assert process.pid in found
    assert used > 80_000_000


def test_without_proc_memory_is_counted_by_ps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group, own = os.getpgrp(), os.getpid()
    rows = f"1 1 500\n{own} {group} 900\n77 {group} 1000\n78 {group} 24\nodd line\n"
    ps = tmp_path / "ps"
    (tmp_path / "rows").write_text(rows)
    ps.write_text(f"#!/bin/sh\ncat {tmp_path}/rows\n")
    ps.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    assert child_guard._resident_bytes_by_ps() == 1024 * 1024


@needs_bwrap
@pytest.mark.slow
async def test_a_server_in_a_bubble_works_and_sees_nothing_of_ours(tmp_path: Path) -> None:
    secret = tmp_path / "data" / "keys.json"
    secret.parent.mkdir()
    secret.write_text("ours")
    shown = tmp_path / "shown"
    shown.mkdir()
    (shown / "note.txt").write_text("yours")
    settings = fake("legacy", run_as="bwrap-offline", folders=(str(FAKE.parent), f"{shown}:rw"))
    async with running(settings, shown) as server:
        assert await server.call("echo", text="道具箱") == "道具箱"
        assert await server.call("look", text=str(shown / "note.txt")) == "yours"
        assert await server.call("look", text=str(secret)) == "FileNotFoundError"
        home = Path.home() / ".profile"
        assert await server.call("look", text=str(home)) == "FileNotFoundError"
        with pytest.raises(ApiError):
            await server.call("die")
        assert await server.call("echo", text="again") == "again"


@pytest.mark.parametrize("first", ["#!{home}/venv/bin/python", "#!/usr/bin/env -S python"])
def test_a_bubble_shows_the_interpreter_of_a_script(
    first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    python = tmp_path / "versions" / "bin" / "python3"
    script = tmp_path / ".local" / "bin" / "server"
    for file in (python, script, tmp_path / "venv" / "bin" / "python"):
        file.parent.mkdir(parents=True)
    python.write_text("")
    python.chmod(0o700)
    (tmp_path / "venv" / "bin" / "python").symlink_to(python)
    script.write_text(first.format(home=tmp_path) + "\n")
    script.chmod(0o700)
    line = isolated("bwrap", Program("server", []), path=f"{tmp_path}/.local/bin:{tmp_path}/venv/bin")

    shown = [one for one, _ in pairs_of(line, "--ro-bind")]
    assert shown == [str(script), f"{tmp_path}/venv", f"{tmp_path}/versions"], "and not all of ~/.local"


@needs_bwrap
@pytest.mark.slow
async def test_a_script_of_a_virtual_environment_works_in_a_bubble(tmp_path: Path) -> None:
    script = tmp_path / "tool" / "bin" / "server"
    script.parent.mkdir(parents=True)
    script.write_text(f"#!{sys.executable}\nimport runpy\nrunpy.run_path({str(FAKE)!r}, run_name='__main__')\n")
    script.chmod(0o700)
    state = tmp_path / "state"
    state.mkdir()
    shown = (str(FAKE.parent), f"{state}:rw")
    settings = ServerSettings(command=str(script), args=("legacy",), run_as="bwrap", folders=shown)
    async with running(settings, state) as server:
        assert await server.call("echo", text="道具箱") == "道具箱"


@needs_bwrap
@pytest.mark.slow
async def test_the_memory_limit_counts_inside_a_bubble(tmp_path: Path) -> None:
    settings = fake("legacy", run_as="bwrap", folders=(str(FAKE.parent), f"{tmp_path}:rw"), memory_limit=100)
    async with running(settings, tmp_path) as server:
        with pytest.raises(ApiError, match="more than 100 MB of memory and was ended"):
            await server.call("hog")
