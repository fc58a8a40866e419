"""What the real n8n answered to every case, kept compressed, and the verdicts on the diagnoses of it."""

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

import msgspec

from dogubako.packs.n8n.diagnosis.report import Diagnosis
from dogubako.packs.n8n.models import read_execution

from .daily_cases import daily_cases
from .fault import CaseSet, Truth
from .fifth_cases import fifth_cases
from .fourth_cases import fourth_cases
from .fresh_failing import failing_cases
from .fresh_quiet import healthy_cases, quiet_cases
from .hard_cases import hard_cases
from .last_cases import last_cases
from .later_cases import later_cases
from .odd_cases import odd_cases
from .shapes import Case, cases
from .sixth_cases import sixth_cases
from .third_cases import third_cases
from .unseen_failing import unseen_failing_cases
from .unseen_quiet import unseen_quiet_cases
from .wide_cases import wide_cases

CASE_SETS: Final[tuple[CaseSet, ...]] = get_args(CaseSet)
_FOLDER: Final = Path(__file__).parent / "recordings"
# Of sets that others made, only the recordings and what is known about them are kept. They are not run again.
_TRUTHS: Final = Path(__file__).parent / "truths"
# Stacks tell of the machine; the rest is of no use to a diagnosis.
_LEFT_OUT: Final = frozenset(
    {"stack", "executionData", "resumeToken", "cause", "errorResponse", "headers", "executionContext"}
)

_BY_HAND: Final[Mapping[CaseSet, Callable[[], Iterator[Case]]]] = {
    "hard": hard_cases,
    "wide": wide_cases,
    "last": last_cases,
    "odd": odd_cases,
    "daily": daily_cases,
    "later": later_cases,
    "third": third_cases,
    "fourth": fourth_cases,
    "fifth": fifth_cases,
    "sixth": sixth_cases,
}

Json = dict[str, Any]
Verdict = Literal["right", "unhelpful", "misleading"]


class Judged(NamedTuple):
    """One case, what was said about it, and whether that is right."""

    case: Case
    report: Json
    verdict: Verdict


def cases_of(case_set: CaseSet) -> list[Case]:
    """The cases of a set; fresh and unseen ones were written after the rules, without a look at them."""
    if case_set == "fresh":
        return [*failing_cases(), *quiet_cases(), *healthy_cases()]
    if case_set == "unseen":
        return [replace(one, case_set=case_set) for one in (*unseen_failing_cases(), *unseen_quiet_cases())]
    if case_set in _BY_HAND:
        return [replace(one, case_set=case_set) for one in _BY_HAND[case_set]()]
    return list(_recorded_elsewhere(case_set) if is_recorded_elsewhere(case_set) else cases(case_set))


def is_recorded_elsewhere(case_set: CaseSet) -> bool:
    return _truths(case_set).exists()


def _recorded_elsewhere(case_set: CaseSet) -> Iterator[Case]:
    for line in _truths(case_set).read_text(encoding="utf-8").splitlines():
        known = json.loads(line)
        kind = known.pop("kind")
        yield Case(kind=kind, shape="hand", case_set=case_set, workflow={"nodes": []}, truth=Truth(**known))


def _truths(case_set: CaseSet) -> Path:
    return _TRUTHS / f"{case_set}.jsonl"


def judge(report: Json, truth: Truth) -> Verdict:
    """A report that blames a node without fault is misleading, whatever else it says.

    One that names no cause where there is one, or leaves out what has to be said, is unhelpful. What was only noticed
    blames nobody, but it is of use where it is about the cause.
    """
    if truth.cause is None and truth.failing is None and "something is wrong" in report["explanation"]:
        return "misleading"
    noticed = (report.get("noticed") or {}).get("nodeName")
    named = (report.get("origin") or {}).get("nodeName")
    if named is None and noticed in {truth.cause, *truth.also}:
        named = noticed
    if named is not None and named in truth.short:
        return "unhelpful"
    if named is not None and named not in {truth.cause or truth.failing, *truth.also}:
        return "misleading"
    if truth.cause is not None and named is None:
        return "unhelpful"
    text = json.dumps(report, ensure_ascii=False).lower()
    wanted = (*truth.says, truth.failing or "")
    return "right" if all(word.lower() in text for word in wanted) else "unhelpful"


def save(case_set: CaseSet, recorded: list[Json]) -> None:
    """One line per case. No time stands in the file, so that the same answers make the same file."""
    lines = "".join(json.dumps(_slim(one), ensure_ascii=False, sort_keys=True) + "\n" for one in recorded)
    _FOLDER.mkdir(exist_ok=True)
    (_FOLDER / f"{case_set}.jsonl.gz").write_bytes(gzip.compress(lines.encode(), 9, mtime=0))


def load(case_set: CaseSet) -> dict[str, Json]:
    """The recordings by the key of their case."""
    lines = gzip.decompress((_FOLDER / f"{case_set}.jsonl.gz").read_bytes()).decode().rstrip("\n").split("\n")
    return {one["key"]: one for one in map(json.loads, lines)}


def judged(case_set: CaseSet) -> Iterator[Judged]:
    """Every case of a set with the verdict on its diagnosis."""
    recorded = load(case_set)
    for case in cases_of(case_set):
        report = diagnosed(recorded[case.key])
        yield Judged(case, report, judge(report, case.truth))


def diagnosed(recording: Json) -> Json:
    return _diagnosis(recording).report()


def _diagnosis(recording: Json) -> Diagnosis:
    children = [_diagnosis(one) for one in recording["children"]]
    return Diagnosis(read_execution(msgspec.json.encode(recording["execution"])), children)


def _slim(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _slim(part) for key, part in value.items() if key not in _LEFT_OUT}
    return [_slim(one) for one in value] if isinstance(value, list) else value
