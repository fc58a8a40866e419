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
from .eighteenth_cases import eighteenth_cases
from .eighth_cases import eighth_cases
from .eleventh_cases import eleventh_cases
from .fault import Half, Truth
from .fifteenth_cases import fifteenth_cases
from .fifth_cases import fifth_cases
from .fourteenth_cases import fourteenth_cases
from .fourth_cases import fourth_cases
from .fresh_failing import failing_cases
from .fresh_quiet import healthy_cases, quiet_cases
from .hard_cases import hard_cases
from .last_cases import last_cases
from .later_cases import later_cases
from .nineteenth_cases import nineteenth_cases
from .ninth_cases import ninth_cases
from .odd_cases import odd_cases
from .outside_cases import outside_cases
from .seventeenth_cases import seventeenth_cases
from .seventh_cases import seventh_cases
from .shapes import Case, cases
from .sixteenth_cases import sixteenth_cases
from .sixth_cases import sixth_cases
from .strange_cases import strange_cases
from .tenth_cases import tenth_cases
from .third_cases import third_cases
from .thirteenth_cases import thirteenth_cases
from .twelfth_cases import twelfth_cases
from .twentieth_cases import twentieth_cases
from .twentyfifth_cases import twentyfifth_cases
from .twentyfirst_cases import twentyfirst_cases
from .twentyfourth_cases import twentyfourth_cases
from .twentysecond_cases import twentysecond_cases
from .twentyseventh_cases import twentyseventh_cases
from .twentysixth_cases import twentysixth_cases
from .twentythird_cases import twentythird_cases
from .unseen_failing import unseen_failing_cases
from .unseen_quiet import unseen_quiet_cases
from .wide_cases import wide_cases

HALVES: Final[tuple[Half, ...]] = get_args(Half)
# These were recorded elsewhere, and are not run again.
TAKEN: Final = frozenset({"strange", "outside", "seventh", "eighth", *HALVES[HALVES.index("ninth") :]})
_FOLDER: Final = Path(__file__).parent / "recordings"
# Stacks tell of the machine; the rest is of no use to a diagnosis.
_LEFT_OUT: Final = frozenset(
    {"stack", "executionData", "resumeToken", "cause", "errorResponse", "headers", "executionContext"}
)

_BY_HAND: Final[Mapping[Half, Callable[[], Iterator[Case]]]] = {
    "hard": hard_cases,
    "wide": wide_cases,
    "last": last_cases,
    "odd": odd_cases,
    "daily": daily_cases,
    "later": later_cases,
    "third": third_cases,
    "fourth": fourth_cases,
    "strange": strange_cases,
    "fifth": fifth_cases,
    "sixth": sixth_cases,
    "outside": outside_cases,
    "seventh": seventh_cases,
    "eighth": eighth_cases,
    "ninth": ninth_cases,
    "tenth": tenth_cases,
    "eleventh": eleventh_cases,
    "twelfth": twelfth_cases,
    "thirteenth": thirteenth_cases,
    "fourteenth": fourteenth_cases,
    "fifteenth": fifteenth_cases,
    "sixteenth": sixteenth_cases,
    "seventeenth": seventeenth_cases,
    "eighteenth": eighteenth_cases,
    "nineteenth": nineteenth_cases,
    "twentieth": twentieth_cases,
    "twentyfirst": twentyfirst_cases,
    "twentysecond": twentysecond_cases,
    "twentythird": twentythird_cases,
    "twentyfourth": twentyfourth_cases,
    "twentyfifth": twentyfifth_cases,
    "twentysixth": twentysixth_cases,
    "twentyseventh": twentyseventh_cases,
}

Json = dict[str, Any]
Verdict = Literal["right", "unhelpful", "misleading"]


class Judged(NamedTuple):
    """One case, what was said about it, and whether that is right."""

    case: Case
    report: Json
    verdict: Verdict


def cases_of(half: Half) -> list[Case]:
    """The cases of a half; fresh and unseen ones were written after the rules, without a look at them."""
    if half == "fresh":
        return [*failing_cases(), *quiet_cases(), *healthy_cases()]
    if half == "unseen":
        return [replace(one, half=half) for one in (*unseen_failing_cases(), *unseen_quiet_cases())]
    if half in _BY_HAND:
        return [replace(one, half=half) for one in _BY_HAND[half]()]
    return list(cases(half))


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


def save(half: Half, recorded: list[Json]) -> None:
    """One line per case. No time stands in the file, so that the same answers make the same file."""
    lines = "".join(json.dumps(_slim(one), ensure_ascii=False, sort_keys=True) + "\n" for one in recorded)
    _FOLDER.mkdir(exist_ok=True)
    (_FOLDER / f"{half}.jsonl.gz").write_bytes(gzip.compress(lines.encode(), 9, mtime=0))


def load(half: Half) -> dict[str, Json]:
    """The recordings by the key of their case."""
    lines = gzip.decompress((_FOLDER / f"{half}.jsonl.gz").read_bytes()).decode().rstrip("\n").split("\n")
    return {one["key"]: one for one in map(json.loads, lines)}


def judged(half: Half) -> Iterator[Judged]:
    """Every case of a half with the verdict on its diagnosis."""
    recorded = load(half)
    for case in cases_of(half):
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
