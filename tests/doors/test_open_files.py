"""The limit of open files: raised at the start as far as the system allows it, for the server and for its workers."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .processes import WORKBENCH, serving

_HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]


@contextmanager
def _soft_limit(soft: int) -> Iterator[None]:
    """The limit with which processes start meanwhile."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _soft_limit_of(pid: int) -> int:
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("Max open files")).split()[3])


def _children_of(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.slow
@pytest.mark.skipif(_HARD < 2_048, reason="the hard limit of this machine is too low")
@pytest.mark.parametrize("workers", [1, 2])
def test_the_soft_limit_is_raised(tmp_path: Path, workers: int) -> None:
    with _soft_limit(512), serving(WORKBENCH, folder=tmp_path, words=["--workers", str(workers)]) as server:
        server.stderr.first(lambda line: b"Application startup complete" in line, nth=workers)
        pids = [server.process.pid, *_children_of(server.process.pid)]
        limits = {_soft_limit_of(pid) for pid in pids}

    assert limits == {min(_HARD, 65_536)} and len(pids) >= workers
