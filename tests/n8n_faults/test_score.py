"""`diagnose_execution` on broken workflows that a real n8n ran: right in most cases, misleading in none."""

import pytest

from .fault import Half
from .recordings import HALVES, cases_of, judged, load


@pytest.mark.parametrize("half", HALVES)
def test_diagnoses_of_real_executions_are_right_and_never_misleading(half: Half) -> None:
    results = list(judged(half))
    misleading = [f"{one.case.key}: {one.report['explanation']}" for one in results if one.verdict == "misleading"]
    right = [one for one in results if one.verdict == "right"]

    assert misleading == []
    assert len(right) >= 0.8 * len(results)


@pytest.mark.parametrize("half", HALVES)
def test_every_case_is_recorded_and_no_machine_shows_in_it(half: Half) -> None:
    recorded = load(half)

    assert [one.key for one in cases_of(half) if one.key not in recorded] == []
    assert "/node_modules/" not in str(recorded)


def test_there_are_many_kinds_in_many_shapes() -> None:
    made = cases_of("tuning")

    assert len({one.kind for one in made}) >= 20
    assert {one.shape for one in made} == {"linear", "branch", "loop", "merge", "sub-workflow", "error output"}
