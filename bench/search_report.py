"""The tables of `make bench-search`, for the terminal and for `docs/search.md`."""

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

from bench.search_contenders import FAST, OURS, PLAIN
from bench.search_questions import FIRST_CONTACT, Everyday, Hits, Several
from bench.search_scale import Doubt
from bench.search_sets import Quality

Qualities = Mapping[str, Mapping[str, Quality]]

# What was asked for: the means, and how far below the others any set may be.
NEEDED: Final = {OURS: Quality(ndcg=80, comp=84)}
MAY_LOSE: Final = 0.0

# Of everyday questions of the checking half, in percent: right first, right among three.
NEEDED_HITS: Final = {"own en": (80, 94), "own ja": (80, 94), "fleet ja": (62, 80)}
NEEDED_DOUBTS: Final = 88
MAY_DOUBT: Final = 7
# Of questions that name several acts, in percent.
NEEDED_SEVERAL: Final = 85


@dataclass(frozen=True, kw_only=True)
class Measured:
    """All that one run measured."""

    everyday: Sequence[Everyday]
    several: Mapping[str, Several]
    doubt: Mapping[str, Doubt]
    qualities: Qualities
    speed: Mapping[str, float]


# What is measured, in which unit, and the most that it may be.
_SPEED: Final = (
    ("build the index and all vectors", "build_s", "s", 5.0),
    ("a query, median", "p50_ms", "ms", 3.0),
    ("a query, 95 of 100", "p95_ms", "ms", None),
    ("a query whose words are new, median", "first_ms", "ms", None),
    ("change one tool, 95 of 100", "change_ms", "ms", 10.0),
    ("memory", "memory_mb", "MB", 150.0),
    ("a query of FastMCP's index, median", "fastmcp_p50_ms", "ms", None),
)

_PAGE: Final = """# Tool search

`dogubako tools search "which runs failed" --explain`, `POST /v1/tools/search` and `search_tools` find tools with a
ranker of our own ([why](adr/0019-tool-search.md)). `make bench-search` measures it on public sets beside FastMCP's own
index **in one run**, and writes this page.

## How a tool is found

- **By words**: names, descriptions, categories, tags, parameters and their descriptions, examples, and everyday words
  (below). Words are split (`listHTTPRoutes`, `list_http-routes`), stemmed, and in Japanese, Chinese and Korean taken
  as pairs of characters. A query in several sentences is also searched sentence by sentence. The best tool of a service
  lifts its neighbours.
- **By meaning**: a table of 28,593 words, 4 MB in the wheel, gives every text a vector. It was distilled from
  all-MiniLM-L6-v2 ([NOTICE](../src/dogubako/engine/search/table/NOTICE)) by `scripts/distill_table.py`; nothing is
  downloaded, and numpy is all it needs. Compared are all that a tool says, and its nearest phrase.
- **In Japanese**: a question is also read in English words, with a list of our own (2,400 words), so that it finds
  tools that are described in English only. `pip install 'dogubako[ja]'` adds the 45,000 common words of JMdict (EDRDG,
  CC BY-SA 3.0), read at the first Japanese question and kept in the data folder. Questions in other scripts that the
  table does not know are searched by words alone.
- **Tools without everyday words**, for example those of other servers, get phrases from a thesaurus by the words of
  their names: `delete_chart` is also “get rid of the graph”. The same thesaurus gives the words of a question their
  synonyms. What a server says of itself (its instructions, what its prompts are for) is searched too.
- **By what is wanted**: a question that wants to see something (“which logins are stored”) ranks tools that change
  something lower, and the other way round. Values are read as what they are: `#12` is a ticket, an address is a page.
- **Several acts**: a question that names several is also ranked act by act. The best tools for each act, and the tool
  that lists what the best one needs the id of, are among the first eight.
- A tool that is named comes first, however the name is written; one that is nearly named comes next.
- A tool that destroys something is never first, unless the question asks for destruction or names it.

The **score** is the probability that a tool is what was asked for; 1 is a tool that was named. `--explain` takes it
apart: which words, in which fields, with how much, and what meaning added.

## Nothing here does that

Where the best tool is too unlikely, the answer of `search_tools` begins with `Nothing here does that` and names the two
nearest as such. Over REST `results` is empty and `nearest` has them; `dogubako tools search` says the same. A single
word that a tool has is looked up without doubt. Among very many tools the threshold is higher, because the best of many
is higher by chance.

## Everyday words

What people call it is written once, in the tool, and never listed:

`@tool(keywords={{"en": "book time; log hours; I worked on it", "ja": "工数 作業時間 つける 記録"}})`.

English phrases are separated by `;`, Japanese words by spaces. `open|file a ticket|bug` are several phrases in one, and
`feature_request` in it is one alternative of two words. A pack may keep more of them in a file (`everyday_words`: lines
of tool, language and words), which is read at the first search. All our own tools have both, and a test says so.

What only your people say belongs into the settings, for a tool or for a whole pack:

```sh
DOGUBAKO_SEARCH_WORDS="create_issue=raise a card; 札を切る,n8n=zaps"
```

With `DOGUBAKO_LEARN_FROM_USE=true` a question whose search led to a successful call becomes a phrase of that tool, for
the same caller only: an API key or an OAuth subject, or whoever started a stdio server. It is kept without numbers,
addresses and secrets in one file of the data folder. `dogubako tools learned` shows it, `dogubako tools forget` removes
it ([why](adr/0063-learning-from-use.md)).

The index is built in the background: over HTTP when the server starts, over stdio at the first search. A search waits
for it at most a second; then it answers with the tools that are indexed, and says how many are not.

## Quality

Everyday questions, in percent: a right tool first / among the first three / called doubtful though it is there (and how
many were asked). The tuning half was looked at and fitted to (`bench/search_training.py`); of the checking half only
these sums. Other people's tools have no everyday words.

{everyday}

Questions that name several acts (“find the ticket about the VPN and close it”), in percent: all of the tools that they
need are among the first eight (which `search_tools` shows) / among the first ten:

{several}

Doubt by the number of tools, in percent. Ten are drawn from ours again and again; the most are ours, other people's and
those of the public sets together, and the questions without a tool are for hands there, not for software:

{doubt}

**What these figures are worth.** Words and questions were written by one hand, so figures on our own tools flatter. The
honest ones are those of new questions at first contact, written from names and descriptions before the words of the
search were looked at (first / among three / doubted):

{first_contact}

nDCG@10 (how high the right tools stand) / COMP@10 (how often all of them are among the first ten) on public sets, in
percent:

{quality}

## Speed, among 10,000 tools

{speed}

The tools are those of all sets together; the questions are a sample of each. Times are processor time, and of three
tries the fastest, which a busy machine disturbs less. *Memory* is what the process grows by.

## How it is measured

Up to {sampled} questions of each set, chosen as the sets' own script does and counted with its measures. All rank
the same tools; what FastMCP has no field for (category, server) is added to its description. *Plain fielded BM25* is
the textbook's, on the same words as ours. One configuration for all sets. Python {python}, FastMCP {fastmcp}, numpy
{numpy}. The sets are read from `../shared/eval/tool-search`; without them the command says so. `--all` asks every
question.
"""


def quality_rows(qualities: Qualities) -> list[list[str]]:
    everybody = list(next(iter(qualities.values())))
    rows = [["set", *everybody]]
    rows += [[name, *(_pair(one[who]) for who in everybody)] for name, one in qualities.items()]
    rows.append(["mean", *(_pair(_mean(qualities, who)) for who in everybody)])
    rows.append(
        ["needed", *(f"≥ {NEEDED[who].ndcg:g} / {NEEDED[who].comp:g}" if who in NEEDED else "" for who in everybody)]
    )
    return rows


def speed_rows(speed: Mapping[str, float]) -> list[list[str]]:
    rows = [["what", "measured", "needed"]]
    for what, key, unit, most in _SPEED:
        rows.append([what, f"{speed[key]:,.2f} {unit}", "" if most is None else f"≤ {most:g} {unit}"])
    return rows


def several_rows(measured: Mapping[str, Several]) -> list[list[str]]:
    rows = [["several acts", "among eight / among ten", "needed"]]
    for language, name in (("en", "English"), ("ja", "Japanese")):
        one = measured[language]
        rows.append(
            [name, f"{one.among_eight:.1f} / {one.among_ten:.1f} ({one.count})", f"≥ {NEEDED_SEVERAL} among ten"]
        )
    return rows


def doubt_rows(measured: Mapping[str, Doubt]) -> list[list[str]]:
    rows = [["tools", "with a tool, doubted", "without a tool, doubted"]]
    return [*rows, *([f"{one.tools:,}", f"{one.wrongly:.1f}", f"{one.rightly:.1f}"] for one in measured.values())]


def everyday_rows(asked: Sequence[Everyday]) -> list[list[str]]:
    rows = [["questions", *(f"{one.half}: first / among three / doubted" for one in asked), "needed"]]
    for name in asked[0].hits:
        needed = f"≥ {NEEDED_HITS[name][0]} / {NEEDED_HITS[name][1]}" if name in NEEDED_HITS else ""
        rows.append([_NAMES[name], *(_triple(one.hits[name]) for one in asked), needed])
    lacking = [f"{one.without_tool.doubted:.0f} doubted ({one.without_tool.count})" for one in asked]
    rows.append(["without a tool", *lacking, f"≥ {NEEDED_DOUBTS} doubted"])
    return [*rows, ["a destructive tool first, unasked", *(str(one.harmful) for one in asked), "0"]]


_NAMES: Final = {
    "own en": "our own tools, English",
    "own ja": "our own tools, Japanese",
    "fleet en": "355 tools of other people, English",
    "fleet ja": "355 tools of other people, Japanese",
}


def _triple(one: Hits) -> str:
    return f"{one.first:.1f} / {one.among_three:.1f} / {one.doubted:.1f} ({one.count})"


def unmet(measured: Measured) -> list[str]:
    """What was asked for and not reached, in words."""
    several = [name for name, one in measured.several.items() if one.among_ten < NEEDED_SEVERAL]
    return [
        *_unmet_everyday(measured.everyday[-1]),
        *(f"several acts, {name}: {measured.several[name].among_ten:.1f}" for name in several),
        *_unmet_sets(measured.qualities),
        *_unmet_speed(measured.speed),
    ]


def _unmet_everyday(checking: Everyday) -> Iterator[str]:
    for name, (first, three) in NEEDED_HITS.items():
        hits = checking.hits[name]
        if hits.first < first or hits.among_three < three:
            yield f"{_NAMES[name]}: {_triple(hits)}"
        if name.startswith("own") and hits.doubted > MAY_DOUBT:
            yield f"{_NAMES[name]}: {hits.doubted:.1f} % doubted"
    if checking.without_tool.doubted < NEEDED_DOUBTS:
        yield f"without a tool: {checking.without_tool.doubted:.1f} % doubted"
    if checking.harmful:
        yield f"a destructive tool first, unasked: {checking.harmful}"


def _unmet_sets(qualities: Qualities) -> Iterator[str]:
    mean = _mean(qualities, OURS)
    if mean.ndcg < NEEDED[OURS].ndcg or mean.comp < NEEDED[OURS].comp:
        yield f"the mean of {OURS} is {_pair(mean)}"
    for name, one in qualities.items():
        if one[OURS].ndcg < max(one[PLAIN].ndcg, one[FAST].ndcg) - MAY_LOSE:
            yield f"{name} is below others"


def _unmet_speed(speed: Mapping[str, float]) -> Iterator[str]:
    for what, key, unit, most in _SPEED:
        if most is not None and speed[key] > most:
            yield f"{what}: {speed[key]:.2f} {unit}"


def write_page(path: Path, measured: Measured, sampled: int) -> None:
    page = _PAGE.format(
        everyday=_as_markdown(everyday_rows(measured.everyday)),
        several=_as_markdown(several_rows(measured.several)),
        doubt=_as_markdown(doubt_rows(measured.doubt)),
        first_contact=_as_markdown([["questions", "at first contact"], *map(list, FIRST_CONTACT)]),
        quality=_as_markdown(quality_rows(measured.qualities)),
        speed=_as_markdown(speed_rows(measured.speed)),
        sampled=sampled,
        python=platform.python_version(),
        fastmcp=version("fastmcp"),
        numpy=version("numpy"),
    )
    path.write_text(page, encoding="utf-8")


def _mean(qualities: Qualities, who: str) -> Quality:
    found = [one[who] for one in qualities.values()]
    return Quality(ndcg=sum(one.ndcg for one in found) / len(found), comp=sum(one.comp for one in found) / len(found))


def _pair(one: Quality) -> str:
    return f"{one.ndcg:.1f} / {one.comp:.1f}"


def _as_markdown(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *body))
