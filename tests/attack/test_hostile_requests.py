"""Requests that cost a server much and a caller little: the event loop goes on all the same."""

from pathlib import Path

import pytest

from .conftest import Tally
from .server import target

pytestmark = pytest.mark.attack


def test_hostile_requests(tmp_path: Path, tally: Tally) -> None:
    with target(folder=tmp_path) as aim:
        aim.heartbeat()
        for count in (1_000, 10_000):
            answer = aim.call("list_issues", **{f"name_{number}": 1 for number in range(count)})
            tally.check(answer.status_code == 400, f"{count} unknown names: {answer.status_code}")
            aim.check_loop(tally, f"{count} unknown names")
