"""Every fact in the reports on recorded executions is true: an auditor of its own looks it up in the raw data."""

import json
from typing import Final

import pytest

from .fact_auditor import audit
from .fault import Half
from .recordings import HALVES, Json, diagnosed, load

# False statements that are known, by the key of the case. To be emptied.
_SET_IN_THE_FAMILY: Final = (
    "wide/hand/child gives back items without the field",
    "daily/hand/child gets less after a Set node",
    "later/hand/thrown in the child for what the parent lost",
    "third/hand/child got a renamed field, checked by a helper",
    "fourth/hand/child that gets no customer",
    "strange/hand/grandchild-fails",
)
_LENGTH_IS_NO_FIELD: Final = (
    "wide/hand/guard on an empty list of a service",
    "wide/hand/guard on the length of a field",
    "wide/hand/index behind the end",
    "strange/hand/loop-404",
    "ninth/hand/d27-pt-aggregate-missing",
)
_NAME_WITH_A_DOT_LOOKS_LIKE_A_PATH: Final = (
    "wide/hand/field with a dot in its name",
    "fourth/hand/set with dots makes objects",
    "strange/hand/dot-path",
    "eighth/hand/set makes a nested field",
    "tenth/hand/t100-dot-notation",
)
_OTHERS_DIFFER: Final = ("strange/hand/guarded-null-decoy", "ninth/hand/d32-en-300-items-one-number")
_IT_IS_ANOTHER_NODE: Final = (
    "outside/hand/b39-always-output",
    "ninth/hand/p09-en-timeout",
    "ninth/hand/q41-en-message-quotes-config",
    "ninth/hand/q45-de-econnrefused",
    "ninth/hand/r08-pl-swallowed-errors",
    "ninth/hand/h19-ko-optional-form-field",
    "tenth/hand/t08-html-login-page",
    "tenth/hand/t55-quiet-continue-503",
)
_TAG_CUT_OUT_OF_MESSAGE: Final = tuple(
    f"checking/{shape}/text that is no JSON"
    for shape in ("linear", "branch", "loop", "merge", "sub-workflow", "error output")
)
KNOWN: Final = frozenset(
    (
        *_SET_IN_THE_FAMILY,
        *_LENGTH_IS_NO_FIELD,
        *_NAME_WITH_A_DOT_LOOKS_LIKE_A_PATH,
        *_OTHERS_DIFFER,
        *_IT_IS_ANOTHER_NODE,
        *_TAG_CUT_OUT_OF_MESSAGE,
    )
)
_LEAST_CHECKED: Final = 0.9


@pytest.mark.parametrize("half", HALVES)
def test_every_fact_of_a_report_is_in_the_recorded_data(half: Half) -> None:
    found = {key: audit(diagnosed(one), one) for key, one in load(half).items()}
    checked = sum(len(one.checked) for one in found.values())
    unchecked = sum(len(one.unchecked) for one in found.values())

    assert [f"{key}: {one}" for key, each in found.items() if key not in KNOWN for one in each.violations] == []
    assert [key for key, each in found.items() if key in KNOWN and not each.violations] == []
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
        ("tuning/linear/null in a nested loop", "the other 2 items have", "the other 3 items have"),
        ("tuning/linear/null in a nested loop", "lines.2.price is null", "lines.1.price is null"),
        ("fresh/hand/reduce over a missing list", "reads extras, which", "reads guest, which"),
        ("fresh/hand/reduce over a missing list", "nights, rate", "rate, nights"),
        ("fresh/hand/reduce over a missing list", "comes from 'Bookings'", "comes from 'Nobody'"),
        ("tuning/linear/null field", '"itemIndex": 1', '"itemIndex": 0'),
        ("tuning/linear/null field", "customer is null", "number is null"),
        ("later/hand/healthy: limited to one", "it passed on 1 of", "it passed on 2 of"),
        ("later/hand/healthy: limited to one", "it passed on", "it is disabled; it passed on"),
    ],
)
def test_a_false_fact_is_found(key: str, said: str, false: str) -> None:
    recording = load(_half_of(key))[key]
    report = diagnosed(recording)
    told = json.dumps(report, ensure_ascii=False)
    tampered: Json = json.loads(told.replace(said, false))

    assert said in told
    assert audit(report, recording).violations == []
    assert audit(tampered, recording).violations != []


def _half_of(key: str) -> Half:
    return next(half for half in HALVES if key.startswith(f"{half}/"))
