"""Every number of the ranker, in one place and with its reason. docs/adr/0019-tool-search.md has the measurements."""

from typing import Final

import msgspec


class FieldRule(msgspec.Struct, frozen=True, kw_only=True):
    """How much a word in this field counts, and how many words such a field usually has.

    The usual length is fixed, not averaged over the tools at hand: so a tool's own numbers never change when other
    tools come or go, and nothing has to be computed again.
    """

    weight: float
    usual_length: int


# A name is chosen with care and says most; the words of parameters say what a tool is about, but also much by the way.
FIELD_RULES: Final[dict[str, FieldRule]] = {
    "name": FieldRule(weight=1.5, usual_length=3),
    "description": FieldRule(weight=1.0, usual_length=12),
    "keywords": FieldRule(weight=1.0, usual_length=12),
    # What people say, in English and in Japanese. Such fields are long, and that must not cost them.
    "everyday": FieldRule(weight=1.0, usual_length=70),
    "everyday ja": FieldRule(weight=1.0, usual_length=200),
    "category": FieldRule(weight=1.0, usual_length=4),
    # What a server says of all its tools: it tells servers apart, not tools.
    "server": FieldRule(weight=0.3, usual_length=30),
    "tags": FieldRule(weight=1.0, usual_length=4),
    "parameters": FieldRule(weight=0.7, usual_length=5),
    "parameter descriptions": FieldRule(weight=0.7, usual_length=20),
    "examples": FieldRule(weight=0.5, usual_length=20),
}

# BM25's two, at the values of the literature: how soon repeating a word stops to help, how much long texts pay.
SATURATION: Final = 1.2
LENGTH_PENALTY: Final = 0.75

# A tool whose whole name was asked for is worth more than one of which a word was; the same for all that it says of
# itself. The shares are weighed by how rare the words are.
NAME_COVERED: Final = 0.2
FACE_COVERED: Final = 0.3

# Of a query in several sentences, half the score is the whole query's and half that of the sentence that fits best.
# A sentence whose best tool fits badly counts less: this is the exponent.
CLAUSE_SHARE: Final = 0.5
CLAUSE_TRUST: Final = 0.3
MOST_CLAUSES: Final = 12

# A question that names more acts is rather a story; it is ranked as a whole. The first tools for the whole question
# stay first, then come so many of each act. An agent sees eight, and those must hold them.
MOST_ACTS: Final = 5
FIRST_OF_WHOLE: Final = 5
TOOLS_OF_AN_ACT: Final = 3
# A tool that lists what a found tool needs an id of stands here at the latest.
PLACE_OF_LISTERS: Final = 7
MOST_LISTERS: Final = 1

# What one asks for is often done by several tools of one server, so the best of them lifts its neighbours.
NEIGHBOURS: Final = 0.5

# Words that begin alike are often kin where stemming does not see it (science, scientific): two letters in three
# must be shared, from the beginning, and kin counts half. Shorter beginnings would find everything.
KIN_WEIGHT: Final = 0.5
KIN_LIKENESS: Final = 0.75
KIN_PREFIX: Final = 4

# What a word of the question stands for in the names of tools (graph, chart) counts less than the word itself.
# That is so for short questions; from `FEW_TERMS` on synonyms count less, and after `MANY_TERMS` more, the least.
SYNONYM_WEIGHT: Final = 0.5
LEAST_SYNONYMS: Final = 0.2
FEW_TERMS: Final = 4
MANY_TERMS: Final = 8
# Of the English words for a Japanese one, the first is the most usual.
OTHER_GLOSS_WEIGHT: Final = 0.7

# A word that no tool has may be a misspelt word of a name. Short words are one letter away from too many others, and
# what is longer than any word is not one.
TYPO_WEIGHT: Final = 0.7
TYPO_SHORTEST: Final = 4
TYPO_LONGEST: Final = 32

# A tool that holds less than this share of what the best one holds is no match.
FLOOR: Final = 0.15

# More than a door ever shows. Only these are looked at closely.
MOST_MATCHES: Final = 100

# The query is the name but for a letter, a form or the order of its words: above everything but the name itself.
NEAR_NAME: Final = 0.9
NEAR_LIKENESS: Final = 0.88

# A long text is no better a query than its beginning, and must not take longer than a moment.
LONGEST_QUERY: Final = 8_000
MOST_TERMS: Final = 96

# A query of which fewer letters are Latin is not asked of a table that knows English.
KNOWN_LETTERS: Final = 0.8

# What a tool says of itself beyond so many characters, sentences and phrases is no longer about what it is for.
MOST_EMBEDDED: Final = 600
MOST_SENTENCES: Final = 4
MOST_PHRASES: Final = 300

# So many tools are looked at closely because of their meaning. Among fewer tools, all of them are.
MOST_MEANT: Final = 150

# A tool without any word of the question that is less likely than this share of the best one is no match.
LIKELY: Final = 0.3

# From so many words on, a question is long: words count more, and the nearest phrase less.
LONG_QUERY: Final = 30

# A question that led to a tool before speaks for it where the new one is so much alike.
ALIKE_LEARNED: Final = 0.75
WORDS_LEARNED: Final = 0.8

# The blend of words and meaning, per language of the question. `bench/search_training.py` fits these numbers.
SCORE: Final[dict[str, dict[str, float]]] = {
    "en": {
        "fit": 8.6,
        "rel fit": 0.5,
        "rel whole": 1.9,
        "rel phrase": 7.4,
        "destroys": -3.3,
        "changes": -3.5,
        "reads": -1.8,
        "long fit": 8.3,
        "long rel fit": 3.9,
        "long rel whole": 2.0,
        "long rel phrase": -7.2,
    },
    "ja": {
        "fit": 6.4,
        "rel fit": 8.8,
        "glosses": 2.7,
        "rel glosses": 3.5,
        "named": 3.1,
        "whole": 4.4,
        "phrase": 5.9,
        "destroys": -4.0,
        "changes": -4.8,
        "reads": -2.0,
    },
}
# How likely the first tool is right: a logistic regression on absolute features, of which the best among so many of
# the first counts. A question that says more is less often far from what it is about, up to so many words.
FIRST_OF_DOUBT: Final = 5
FULL_QUERY: Final = 12
PROBABILITY: Final[dict[str, dict[str, float]]] = {
    "en": {
        "bias": -5.8,
        "fit": 2.6,
        "whole": 0.9,
        "phrase": 9.2,
        "elsewhere": -4.0,
        "length": 1.7,
        "bare": 3.0,
        "bare phrase": -5.0,
    },
    "ja": {
        "bias": -4.7,
        "fit": 11.7,
        "whole": 0.7,
        "phrase": 2.9,
        "glosses": 3.9,
        "elsewhere": -3.1,
        "length": 2.8,
        "bare": 1.5,
        "bare phrase": 0.1,
    },
}
# Below this the answer is that nothing here does that.
DOUBT: Final[dict[str, float]] = {"en": 0.42, "ja": 0.45}
# The same where the nearest tool has no everyday words: there the first is often the second best of a server that does
# what was asked for, and that is no reason to say that nothing does.
DOUBT_BARE: Final[dict[str, float]] = {"en": 0.30, "ja": 0.30}
# The thresholds hold up to so many tools. For each e-fold of more the log odds must be so much higher.
USUAL_TOOLS: Final = 500
DOUBT_PER_FOLD: Final = 0.36
# The same for scripts that only words are searched in, as a score of the lexical index.
DOUBT_BY_WORDS: Final = 0.25
