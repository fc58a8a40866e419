"""A server that is killed in the middle of changes: the audit report names every change that nobody saw the end of."""

import json
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from tests.doors.processes import PATIENCE, ROOT, run

from .conftest import Tally
from .server import Target, target

pytestmark = pytest.mark.attack

TOOLS: Final = ROOT / "tests" / "gate" / "slow_changes.py"
ROUNDS: Final = 3
SLOW: Final = 20


def settings_in(folder: Path) -> dict[str, str]:
    return {"DOGUBAKO_AUDIT": "true", "DOGUBAKO_DATA_DIR": str(folder / "data")}


def test_changes_of_a_killed_server(tmp_path: Path, tally: Tally) -> None:
    begun, answered = 0, 0
    for number in range(ROUNDS):
        folder = tmp_path / str(number)
        folder.mkdir()
        answered += _kill_in_the_middle(tmp_path, folder)
        begun += SLOW
        document = json.loads(run("audit", "report", "--json", folder=tmp_path, settings=settings_in(tmp_path)).stdout)
        # The quick ones call `paint` as well, with one more argument.
        lost = Counter(one["tool"] for one in document["unfinished"] if one["arguments"] == ["marker"])
        tally.check(lost["paint"] == begun, f"round {number}: {begun} slow changes began, {lost['paint']} are named")
        # The one that was under way may have been recorded, answered or neither.
        ended = sum(row["calls"] for row in document["calls"] if row["tool"] == "have_it_painted")
        tally.check(
            answered <= ended <= answered + number + 1, f"round {number}: {answered} were answered, {ended} have an end"
        )
        tally.check(document["damagedLines"] <= number + 1, f"{document['damagedLines']} damaged lines")
        told = run("audit", "report", folder=tmp_path, settings=settings_in(tmp_path)).stdout
        tally.check("Started, no end recorded" in told, "the table does not say so")


def _kill_in_the_middle(data: Path, folder: Path) -> int:
    """Slow changes that are all under way, quick ones one after the other, and the end. How many were answered."""
    with target(TOOLS, folder=folder, settings=settings_in(data)) as aim, ThreadPoolExecutor(SLOW + 1) as threads:
        slow = [threads.submit(_ended, aim, "paint", folder / f"slow {number}") for number in range(SLOW)]
        quick = threads.submit(_call_until_nobody_answers, aim, folder / "quick")
        _wait_for(folder, SLOW)
        aim.command.signal(signal.SIGKILL)
        aim.command.wait()
        assert not any(one.result() for one in slow)
        return quick.result()


def _call_until_nobody_answers(aim: Target, marker: Path) -> int:
    answered = 0
    while _ended(aim, "have_it_painted", marker):
        answered += 1
    return answered


def _ended(aim: Target, name: str, marker: Path) -> bool:
    body: dict[str, Any] = {"name": name, "parameters": {"marker": str(marker)}}
    try:
        return httpx2.post(f"{aim.url}/v1/tools/call", json=body, timeout=PATIENCE, trust_env=False).status_code == 200
    except httpx2.TransportError:
        return False


def _wait_for(folder: Path, count: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while sum(one.read_text() == "started" for one in folder.glob("slow *")) < count:
        assert time.monotonic() < deadline, "the changes have not begun in time"
        time.sleep(0.05)
