"""A short load with vanishing clients and a stop in the middle; `make load` runs the long one."""

import pytest

from scripts.load import Plan, measure
from scripts.load_visitors import DOORS


@pytest.mark.slow
async def test_a_crowd_gets_what_it_asked_for_and_every_call_is_recorded() -> None:
    # How much memory a server has settles later than this; the long run looks at it.
    outcome = await measure(Plan(connections=24, seconds=4, warm_up=1, rate=150, vanishing=0.1))
    failures = [one for one in outcome.failures() if "memory" not in one]

    assert failures == []
    assert outcome.tally.answered.total() > 20 * len(DOORS) and outcome.tally.vanished > 0
    assert outcome.recorded["slow", "CANCELLED"] > 0
