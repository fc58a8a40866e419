"""Every command of the README is run, in both languages, in a folder as a newcomer has it."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LANGUAGES = [pytest.param("README.md", id="English"), pytest.param("README.ja.md", id="Japanese")]
# Installing is what `make test` itself has just done; doing it again here would change the installation under test.
INSTALLED = "make -o .venv/.runtime -o .venv/.dev"
NAMED_PORTS = ("3000", "3001", "3002")
PATIENCE = 60
TICK = 0.05
SERVES = re.compile(r"make .*\brun$|dogubako serve")


def _blocks(readme: str, language: str) -> list[str]:
    text = (ROOT / readme).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.fixture
def newcomer(tmp_path: Path) -> Path:
    """The project without its history, and with what `make install` made."""
    for name in ("Makefile", "pyproject.toml", "requirements.lock", "requirements-dev.lock"):
        shutil.copy2(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    return tmp_path


@contextmanager
def _ports() -> Iterator[dict[str, str]]:
    """A port for each one that the README names, held so that nobody but the server that is told of it gets it."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in NAMED_PORTS]
        for one in sockets:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(("127.0.0.1", 0))
        yield {named: str(one.getsockname()[1]) for named, one in zip(NAMED_PORTS, sockets, strict=True)}


def _run(command: str, folder: Path, port: str) -> str:
    environment = {**os.environ, "PORT": port, "HOME": str(folder), "DOGUBAKO_DATA_DIR": str(folder / "data")}
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@contextmanager
def _serving(command: str, folder: Path, port: str) -> Iterator[None]:
    environment = {**os.environ, "PORT": port, "DOGUBAKO_DATA_DIR": str(folder / "data")}
    # A group of its own: make passes no signal on to what it runs.
    process = subprocess.Popen(
        ["bash", "-c", command], cwd=folder, env=environment, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        _wait_for(int(re.findall(r"--port (\d+)", command)[0] if "--port" in command else port))
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(PATIENCE)


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with socket.socket() as client:
            client.settimeout(1)
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        # Asking without a pause would take the processor from the server that is waited for.
        time.sleep(TICK)
    raise AssertionError(f"nobody listens on {port}")


def _commands(readme: str, ports: dict[str, str]) -> list[str]:
    lines = [line for block in _blocks(readme, "sh") for line in block.strip().split("\n")]
    for named, free in ports.items():
        lines = [line.replace(named, free) for line in lines]
    return [re.sub(r"^make\b", INSTALLED, line) for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize("readme", LANGUAGES)
def test_every_command_works_as_printed(readme: str, newcomer: Path) -> None:
    [hello] = _blocks(readme, "python")
    (newcomer / "hello.py").write_text(hello, encoding="utf-8")
    answers: list[str] = []
    with _ports() as ports:
        commands = _commands(readme, ports)
        served = [command for command in commands if SERVES.search(command)]
        assert len(served) == len(NAMED_PORTS)
        with ExitStack() as stack:
            for command in served:
                stack.enter_context(_serving(command, newcomer, ports["3000"]))
            answers = [_run(command, newcomer, ports["3000"]) for command in commands if command not in served]

    failed = [answer for answer in answers if answer.startswith("{") and not json.loads(answer)["success"]]
    assert [_shown_failure(readme)] == [json.loads(answer)["error"] for answer in failed], failed
    assert any(_told(answer, "origin").get("nodeName") == "Look up customer" for answer in answers)
    assert any(json.loads(answer).get("result") == "hello" for answer in answers if answer.startswith("{"))
    assert any(json.loads(answer).get("result") == "Hello, Ada!" for answer in answers if answer.startswith("{"))
    assert any("greet" in answer and "Greet somebody by name." in answer for answer in answers)
    assert "Hello, Ada!\n" in answers
    assert any("list_projects" in answer and "reporting" in answer for answer in answers)
    connected = json.loads((newcomer / ".mcp.json").read_text(encoding="utf-8"))
    assert connected["mcpServers"]["dogubako"]["args"] == ["stdio", "--tools", str(newcomer / "hello.py")]


def _shown_failure(readme: str) -> str:
    """The one call that is meant to fail, with the sentence that is printed below it."""
    [shown] = [found["error"] for block in _blocks(readme, "json") if "error" in (found := json.loads(block))]
    return str(shown)


def _told(answer: str, field: str) -> dict[str, object]:
    """A field of a JSON tool's data, or nothing in other answers."""
    result = json.loads(answer).get("result") if answer.startswith("{") else None
    return dict(result["data"].get(field) or {}) if isinstance(result, dict) else {}


def test_both_readmes_show_the_same_commands() -> None:
    for language in ("sh", "python", "json"):
        assert _blocks("README.md", language) == _blocks("README.ja.md", language)


def test_both_readmes_link_to_the_same_pages_which_exist() -> None:
    links = [
        set(re.findall(r"\]\(((?:docs/|CONTRIBUTING)[^)]*)\)", (ROOT / name).read_text(encoding="utf-8")))
        for name in ("README.md", "README.ja.md")
    ]
    assert links[0] == links[1]
    assert links[0]
    assert [link for link in links[0] if not (ROOT / link).exists()] == []
