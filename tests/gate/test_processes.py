"""Several server processes with one data folder and no Redis: it is said, and what would lie is refused."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import structlog
import structlog.testing

from dogubako.contract.errors import ReadOnlyError
from dogubako.gate.processes import Processes
from dogubako.settings import Settings
from tests.shared_redis import shared_settings

_HOLD = """
import fcntl, sys
file = open(sys.argv[1], "a+")
fcntl.lockf(file, fcntl.LOCK_SH)
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def another_server(folder: Path) -> Iterator[None]:
    """Another process that serves with this data folder."""
    words = [sys.executable, "-S", "-c", _HOLD, str(folder / "serving.lock")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield
        process.stdin.close()


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    processes = Processes(Settings(data_dir=tmp_path))
    yield processes
    processes.release()


def test_who_is_alone_may_change_everything(processes: Processes) -> None:
    processes.join()

    processes.check_switch("disable")
    processes.check_servers("add")


def test_a_second_server_is_noticed_by_both_and_forgotten_when_it_ends(processes: Processes, tmp_path: Path) -> None:
    processes.join()
    with another_server(tmp_path):
        with pytest.raises(ReadOnlyError, match="Another server uses the same data folder") as refused:
            processes.check_switch("disable")
        with pytest.raises(ReadOnlyError, match="add was not done"):
            processes.check_servers("add")
        # Who asks still holds its own lock.
        assert not processes.alone

    assert refused.value.hint is not None and "DOGUBAKO_SHARED" in refused.value.hint
    processes.check_switch("disable")


def test_the_second_one_says_at_its_start_what_is_not_shared(processes: Processes, tmp_path: Path) -> None:
    structlog.reset_defaults()
    with another_server(tmp_path), structlog.testing.capture_logs() as log:
        processes.join()

    [said] = log
    assert said["event"].startswith("Another server uses this data folder") and said["log_level"] == "warning"
    assert "tool switches" in said["not_shared"] and "locks of workflows" in said["not_shared"]


def test_a_server_that_shares_is_noticed_by_one_that_does_not(tmp_path: Path) -> None:
    sharing = Processes(shared_settings("redis://127.0.0.1:1", data_dir=tmp_path))
    sharing.join()
    try:
        taking = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'a+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
        alone = subprocess.run(
            [sys.executable, "-S", "-c", taking, str(tmp_path / "serving.lock")], capture_output=True, check=False
        )
        assert alone.returncode != 0
    finally:
        sharing.release()


def test_workers_say_what_they_do_not_share_and_refuse_it(processes: Processes, tmp_path: Path) -> None:
    structlog.reset_defaults()
    with structlog.testing.capture_logs() as log:
        processes.join(workers=2)
    worker = Processes(Settings(data_dir=tmp_path), sole_process=False)

    assert [one["event"] for one in log] == ["Workers are not one server without DOGUBAKO_SHARED=redis://…"]
    with pytest.raises(ReadOnlyError, match="Several processes serve this address"):
        worker.check_switch("enable")


def test_with_a_shared_redis_tools_are_switched_and_servers_are_changed(tmp_path: Path) -> None:
    shared = Processes(shared_settings("redis://localhost", data_dir=tmp_path), sole_process=False)

    shared.check_switch("disable")
    shared.check_servers("add")


def test_a_folder_that_cannot_be_written_counts_as_ones_own(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("no folder")
    processes = Processes(Settings(data_dir=tmp_path / "data"))

    processes.join()

    assert processes.alone
