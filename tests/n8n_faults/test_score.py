"""`diagnose_execution` on broken workflows that a real n8n ran: right in most cases, misleading in none."""

import msgspec
import pytest

from dogubako.packs.n8n.diagnosis.noticing import LIKELY_RULES
from dogubako.packs.n8n.diagnosis.scene import Scene
from dogubako.packs.n8n.models import read_execution

from .fault import CaseSet
from .recordings import CASE_SETS, cases_of, judged, load


@pytest.mark.parametrize("case_set", CASE_SETS)
def test_diagnoses_of_real_executions_are_right_and_never_misleading(case_set: CaseSet) -> None:
    results = list(judged(case_set))
    misleading = [f"{one.case.key}: {one.report['explanation']}" for one in results if one.verdict == "misleading"]
    right = [one for one in results if one.verdict == "right"]

    assert misleading == []
    assert len(right) >= 0.8 * len(results)


@pytest.mark.parametrize("case_set", CASE_SETS)
def test_every_case_is_recorded_and_no_machine_shows_in_it(case_set: CaseSet) -> None:
    recorded = load(case_set)

    assert [one.key for one in cases_of(case_set) if one.key not in recorded] == []
    assert "/node_modules/" not in str(recorded)


@pytest.mark.parametrize("case_set", CASE_SETS)
def test_what_is_said_to_be_likely_is_said_of_no_good_execution(case_set: CaseSet) -> None:
    recorded = load(case_set)
    good = [one for one in cases_of(case_set) if one.truth.cause is None and one.truth.failing is None]
    scenes = {one.key: Scene(read_execution(msgspec.json.encode(recorded[one.key]["execution"]))) for one in good}

    spoken = [f"{key}: {rule.__name__}" for key, scene in scenes.items() for rule in LIKELY_RULES if rule(scene)]

    assert spoken == []


def test_there_are_many_kinds_in_many_shapes() -> None:
    made = cases_of("tuning")

    assert len({one.kind for one in made}) >= 20
    assert {one.shape for one in made} == {"linear", "branch", "loop", "merge", "sub-workflow", "error output"}
