"""`dogubako keys create` where nothing can be printed: a key that nobody saw opens nothing."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from dogubako.gate.api_keys import KeyStore
from tests.doors.processes import PATIENCE, environment
from tests.doors.shell import dogubako

_CREATE = ["-m", "dogubako", "keys", "create", "--name", "agent", "--scope", "read"]


@contextmanager
def full_disk() -> Iterator[int]:
    with Path("/dev/full").open("wb") as full:
        yield full.fileno()


@contextmanager
def closed_pipe() -> Iterator[int]:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        yield writing
    finally:
        os.close(writing)


def create(folder: Path, words: list[str], stdout: int) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        words,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=environment(folder, {"DOGUBAKO_DATA_DIR": str(folder / "data")}),
        cwd=folder,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def states(folder: Path) -> list[tuple[str, bool]]:
    return [(key.name, key.revoked is not None) for key in KeyStore(folder / "data").all()]


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["--json"]], ids=["for people", "for scripts"])
@pytest.mark.parametrize(
    ("place", "reason"),
    [
        pytest.param(full_disk, "No space left on device", id="a full disk"),
        pytest.param(closed_pipe, "Broken pipe", id="a closed pipe"),
    ],
)
def test_a_key_that_could_not_be_shown_is_revoked_again(
    tmp_path: Path, place: Callable[[], AbstractContextManager[int]], reason: str, words: list[str]
) -> None:
    with place() as stdout:
        ended = create(tmp_path, [sys.executable, *_CREATE, *words], stdout)

    assert ended.returncode == 1
    assert ended.stderr == f"dogubako: The key could not be shown, so it is revoked again: {reason}.\n"
    assert states(tmp_path) == [("agent", True)]


def test_without_any_stdout_no_key_stays(tmp_path: Path) -> None:
    ended = create(tmp_path, ["sh", "-c", 'exec "$0" "$@" >&-', sys.executable, *_CREATE], subprocess.DEVNULL)

    assert ended.returncode == 1
    assert ended.stderr == "dogubako: The key could not be shown, so it is revoked again: Bad file descriptor.\n"
    assert states(tmp_path) == [("agent", True)]


def test_a_key_that_cannot_even_be_revoked_again_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def print_to_a_full_disk(shown: dict[str, str]) -> None:
        made.append(shown["id"])
        (tmp_path / "data" / "keys.json").write_text("[{")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    made: list[str] = []
    monkeypatch.setattr("dogubako.cli.keys.print_json", print_to_a_full_disk)
    settings = {"DOGUBAKO_DATA_DIR": str(tmp_path / "data")}
    said = dogubako(*_CREATE[2:], "--json", folder=tmp_path, tools=(), settings=settings)

    assert (said.code, said.out) == (1, "")
    first, rest = said.err.split(" No space left on device. ")
    assert first == "dogubako: The key could not be shown:" and f"`dogubako keys revoke {made[0]}`" in rest
    assert "is damaged" in rest
