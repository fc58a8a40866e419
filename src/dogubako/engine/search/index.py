"""`ToolIndex`: ranks documents by words and by meaning, and says when nothing fits."""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

import msgspec

from dogubako.contract.normalization import nfkc
from dogubako.engine.search import blend
from dogubako.engine.search.acts import Listers, acts, with_acts, with_listers
from dogubako.engine.search.blend import Evidence
from dogubako.engine.search.constants import (
    ALIKE_LEARNED,
    DOUBT_BY_WORDS,
    FIRST_OF_DOUBT,
    KNOWN_LETTERS,
    LIKELY,
    LONGEST_QUERY,
    MOST_MATCHES,
    MOST_MEANT,
    NEAR_NAME,
    WORDS_LEARNED,
)
from dogubako.engine.search.intent import Act, act_of_name, asked_act, asks_for_destruction, asks_for_many, head_of
from dogubako.engine.search.japanese import JapaneseReader, is_japanese, japanese
from dogubako.engine.search.lexical import LexicalIndex, Scores
from dogubako.engine.search.match import MOST_NEAREST, Ranked, Reason
from dogubako.engine.search.meanings import Meanings
from dogubako.engine.search.query import clauses
from dogubako.engine.search.text import Document, terms, words
from dogubako.engine.search.thesaurus import nearest_elsewhere
from dogubako.engine.search.values import without_values
from dogubako.engine.search.word_table import plain_words, word_table

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Candidates(msgspec.Struct, frozen=True, kw_only=True):
    """The tools that are looked at closely: their numbers, what is known of them, and which of them are named."""

    numbers: "NDArray[Any]"
    evidence: Evidence
    names: "NDArray[Any]"
    # Among how many tools they were chosen.
    among: int
    # Whether the question is about several things, or about one; None if nothing tells.
    many: bool | None
    # A single word that a tool has is looked up; that is no question to have doubts about.
    is_lookup: bool


class ToolIndex:
    """A ranked index of documents. Its answers do not depend on the order of insertion."""

    def __init__(self, reader: Callable[[], JapaneseReader] = japanese) -> None:
        """`reader` reads Japanese questions."""
        self._reader = reader
        self._lexical = LexicalIndex()
        self._meanings = Meanings()
        self._destroying: set[int] = set()
        self._bare: set[int] = set()
        self._acts: dict[int, Act | None] = {}
        self._listers = Listers()

    def __len__(self) -> int:
        return len(self._lexical)

    def put(self, *documents: Document) -> None:
        """Add or replace tools."""
        numbered = [(self._lexical.put(document), document) for document in documents]
        self._destroying.difference_update(number for number, _ in numbered)
        self._destroying.update(number for number, document in numbered if document.destroys)
        self._bare.difference_update(number for number, _ in numbered)
        self._bare.update(number for number, document in numbered if not document.fields.get("everyday"))
        self._acts.update((number, act_of(document)) for number, document in numbered)
        self._listers.put(documents)
        self._meanings.put(numbered)

    def key(self, number: int) -> str:
        return self._lexical.keys[number]

    def drop(self, key: str) -> None:
        """Remove a tool, if it is there."""
        number = self._lexical.drop(key)
        self._listers.drop(key)
        if number is not None:
            self._meanings.drop(number)

    def find(self, query: str, allowed: Set[str] | None = None, learned: Sequence[tuple[str, str]] = ()) -> Ranked:
        """Matching tools, best first; only allowed ones, if `allowed` is given.

        `learned` has tools with questions that they answered before.
        """
        query = query[:LONGEST_QUERY]
        if not is_japanese(query) and not is_known_script(query):
            return self._by_words(query, allowed)
        found = self._find(query, allowed, learned)
        parts = acts(query)
        if len(parts) > 1:
            found = with_acts(found, [self._find(part, allowed) for part in parts])
        names_no_id = not any(letter.isdigit() for letter in query)
        return with_listers(found, self._listers, allowed) if names_no_id and not found.is_doubtful else found

    def _find(self, query: str, allowed: Set[str] | None, learned: Sequence[tuple[str, str]] = ()) -> Ranked:
        candidates = self.candidates(query, allowed, learned)
        return Ranked() if candidates is None else self._ranked(candidates)

    def explain(self, query: str, allowed: Set[str] | None = None) -> dict[str, tuple[Reason, ...]]:
        """For each tool that `find` finds, why."""
        hits = dict(self.find(query, allowed).hits)
        by_words = self._lexical.explain(query, allowed, hits.keys())
        candidates = self.candidates(query, allowed) if is_japanese(query) or is_known_script(query) else None
        if candidates is None:
            return by_words
        shares = blend.words_share(candidates.evidence).tolist()
        keys = [self._lexical.keys[number] for number in candidates.numbers.tolist()]
        return {
            key: _reasons(hits[key], share, by_words.get(key, ()))
            for key, share in zip(keys, shares, strict=True)
            if key in hits
        }

    def candidates(
        self, query: str, allowed: Set[str] | None = None, learned: Sequence[tuple[str, str]] = ()
    ) -> Candidates | None:
        """What is known of the tools that may fit, if any may."""
        import numpy as np  # noqa: PLC0415 - a server that nobody searches does not need it

        if not len(self):
            return None
        places, in_japanese = self._lexical.places(allowed), is_japanese(query)
        query, many = without_values(query), asks_for_many(query)
        read = list(self._reader().read(query)) if in_japanese else []
        text = " ".join(gloss for _, gloss in read) if in_japanese else query
        text = self._lexical.without_slips(text, word_table().knows)
        by_words = self._lexical.scores(query, places)
        glosses = self._lexical.gloss_scores([gloss.split() for _, gloss in read], places) if read else Scores()
        asked = word_table().embed([text, *_several(text, in_japanese)])
        whole = _mixed(self._meanings.whole(asked))
        if places is not None:
            whole = np.where(places[: whole.size], whole, 0.0)
        used = self._used(asked[0], learned, allowed)
        numbers = _chosen(whole, [*by_words.fits, *glosses.fits, *used])
        if not numbers.size:
            return None
        # A question that led to a tool before is among its words as well.
        found = np.maximum(_at(by_words.fits, numbers), WORDS_LEARNED * _at(used, numbers))
        destroys = np.zeros(numbers.size)
        if not asks_for_destruction(query):
            destroys = np.isin(numbers, list(self._destroying)).astype(np.float64)
        wanted = asked_act(query)
        evidence = Evidence(
            words=found,
            glosses=_at(glosses.fits, numbers),
            named=np.maximum(_at(by_words.named, numbers), _at(glosses.named, numbers)),
            whole=whole[numbers],
            phrase=np.maximum(_mixed(self._meanings.phrase(numbers, asked)), _at(used, numbers)),
            bare=np.array([number in self._bare for number in numbers.tolist()], np.float64),
            destroys=destroys,
            changes=self._that(numbers, "change", wanted == "read"),
            reads=self._that(numbers, "read", wanted == "change"),
            elsewhere=nearest_elsewhere(asked[0]),
            length=len(plain_words(text)),
            is_japanese=in_japanese,
        )
        is_lookup = bool(by_words.fits) and len(set(terms(query))) == 1
        among = len(self) if places is None else int(places.sum())
        return Candidates(
            numbers=numbers,
            evidence=evidence,
            names=found >= NEAR_NAME,
            among=among,
            many=many,
            is_lookup=is_lookup,
        )

    def _used(
        self, asked: "NDArray[Any]", learned: Sequence[tuple[str, str]], allowed: Set[str] | None
    ) -> dict[int, float]:
        """How alike the question is to those that led to a tool before, for each such tool."""
        known = [(key, text) for key, text in learned if key in self._lexical and (allowed is None or key in allowed)]
        if not known:
            return {}
        texts = [self._reader().english(text) if is_japanese(text) else text for _, text in known]
        found: dict[int, float] = {}
        for (key, _), alike in zip(known, (word_table().embed(texts) @ asked).tolist(), strict=True):
            number = self._lexical.number(key)
            found[number] = max(found.get(number, 0.0), alike)
        return {number: alike for number, alike in found.items() if alike >= ALIKE_LEARNED}

    def _that(self, numbers: "NDArray[Any]", act: Act, counts: bool) -> "NDArray[Any]":
        """1 for each tool that does such an act, if that counts."""
        import numpy as np  # noqa: PLC0415

        if not counts:
            return np.zeros(numbers.size)
        return np.array([self._acts[number] == act for number in numbers.tolist()], np.float64)

    def _ranked(self, candidates: Candidates) -> Ranked:
        """Named tools first. A tool that destroys is not first unless that was asked for, or it was named."""
        import numpy as np  # noqa: PLC0415

        evidence = candidates.evidence
        keys, numbers = self._lexical.keys, candidates.numbers.tolist()
        likely = blend.probabilities(evidence)
        scores = np.where(candidates.names, 100 * evidence.words, blend.scores(evidence))
        order = sorted(_highest(scores), key=lambda at: (-scores[at], keys[numbers[at]]))
        order = _by_number(order, [keys[numbers[at]] for at in order[:FIRST_OF_DOUBT]], candidates.many)
        order = _harmless_first(order, (evidence.destroys > 0) & ~candidates.names)
        first = order[:FIRST_OF_DOUBT]
        best, bare = blend.probability_of_best(evidence, first), blend.is_bare(evidence, first)
        destroys_unasked = bool(evidence.destroys[order[0]]) and not candidates.names[order[0]]
        unlikely = blend.is_doubtful(best, japanese=evidence.is_japanese, tools=candidates.among, bare=bare)
        has_word = (evidence.words > 0) | (evidence.glosses > 0)
        shown = [at for at in order if has_word[at] or likely[at] >= LIKELY * best][:MOST_MATCHES]
        doubtful = (unlikely or destroys_unasked) and not (candidates.is_lookup or candidates.names.any())
        if doubtful and len(shown) < MOST_NEAREST:
            # Where nothing fits, the nearest are named, however far away they are.
            shown = order[:MOST_NEAREST]
        # The likeliest of the first few speaks for the first; nobody is shown as likelier than the one before.
        falling = np.minimum.accumulate([best, *likely[shown[1:]]]).clip(max=NEAR_NAME - 0.01)
        hits = [
            (keys[numbers[at]], round(float(evidence.words[at] if candidates.names[at] else value), 4))
            for at, value in zip(shown, falling, strict=True)
        ]
        return Ranked(hits=hits, is_doubtful=not hits or doubtful)

    def _by_words(self, query: str, allowed: Set[str] | None) -> Ranked:
        """For scripts that the table does not know."""
        hits = self._lexical.find(query, allowed)
        return Ranked(hits=hits, is_doubtful=not hits or hits[0][1] < DOUBT_BY_WORDS)


def act_of(document: Document) -> Act | None:
    """What a tool does, as it says itself or as its name tells."""
    return document.act or act_of_name(tuple(words(document.name)))


def is_known_script(query: str) -> bool:
    """Whether a table that knows English can make something of these letters."""
    letters = [letter for letter in nfkc(query[:LONGEST_QUERY]) if letter.isalpha()]
    latin = sum(1 for letter in letters if letter < "\u0250")
    return bool(letters) and latin >= KNOWN_LETTERS * len(letters)


def _several(text: str, in_japanese: bool) -> Sequence[str]:
    if in_japanese:
        return ()
    parts = clauses(text)
    return parts if len(parts) > 1 else head_of(text)


def _mixed(alike: "NDArray[Any]") -> "NDArray[Any]":
    """Of several sentences, half is the whole question's and half that of the sentence that is most alike."""
    if alike.shape[1] == 1:
        return alike[:, 0]
    mixed: NDArray[Any] = (alike[:, 0] + alike[:, 1:].max(axis=1)) / 2
    return mixed


def _chosen(whole: "NDArray[Any]", by_words: Sequence[int]) -> "NDArray[Any]":
    """The numbers of the tools with a word of the question, and of those whose meaning is nearest."""
    import numpy as np  # noqa: PLC0415

    meant = np.flatnonzero(whole > 0)
    if meant.size > MOST_MEANT:
        meant = meant[whole[meant] >= np.partition(whole[meant], -MOST_MEANT)[-MOST_MEANT]]
    chosen: NDArray[Any] = np.union1d(meant, np.array(by_words, np.intp))
    return chosen


def _at(scores: Mapping[int, float], numbers: "NDArray[Any]") -> "NDArray[Any]":
    """The scores of these numbers, which are sorted. A score of another number is left out."""
    import numpy as np  # noqa: PLC0415

    found = np.zeros(numbers.size)
    if scores:
        at = numbers.searchsorted(list(scores)).clip(max=numbers.size - 1)
        known = numbers[at] == np.fromiter(scores, np.intp)
        found[at[known]] = np.fromiter(scores.values(), np.float64)[known]
    return found


def _highest(scores: "NDArray[Any]") -> list[int]:
    """The places of the highest scores, and of all that are as high as the last of these."""
    import numpy as np  # noqa: PLC0415

    if scores.size <= MOST_MATCHES:
        return list(range(scores.size))
    places: list[int] = np.flatnonzero(scores >= np.partition(scores, -MOST_MATCHES)[-MOST_MATCHES]).tolist()
    return places


def _harmless_first(order: list[int], destroys: "NDArray[Any]") -> list[int]:
    first = next((at for at in order if not destroys[at]), None)
    if first is None or not destroys[order[0]]:
        return order
    return [first, *(at for at in order if at != first)]


def _by_number(order: list[int], first: Sequence[str], many: bool | None) -> list[int]:
    """Of two of the first tools, one for a single thing and one for many, the one that is asked for first."""
    order = list(order)
    for at, key in enumerate(first):
        other = first.index(f"{key}s") if f"{key}s" in first else at
        if (many is True and at < other) or (many is False and at > other):
            order[at], order[other] = order[other], order[at]
    return order


def _reasons(score: float, share: float, why: Sequence[Reason]) -> tuple[Reason, ...]:
    """The words' reasons, and what is left is the meaning's."""
    by_words = sum(one.share for one in why)
    if score >= NEAR_NAME and by_words:
        share = 1.0
    scale = score * share / by_words if by_words else 0.0
    scaled = [Reason(word=one.word, field=one.field, share=one.share * scale) for one in why]
    left = score - sum(one.share for one in scaled)
    meaning = [Reason(word="", field="meaning", share=left)] if left > 0.0001 else []
    return tuple(sorted([*scaled, *meaning], key=lambda one: (-one.share, one.word, one.field)))
