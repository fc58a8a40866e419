"""The public tool-retrieval sets: tools, questions, and which tools are right."""

import importlib.util
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench.machine import ROOT
from dogubako.engine.search.text import Document

FOLDER = ROOT.parent / "shared" / "eval" / "tool-search"

Tool = Mapping[str, Any]
Rank = Callable[[str], Sequence[str]]
_SEED = 3


@dataclass(frozen=True, kw_only=True)
class RetrievalSet:
    """Tools and the questions that are asked of them."""

    name: str
    tools: Sequence[Tool]
    queries: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Quality:
    """In percent: how high the right tools stand, and how often all of them are among the first ten."""

    ndcg: float
    comp: float


def document(tool: Tool) -> Document:
    """A tool of a set as our registry would hand it to the index."""
    parameters = tool.get("parameters") or []
    fields = {
        "name": tool["name"],
        "description": tool["description"],
        "category": f"{tool.get('category', '')} {tool.get('server', '')}",
        "parameters": " ".join(one["name"] for one in parameters),
        "parameter descriptions": " ".join(one.get("description", "") for one in parameters),
    }
    return Document(key=tool["id"], name=tool["name"], group=tool.get("server", ""), fields=fields)


def load_sets(most: int | None) -> list[RetrievalSet]:
    """Every set that is there, with at most so many questions each, sampled as `score.py` does."""
    return [_load(folder, most) for folder in sorted(FOLDER.iterdir()) if (folder / "corpus.jsonl").is_file()]


def quality(rank: Rank, queries: Sequence[Mapping[str, Any]]) -> Quality:
    measured = [_measures()(query, list(rank(query["query"]))) for query in queries]
    return Quality(ndcg=_percent(measured, "nDCG@10"), comp=_percent(measured, "COMP@10"))


def _percent(measured: Sequence[Mapping[str, float]], key: str) -> float:
    return 100 * sum(one[key] for one in measured) / len(measured)


def _load(folder: Path, most: int | None) -> RetrievalSet:
    queries = _lines(folder / "queries.jsonl")
    if most and len(queries) > most:
        queries = random.Random(_SEED).sample(queries, most)
    return RetrievalSet(name=folder.name, tools=_lines(folder / "corpus.jsonl"), queries=queries)


def _lines(path: Path) -> list[Mapping[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@cache
def _measures() -> Callable[[Mapping[str, Any], Sequence[str]], dict[str, float]]:
    """The measures of the sets' own script, so that nobody counts in another way."""
    spec = importlib.util.spec_from_file_location("tool_search_score", FOLDER / "score.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    measures: Callable[[Mapping[str, Any], Sequence[str]], dict[str, float]] = module.measures
    return measures
