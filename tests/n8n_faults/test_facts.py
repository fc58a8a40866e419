"""Every fact in the reports on recorded executions is true: an auditor of its own looks it up in the raw data."""

import json
from typing import Final

import pytest

from .fact_auditor import audit
from .fault import CaseSet
from .recordings import CASE_SETS, Json, diagnosed, load

_LEAST_CHECKED: Final = 0.9


@pytest.mark.parametrize("case_set", CASE_SETS)
def test_every_fact_of_a_report_is_in_the_recorded_data(case_set: CaseSet) -> None:
    found = {key: audit(diagnosed(one), one) for key, one in load(case_set).items()}
    checked = sum(len(one.checked) for one in found.values())
    unchecked = sum(len(one.unchecked) for one in found.values())

    assert [f"{key}: {one}" for key, each in found.items() for one in each.violations] == []
    assert checked >= _LEAST_CHECKED * (checked + unchecked)


@pytest.mark.parametrize(
    ("key", "said", "false"),
    [
        ("seventh/hand/b16-switch-no-fallback", "2 of its 5 items", "1 of its 5 items"),
        ("strange/hand/if-case-all-false", "all 3 items went", "all 4 items went"),
        ("strange/hand/if-case-all-false", "went to false", "went to true"),
        ("strange/hand/if-case-all-false", "so 'Renew' never ran", "so 'Start' never ran"),
        ("tuning/linear/lost field", "customer is lost", "number is lost"),
        ("tuning/linear/URL made from nothing", "HTTP 404", "HTTP 403"),
        ("tuning/linear/null in a nested loop", "the other 2 elements have", "the other 3 elements have"),
        ("tuning/linear/null in a nested loop", "lines.2.price is null", "lines.1.price is null"),
        ("fresh/hand/reduce over a missing list", "reads extras, which", "reads guest, which"),
        ("fresh/hand/reduce over a missing list", "nights, rate", "rate, nights"),
        ("fresh/hand/reduce over a missing list", "comes from 'Tag'", "comes from 'Nobody'"),
        ("twelfth/hand/tc26-rename-track", "comes from 'Pacchi pesanti'", "comes from 'Elenco pacchi'"),
        (
            "twelfth/hand/tc26-rename-track",
            '{"kg": 2, "nota": null, "tracking_no":',
            '{"peso": 2, "nota": null, "codice":',
        ),
        (
            "twelfth/hand/tc26-rename-track",
            '"madeFrom": {"nodeName": "Rinomina campi"',
            '"madeFrom": {"nodeName": "Avvio"',
        ),
        ("tuning/linear/null field", '"itemIndex": 1', '"itemIndex": 0'),
        ("tuning/linear/null field", "customer is null", "number is null"),
        ("later/hand/healthy: limited to one", "it passed on 1 of", "it passed on 2 of"),
        ("later/hand/healthy: limited to one", "it passed on", "it is disabled; it passed on"),
    ],
)
def test_a_false_fact_is_found(key: str, said: str, false: str) -> None:
    recording = load(_set_of(key))[key]
    report = diagnosed(recording)
    told = json.dumps(report, ensure_ascii=False)
    tampered: Json = json.loads(told.replace(said, false))

    assert said in told
    assert audit(report, recording).violations == []
    assert audit(tampered, recording).violations != []


def _set_of(key: str) -> CaseSet:
    return next(case_set for case_set in CASE_SETS if key.startswith(f"{case_set}/"))
