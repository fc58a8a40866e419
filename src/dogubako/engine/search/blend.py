"""Combine the scores of words and of vectors into one score, and into the probability that a tool is the right one.

The weights are fitted by `bench/search_training.py` on the tuning halves of the questions; the checking halves have
never been seen by it.
"""

from collections.abc import Sequence
from math import log
from typing import TYPE_CHECKING, Any

import msgspec

from dogubako.engine.search.constants import (
    DOUBT,
    DOUBT_BARE,
    DOUBT_PER_FOLD,
    FULL_QUERY,
    LONG_QUERY,
    NEAR_NAME,
    PROBABILITY,
    SCORE,
    USUAL_TOOLS,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of each candidate; all arrays have one place per candidate."""

    # How well the words fit: of the question, and of a Japanese question's English words.
    words: "NDArray[Any]"
    glosses: "NDArray[Any]"
    # How much of the tool's name and of the question are the same.
    named: "NDArray[Any]"
    # How alike the meaning is: of all that the tool says, and of its nearest phrase.
    whole: "NDArray[Any]"
    phrase: "NDArray[Any]"
    # 1 for a tool that has no everyday words: its nearest phrase is seldom near.
    bare: "NDArray[Any]"
    # 1 for a tool that destroys although nobody asked for that.
    destroys: "NDArray[Any]"
    # 1 for a tool that changes something where something is to be read, and the other way round.
    changes: "NDArray[Any]"
    reads: "NDArray[Any]"
    # How alike the question is to what few toolboxes do.
    elsewhere: float
    # How many words the question has.
    length: int
    is_japanese: bool

    @property
    def language(self) -> str:
        return "ja" if self.is_japanese else "en"


def features(evidence: Evidence) -> "dict[str, NDArray[Any]]":
    """The features by name. Those that begin with `rel` are relative to the best candidate."""
    import numpy as np  # noqa: PLC0415 - a server that nobody searches does not need it

    fit = _fit(evidence.words)
    glosses = _fit(evidence.glosses)
    rel, rel_whole, rel_phrase = _relative(fit), _relative(evidence.whole), _relative(evidence.phrase)
    long = 0.0 if evidence.is_japanese else min(1.0, evidence.length / LONG_QUERY)
    return {
        "fit": fit,
        "rel fit": rel,
        "whole": evidence.whole,
        "phrase": evidence.phrase,
        "rel whole": rel_whole,
        "rel phrase": rel_phrase,
        "glosses": glosses,
        "rel glosses": _relative(glosses),
        "named": evidence.named,
        "destroys": evidence.destroys,
        "changes": evidence.changes,
        "reads": evidence.reads,
        "bare": evidence.bare,
        "bare phrase": evidence.bare * evidence.phrase,
        "elsewhere": np.full_like(fit, evidence.elsewhere),
        "length": np.full_like(fit, min(1.0, evidence.length / FULL_QUERY)),
        "long fit": long * fit,
        "long rel fit": long * rel,
        "long rel whole": long * rel_whole,
        "long rel phrase": long * rel_phrase,
    }


def scores(evidence: Evidence) -> "NDArray[Any]":
    """By these the candidates are ordered. They mean nothing beyond this question."""
    return _weighted(features(evidence), SCORE[evidence.language])


def words_share(evidence: Evidence) -> "NDArray[Any]":
    """How much of each score comes from words; the rest comes from meaning."""
    import numpy as np  # noqa: PLC0415 - a server that nobody searches does not need it

    weights = {name: weight for name, weight in SCORE[evidence.language].items() if name != "destroys"}
    by_words = {name: weight for name, weight in weights.items() if name.endswith(("fit", "glosses", "named"))}
    by_meaning = {name: weight for name, weight in weights.items() if name not in by_words}
    found = features(evidence)
    from_words = np.maximum(_weighted(found, by_words), 0.0)
    from_meaning = np.maximum(_weighted(found, by_meaning), 0.0)
    shares: NDArray[Any] = from_words / np.maximum(from_words + from_meaning, 1e-9)
    return shares


def probabilities(evidence: Evidence) -> "NDArray[Any]":
    """How likely each candidate is what was asked for."""
    return _likely(features(evidence), evidence.language)


def probability_of_best(evidence: Evidence, first: Sequence[int]) -> float:
    """How likely the best of the first candidates is right. What speaks for any of them speaks for the best."""
    found = best_of(features(evidence), first)
    return float(_likely(found, evidence.language)[0])


def best_of(found: "dict[str, NDArray[Any]]", first: Sequence[int]) -> "dict[str, NDArray[Any]]":
    """The highest of each feature among these candidates. The one with the nearest phrase tells whether it is bare."""
    nearest = _nearest(found["phrase"], first)
    return {
        name: values[[nearest] if name.startswith("bare") else list(first)].max(keepdims=True)
        for name, values in found.items()
    }


def is_bare(evidence: Evidence, first: Sequence[int]) -> bool:
    """Whether the nearest of the first candidates has no everyday words."""
    return bool(evidence.bare[_nearest(evidence.phrase, first)])


def _nearest(phrase: "NDArray[Any]", first: Sequence[int]) -> int:
    return max(first, key=lambda at: float(phrase[at]))


def _likely(found: "dict[str, NDArray[Any]]", language: str) -> "NDArray[Any]":
    import numpy as np  # noqa: PLC0415

    weights = PROBABILITY[language]
    likely: NDArray[Any] = 1 / (1 + np.exp(-(_weighted(found, weights) + weights["bias"])))
    return likely


def is_doubtful(best: float, *, japanese: bool, tools: int, bare: bool = False) -> bool:
    """Whether the best of so many tools is too unlikely to be shown as an answer."""
    threshold = (DOUBT_BARE if bare else DOUBT)["ja" if japanese else "en"]
    # The best of many is higher by chance than the best of few, so it has to be higher to be believed.
    harder = DOUBT_PER_FOLD * max(0.0, log(tools / USUAL_TOOLS)) if tools else 0.0
    return log(best / (1 - best)) < log(threshold / (1 - threshold)) + harder if 0 < best < 1 else best <= 0


def _weighted(found: "dict[str, NDArray[Any]]", weights: "dict[str, float]") -> "NDArray[Any]":
    total: NDArray[Any] = sum(weight * found[name] for name, weight in weights.items() if name in found)  # type: ignore[assignment]
    return total


def _fit(words: "NDArray[Any]") -> "NDArray[Any]":
    """Without the lift of a name, and as it was before the root: see `Ranking.best`."""
    import numpy as np  # noqa: PLC0415

    fit: NDArray[Any] = np.minimum(words, NEAR_NAME - 0.01) ** 2
    return fit


def _relative(values: "NDArray[Any]") -> "NDArray[Any]":
    relative: NDArray[Any] = values / max(float(values.max(initial=0.0)), 0.05)
    return relative
