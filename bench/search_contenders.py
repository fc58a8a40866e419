"""Who ranks tools: ours, FastMCP's own index, and fielded BM25 as the textbook has it."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from fastmcp.server.transforms.search.base import _extract_searchable_text
from fastmcp.server.transforms.search.bm25 import _BM25Index
from fastmcp.tools.base import Tool as FastTool

from bench.search_sets import Rank, Tool, document
from dogubako.engine.search.index import ToolIndex
from dogubako.engine.search.text import terms

OURS: Final = "dogubako"
FAST: Final = "FastMCP"
PLAIN: Final = "plain fielded BM25"

_SHOWN = 10


def ours(tools: Sequence[Tool]) -> Rank:
    index = ToolIndex()
    index.put(*map(document, tools))
    return lambda query: [key for key, _ in index.find(query).hits[:_SHOWN]]


def fastmcp_texts(tools: Iterable[Tool]) -> list[str]:
    """What FastMCP itself searches of each tool."""
    return [_extract_searchable_text(_fast_tool(tool)) for tool in tools]


def fastmcp(tools: Sequence[Tool]) -> Rank:
    index = _BM25Index()
    index.build(fastmcp_texts(tools))
    return lambda query: [tools[at]["id"] for at in index.query(query, _SHOWN)]


def _fast_tool(tool: Tool) -> FastTool:
    properties = {
        one["name"]: {"type": "string", "description": one.get("description", "")}
        for one in tool.get("parameters") or []
    }
    # What it has no field for is part of the description, or it would not be found at all.
    described = " ".join(part for part in (tool["description"], tool.get("server"), tool.get("category")) if part)
    schema = {"type": "object", "properties": properties}
    # Unchecked: a set's names may hold spaces, about which FastMCP would print a page each.
    return FastTool.model_construct(name=tool["name"], description=described, parameters=schema)


class PlainFieldedBm25:
    """The textbook's BM25F, on the same words as ours: no clauses, no kin, no neighbours, no names."""

    weights: Final[Mapping[str, float]] = {
        "name": 2.0,
        "description": 1.0,
        "category": 1.0,
        "parameters": 0.5,
        "parameter descriptions": 0.25,
    }
    saturation: Final = 1.2
    length_penalty: Final = 0.75

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._ids = [tool["id"] for tool in tools]
        fields = [{name: terms(text) for name, text in document(tool).fields.items()} for tool in tools]
        usual = {name: sum(len(one[name]) for one in fields) / len(fields) or 1.0 for name in self.weights}
        self._strengths = [self._strength(one, usual) for one in fields]
        self._holders = Counter(term for one in self._strengths for term in one)

    def rank(self, query: str) -> list[str]:
        asked = {term: self._rarity(term) for term in terms(query) if term in self._holders}
        scores = [
            sum(rarity * one[term] / (one[term] + self.saturation) for term, rarity in asked.items() if term in one)
            for one in self._strengths
        ]
        best = sorted(range(len(scores)), key=lambda at: -scores[at])[:_SHOWN]
        return [self._ids[at] for at in best if scores[at] > 0]

    def _rarity(self, term: str) -> float:
        holders = self._holders[term]
        return math.log(1 + (len(self._ids) - holders + 0.5) / (holders + 0.5))

    def _strength(self, fields: Mapping[str, Sequence[str]], usual: Mapping[str, float]) -> dict[str, float]:
        strengths: dict[str, float] = {}
        for name, weight in self.weights.items():
            length = 1 - self.length_penalty + self.length_penalty * len(fields[name]) / usual[name]
            for term, count in Counter(fields[name]).items():
                strengths[term] = strengths.get(term, 0.0) + weight * count / length
        return strengths


def plain(tools: Sequence[Tool]) -> Rank:
    return PlainFieldedBm25(tools).rank


CONTENDERS: Final[Mapping[str, Callable[[Sequence[Tool]], Rank]]] = {FAST: fastmcp, PLAIN: plain, OURS: ours}
