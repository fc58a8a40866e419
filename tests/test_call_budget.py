"""One `echo` call makes no more function calls, and takes no more memory, than is written down here.

What `make bench` measures depends on the machine. These numbers do not, so they show at once when a call grows.
Write smaller ones down when you have made a call shorter: `scripts/count_calls.py` prints them.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
# Function calls in Python and C, and bytes at the peak of one warm call, with Python 3.11.
BUDGET: Final = {
    "/mcp": {"calls": 138, "bytes": 4_720},
    "/mcp with a session": {"calls": 151, "bytes": 4_596},
    "REST": {"calls": 141, "bytes": 4_356},
    "stdio": {"calls": 198, "bytes": 3_671},
}
MOST_GROWTH: Final = 1.05
# Below this share the budget is out of date, and would let a call grow unseen.
LEAST_SHARE: Final = 0.9


@pytest.fixture(scope="module")
def counted() -> dict[str, dict[str, int]]:
    command = [sys.executable, "scripts/count_calls.py"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=120)
    found: dict[str, dict[str, int]] = json.loads(done.stdout)
    return found


def test_a_call_stays_within_its_budget(counted: dict[str, dict[str, int]]) -> None:
    grown = {
        f"{name}, {what}": f"{number} instead of {BUDGET[name][what]}"
        for name, numbers in counted.items()
        for what, number in numbers.items()
        if number > BUDGET[name][what] * MOST_GROWTH
    }

    assert counted.keys() == BUDGET.keys()
    assert grown == {}


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="newer versions of Python need fewer calls")
def test_the_budget_is_not_out_of_date(counted: dict[str, dict[str, int]]) -> None:
    calls = {name: numbers["calls"] for name, numbers in counted.items()}

    assert [name for name, number in calls.items() if number < BUDGET[name]["calls"] * LEAST_SHARE] == []
