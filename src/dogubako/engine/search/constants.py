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
    "category": FieldRule(weight=1.0, usual_length=4),
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

# What one asks for is often done by several tools of one server, so the best of them lifts its neighbours.
NEIGHBOURS: Final = 0.5

# Words that begin alike are often kin where stemming does not see it (science, scientific): two letters in three
# must be shared, from the beginning, and kin counts half. Shorter beginnings would find everything.
KIN_WEIGHT: Final = 0.5
KIN_LIKENESS: Final = 0.75
KIN_PREFIX: Final = 4

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

# With the extra `semantic`: how much of the score is the meaning's; the rest is the words'. What is less alike than
# this is alike by chance. A query of which fewer letters are Latin is not asked of a model that learned English.
MEANING_SHARE: Final = 0.4
MEANING_LEAST: Final = 0.25
KNOWN_LETTERS: Final = 0.8
