"""Fit the numbers of the blend (`SCORE`, `PROBABILITY` and `DOUBT` of `engine/search/constants.py`), and print them.

Only the tuning halves of our questions and the public sets are read, never a checking half. The order is fitted by a
listwise softmax: the right tools of a question shall have the most of the weight. The probability is a logistic
regression on the first tool of each question, right or wrong; questions without a tool, and questions that are asked
of a server that lacks the tool, are the wrong ones.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

# Run as a file, Python looks beside it, not where `bench` is.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.search_questions import Question, fleet_documents, index_of, of_language, own_documents, questions
from bench.search_sets import document, load_sets
from dogubako.engine.search.blend import best_of, features
from dogubako.engine.search.constants import FIRST_OF_DOUBT, PROBABILITY, SCORE
from dogubako.engine.search.index import ToolIndex
from dogubako.engine.search.text import Document

PUBLIC: Final = ("bfcl", "metatool", "sealtools", "toolbench")
# The questions that were new once are known by now, so they are fitted to like the tuning half.
KNOWN: Final = ("own-tuning", "own-fresh", "own-confirm", "own-later")
SAMPLED: Final = 200
STEPS: Final = 800
SHRINKAGE: Final = 1e-4
# What share of the right answers may be called doubtful.
MAY_LOSE: Final = {"en": 0.055, "ja": 0.05}

Matrix = NDArray[np.float64]
# One question: the features of its candidates, which of them are right, and how much it counts.
Case = tuple[Matrix, NDArray[np.bool_], float]


def main() -> int:
    own, bare = index_of(own_documents()), index_of(map(without_everyday_words, own_documents()))
    fleet = index_of(fleet_documents())
    asked = [one for name in KNOWN for one in questions(name)]
    foreign = [*questions("fleet-tuning"), *questions("fleet-fresh")]
    for language in ("en", "ja"):
        # The penalty of destroying tools is set by hand: too few questions tell how much harm counts.
        names = sorted(SCORE[language], key=lambda name: name == "destroys")
        ours, others = of_language(asked, language), of_language(foreign, language)
        cases = [*of(own, ours, names, 0.6), *of(bare, ours, names, 0.25), *of(fleet, others, names, 0.15)]
        if language == "en":
            cases = shared([(cases, 0.35), (list(of_public(names)), 0.65)])
        names = [name for name in names if name != "destroys"]
        weights = fit_order([(matrix[:, : len(names)], right, weight) for matrix, right, weight in cases], len(names))
        SCORE[language].update(zip(names, weights.tolist(), strict=True))
        print(language, {name: round(weight, 2) for name, weight in SCORE[language].items()}, flush=True)
        calibrate(language, (own, bare, fleet), asked, others)
    return 0


def without_everyday_words(one: Document) -> Document:
    """A tool of ours as if somebody else had written it."""
    fields = {name: text for name, text in one.fields.items() if not name.startswith("everyday")}
    return Document(key=one.key, name=one.name, group=one.group, fields=fields, destroys=one.destroys, act=one.act)


def of(index: ToolIndex, asked: Iterable[Question], names: Sequence[str], weight: float) -> Iterable[Case]:
    asked = list(asked)
    for one in asked:
        matrix, keys = evidence_of(index, one.text, names)
        right = np.array([key in one.tools for key in keys], np.bool_)
        if right.any():
            yield matrix, right, weight / len(asked)


def of_public(names: Sequence[str]) -> Iterable[Case]:
    for one in load_sets(SAMPLED):
        if one.name not in PUBLIC:
            continue
        index = index_of(map(document, one.tools))
        for query in one.queries:
            matrix, keys = evidence_of(index, query["query"], names)
            others = query.get("alternatives", {})
            wanted = {tool for one in query["relevant"] for tool in others.get(one, [one])}
            right = np.array([key in wanted for key in keys], np.bool_)
            if right.any():
                yield matrix, right, 1 / len(one.queries)


def shared(parts: Sequence[tuple[Sequence[Case], float]]) -> list[Case]:
    """All cases, each part with its share of the weight."""
    found = []
    for cases, share in parts:
        total = sum(weight for _, _, weight in cases)
        found += [(matrix, right, share * weight / total) for matrix, right, weight in cases]
    return found


def evidence_of(index: ToolIndex, query: str, names: Sequence[str]) -> tuple[Matrix, list[str]]:
    candidates = index.candidates(query)
    if candidates is None:
        return np.zeros((0, len(names))), []
    found = features(candidates.evidence)
    keys = [index.key(number) for number in candidates.numbers.tolist()]
    return np.stack([found[name] for name in names], axis=1), keys


def fit_order(cases: Sequence[Case], width: int) -> Matrix:
    """Adam on the negative log of the right tools' share."""
    matrix = np.concatenate([one for one, _, _ in cases])
    right = np.concatenate([one for _, one, _ in cases])
    starts = np.cumsum([0, *(len(one) for one, _, _ in cases[:-1])])
    counts = np.array([len(one) for one, _, _ in cases])
    weight = np.repeat([one for _, _, one in cases], counts)
    weight = weight / sum(one for _, _, one in cases)

    def gradient(weights: Matrix) -> Matrix:
        logits = matrix @ weights
        logits = np.exp(logits - np.repeat(np.maximum.reduceat(logits, starts), counts))
        share = logits / np.repeat(np.add.reduceat(logits, starts), counts)
        held = np.repeat(np.add.reduceat(share * right, starts), counts)
        target = share * right / np.maximum(held, 1e-12)
        slope: Matrix = matrix.T @ (weight * (share - target)) + SHRINKAGE * weights
        return slope

    return adam(gradient, np.ones(width))


def adam(gradient: Any, weights: Matrix, rate: float = 0.1) -> Matrix:
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        slope = gradient(weights)
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope * slope
        weights = weights - rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return weights


def calibrate(
    language: str,
    indexes: tuple[ToolIndex, ToolIndex, ToolIndex],
    asked: Sequence[Question],
    foreign: Sequence[Question],
) -> None:
    """The probability that the first tool is right, and the threshold of doubt."""
    names = [name for name in PROBABILITY[language] if name != "bias"]
    ours = [one for one in asked if one.language == language]
    own, bare, fleet = indexes
    nowhere = [one for one in questions("nowhere") if one.language == language]
    rows = [*firsts(own, ours, names, 1.0), *firsts(bare, ours, names, 0.25)]
    rows += [*firsts(fleet, foreign, names, 0.5), *firsts(fleet, nowhere, names, 0.5)]
    rows += [row for part in lacking(ours) for row in firsts(*part, names, 0.25)]
    matrix = np.array([[*row, 1.0] for row, _, _ in rows])
    right, weight = np.array([one for _, one, _ in rows]), np.array([one for _, _, one in rows])

    def gradient(weights: Matrix) -> Matrix:
        slope: Matrix = matrix.T @ (weight * (1 / (1 + np.exp(-matrix @ weights)) - right)) / weight.sum()
        return slope + SHRINKAGE * weights

    weights = adam(gradient, np.zeros(matrix.shape[1]))
    PROBABILITY[language].update(zip([*names, "bias"], weights.tolist(), strict=True))
    print(language, {name: round(one, 2) for name, one in PROBABILITY[language].items()}, flush=True)
    found = sorted(best_of_five(own, one.text) for one in ours if one.tools)
    lacks = np.array([best_of_five(own, one.text) for one in ours if not one.tools])
    for share in (0.02, MAY_LOSE[language], 0.08):
        threshold = found[int(share * len(found))]
        print(language, "doubt", round(threshold, 3), "loses", share, "doubts", (lacks < threshold).mean().round(3))


def firsts(
    index: ToolIndex, asked: Iterable[Question], names: Sequence[str], weight: float
) -> Iterable[tuple[Sequence[float], float, float]]:
    """The best features of the first tools of each question, and whether the first is right."""
    for one in asked:
        candidates = index.candidates(one.text)
        hits = index.find(one.text).hits
        if candidates is None or not hits:
            continue
        keys = [index.key(number) for number in candidates.numbers.tolist()]
        first = [keys.index(key) for key, _ in hits[:FIRST_OF_DOUBT] if key in keys]
        found = best_of(features(candidates.evidence), first)
        yield [float(found[name][0]) for name in names], float(hits[0][0] in one.tools), weight


def lacking(asked: Sequence[Question]) -> Iterable[tuple[ToolIndex, list[Question]]]:
    """Servers that lack the tools of a pack, and the questions for just those tools."""
    for group in sorted({one.group for one in own_documents()} - {"core"}):
        left = [one for one in own_documents() if one.group != group]
        gone = {one.key for one in own_documents() if one.group == group}
        yield index_of(left), [one for one in asked if one.tools and one.tools <= gone]


def best_of_five(index: ToolIndex, text: str) -> float:
    hits = index.find(text).hits
    return hits[0][1] if hits else 0.0


if __name__ == "__main__":
    sys.exit(main())
