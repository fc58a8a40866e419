"""Doubt among ten tools and among ten thousand: do the thresholds hold at both ends?

Ten tools are drawn from our own, again and again; asked are the questions for them, and questions for tools that were
not drawn. Ten thousand are all tools at hand: ours, other people's and those of the public sets. Few questions have no
tool there, so those that are asked are for hands and not for software (`questions/nowhere.tsv`).
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bench.search_questions import (
    Question,
    fleet_documents,
    index_of,
    own_documents,
    questions,
    without_tool,
)
from bench.search_sets import document, load_sets
from dogubako.engine.search.index import ToolIndex
from dogubako.engine.search.text import Document

DRAWS: Final = 24
DRAWN: Final = 10
_SEED: Final = 11


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """In percent: how many questions with a tool are doubted, and how many without one."""

    tools: int
    wrongly: float
    rightly: float


def doubt_by_size(half: str = "checking") -> Mapping[str, Doubt]:
    asked = questions(f"own-{half}")
    return {"ten": _among_ten(asked), "all": _among_all(asked)}


def _among_ten(asked: Sequence[Question]) -> Doubt:
    chance, with_tool, without = random.Random(_SEED), [], []
    for _ in range(DRAWS):
        drawn = chance.sample(own_documents(), DRAWN)
        keys, index = {one.key for one in drawn}, index_of(drawn)
        with_tool += [index.find(one.text).is_doubtful for one in asked if one.tools & keys]
        others = [one for one in asked if not one.tools & keys and not _alike(one, drawn)]
        without += [index.find(one.text).is_doubtful for one in chance.sample(others, 20)]
    return Doubt(tools=DRAWN, wrongly=_percent(with_tool), rightly=_percent(without))


def _alike(one: Question, drawn: Sequence[Document]) -> bool:
    """Whether a drawn tool is of the same pack as a right one: it may well be the next best answer."""
    packs = {document.group for document in own_documents() if document.key in one.tools}
    return any(document.group in packs for document in drawn)


def _among_all(asked: Sequence[Question]) -> Doubt:
    public = {one.key: one for each in load_sets(1) for one in map(document, each.tools)}
    index: ToolIndex = index_of([*own_documents(), *fleet_documents(), *public.values()])
    return Doubt(
        tools=len(index),
        wrongly=_percent([index.find(one.text).is_doubtful for one in asked if one.tools]),
        rightly=_percent([index.find(one.text).is_doubtful for one in without_tool(questions("nowhere"))]),
    )


def _percent(found: Sequence[bool]) -> float:
    return 100 * sum(found) / len(found) if found else 0.0
