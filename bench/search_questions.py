"""Everyday questions: about our own tools, about nothing that we have, and about the tools of other people's servers.

`bench/questions` has two halves of each. `tuning` may be looked at and fitted to; of `checking` only the sums are
looked at. `fresh` and `confirm` were new once, and their first score is written down in `FIRST_CONTACT`; by now they
are tuning questions. A line has the keys of the acceptable tools (`-` where none is) and the question.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from bench.machine import ROOT
from dogubako.engine.registration import RegisterOptions
from dogubako.engine.registry import ToolRegistry
from dogubako.engine.search.index import ToolIndex
from dogubako.engine.search.intent import asks_for_destruction
from dogubako.engine.search.japanese import is_japanese
from dogubako.engine.search.match import Ranked
from dogubako.engine.search.text import Document, document_of
from dogubako.packs import PACKS

QUESTIONS = ROOT / "bench" / "questions"
SERVERS = ROOT.parent / "shared" / "labs" / "gateway" / "lists"
HALVES = ("tuning", "checking")

Find = Callable[[str], Ranked]

# The first score of questions that were written without looking at any word of the search: right first, among three,
# called doubtful; and of those without a tool, doubted. Never changed, whatever was mended afterwards.
FIRST_CONTACT: Final = (
    ("own-fresh, English", "72.7 / 90.0 / 10.0 (110)"),
    ("own-fresh, Japanese", "80.3 / 86.4 / 9.1 (66)"),
    ("own-fresh, without a tool", "87.5 doubted (32)"),
    ("fleet-fresh, English", "41.7 / 65.0 / 18.3 (60)"),
    ("fleet-fresh, Japanese", "38.3 / 60.0 / 21.7 (60)"),
    ("own-confirm, English, after mending", "78.0 / 94.0 / 10.0 (50)"),
    ("own-confirm, Japanese, after mending", "86.7 / 96.7 / 13.3 (30)"),
    ("own-confirm, without a tool, after mending", "86.7 doubted (15)"),
    # Written at once in three thirds; A and B are in the tuning half now, C in the checking half. Words and questions
    # are of one hand again, so these flatter too.
    ("thirds, A, English", "75.0 / 87.5 / 12.5 (72)"),
    ("thirds, A, Japanese", "90.7 / 100.0 / 0.0 (43)"),
    ("thirds, A, without a tool", "80.0 doubted (20)"),
    ("thirds, B, English, after mending", "93.0 / 97.2 / 2.8 (71)"),
    ("thirds, B, Japanese, after mending", "97.7 / 100.0 / 0.0 (44)"),
    ("thirds, B, without a tool, after mending", "85.0 doubted (20)"),
    ("thirds, C, English, after mending twice", "91.7 / 100.0 / 2.8 (72)"),
    ("thirds, C, Japanese, after mending twice", "90.9 / 97.7 / 2.3 (44)"),
    ("thirds, C, without a tool, after mending twice", "100.0 doubted (20)"),
    # Example prompts from the guides of other people's servers for the same services, which are not kept here.
    ("prompts of others, first set, English, after the thirds' A and B", "80.4 / 91.1 / 17.9 (56)"),
    ("prompts of others, second set, English, after mending", "75.0 / 92.3 / 3.8 (52)"),
    ("prompts of others, third set, English, after mending", "71.4 / 92.9 / 7.1 (28)"),
    # Four sets, each written before it was measured. Words were written after the first three by the same hand, so
    # their checking halves flatter since; for `own-situations` no word was written.
    ("own-voices, English, both halves", "88.8 / 98.1 / 6.7 (268)"),
    ("own-voices, Japanese, both halves", "94.0 / 99.2 / 1.5 (133)"),
    ("own-stories, English, both halves", "69.0 / 85.1 / 11.9 (168)"),
    ("own-stories, Japanese, both halves", "84.2 / 93.0 / 15.8 (57)"),
    ("own-idioms, English", "50.5 / 67.3 / 31.8 (107)"),
    ("own-idioms, Japanese", "48.8 / 62.8 / 37.2 (43)"),
    ("own-situations, English, before", "60.0 / 75.4 / 40.0 (65)"),
    ("own-situations, Japanese, before", "53.3 / 80.0 / 36.7 (30)"),
    ("own-situations, English, after words for the others", "61.5 / 80.0 / 35.4 (65)"),
    ("own-situations, Japanese, after words for the others", "56.7 / 76.7 / 30.0 (30)"),
)


@dataclass(frozen=True, kw_only=True)
class Question:
    """What somebody asks, and which tools are right."""

    text: str
    tools: frozenset[str]

    @property
    def language(self) -> str:
        return "ja" if is_japanese(self.text) else "en"


@dataclass(frozen=True, kw_only=True)
class Hits:
    """In percent: a right tool first, among the first three, and called doubtful although it is there."""

    first: float
    among_three: float
    doubted: float
    count: int


@dataclass(frozen=True, kw_only=True)
class Doubts:
    """Questions without a tool: in percent, how many are answered with doubt."""

    doubted: float
    count: int


@dataclass(frozen=True, kw_only=True)
class Everyday:
    """One half of the questions: who asked what of which tools, and how it went."""

    half: str
    hits: Mapping[str, Hits]
    without_tool: Doubts
    # Questions whose first tool destroys something although nobody asked for that.
    harmful: int


def questions(name: str) -> list[Question]:
    lines = (QUESTIONS / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    return [Question(text=text, tools=frozenset(() if keys == "-" else keys.split())) for keys, text in rows]


@cache
def own_documents() -> tuple[Document, ...]:
    """Our own tools, as the registry hands them to the index."""
    registry = ToolRegistry()
    for pack in PACKS:
        for one in pack.tools:
            options = RegisterOptions(pack=pack.name, words=pack.search_words, everyday_words=pack.everyday_words)
            registry.register(one() if isinstance(one, type) else one, options)
    return tuple(document_of(entry) for entry in registry.list())


@cache
def fleet_documents() -> tuple[Document, ...]:
    """The tools of other people's servers, as a gateway would register them."""
    return tuple(
        _foreign(path.stem, tool, _server_words(path))
        for path in sorted(SERVERS.glob("*.json"))
        for tool in _listed(path)
    )


def index_of(documents: Iterable[Document]) -> ToolIndex:
    index = ToolIndex()
    index.put(*documents)
    return index


def hits(find: Find, asked: Sequence[Question]) -> Hits:
    """How often a right tool is found."""
    found = [(find(one.text), one.tools) for one in asked]
    places = [next((at for at, (key, _) in enumerate(one.hits) if key in tools), 99) for one, tools in found]
    return Hits(
        first=_percent(at < 1 for at in places),
        among_three=_percent(at < 3 for at in places),
        doubted=_percent(one.is_doubtful for one, _ in found),
        count=len(asked),
    )


def doubts(find: Find, asked: Sequence[Question]) -> Doubts:
    return Doubts(doubted=_percent(find(one.text).is_doubtful for one in asked), count=len(asked))


@dataclass(frozen=True, kw_only=True)
class Several:
    """Questions that need several tools: in percent, how often all of them are among the first eight and ten."""

    among_eight: float
    among_ten: float
    count: int


def several() -> dict[str, Several]:
    """For each language, the questions of `own-several.tsv`; there a tool may be one of several (`a|b`)."""
    index = index_of(own_documents())
    rows = [line.split("\t") for line in (QUESTIONS / "own-several.tsv").read_text(encoding="utf-8").splitlines()]
    found: dict[str, Several] = {}
    for language in ("en", "ja"):
        chosen = [row for row in rows if ("ja" if is_japanese(row[1]) else "en") == language]
        eight, ten = (_percent(_has_all(index, row, most) for row in chosen) for most in (8, 10))
        found[language] = Several(among_eight=eight, among_ten=ten, count=len(chosen))
    return found


def _has_all(index: ToolIndex, row: Sequence[str], most: int) -> bool:
    ranked = index.find(row[1])
    shown = {key for key, _ in ranked.hits[:most]}
    return not ranked.is_doubtful and all(shown.intersection(one.split("|")) for one in row[0].split())


def everyday() -> list[Everyday]:
    """Both halves, asked of our own tools and, where they are at hand, of other people's."""
    own, documents = index_of(own_documents()), {one.key: one for one in own_documents()}
    servers = {"own": own, **({"fleet": index_of(fleet_documents())} if SERVERS.is_dir() else {})}
    found = []
    for half in HALVES:
        asked = questions(f"own-{half}")
        sets = {
            f"{name} {language}": of_language(questions(f"{name}-{half}"), language)
            for name in servers
            for language in ("en", "ja")
        }
        firsts = [
            (one, ranked.hits[0][0]) for one in asked if (ranked := own.find(one.text)).hits and not ranked.is_doubtful
        ]
        found.append(
            Everyday(
                half=half,
                hits={name: hits(servers[name.split()[0]].find, chosen) for name, chosen in sets.items()},
                without_tool=doubts(own.find, without_tool(asked)),
                harmful=sum(documents[key].destroys and not asks_for_destruction(one.text) for one, key in firsts),
            )
        )
    return found


def of_language(asked: Iterable[Question], language: str) -> list[Question]:
    return [one for one in asked if one.tools and one.language == language]


def without_tool(asked: Iterable[Question]) -> list[Question]:
    return [one for one in asked if not one.tools]


def _listed(path: Path) -> list[dict[str, Any]]:
    listed = json.loads(path.read_text(encoding="utf-8"))["tools"]
    tools: list[dict[str, Any]] = listed["tools"] if isinstance(listed, dict) else listed
    return tools


def _server_words(path: Path) -> str:
    """What a server says of itself: its instructions, and what its prompts are for."""
    answers = json.loads(path.read_text(encoding="utf-8"))
    prompts = (answers.get("prompts") or {}).get("prompts", [])
    said = [answers["initialize"].get("instructions") or "", *(one.get("description") or "" for one in prompts)]
    return " ".join(said)[:600]


def _foreign(server: str, tool: Mapping[str, Any], words: str) -> Document:
    properties: Mapping[str, Any] = tool["inputSchema"].get("properties", {})
    described = [str(one.get("description", "")) for one in properties.values() if isinstance(one, dict)]
    hints = tool.get("annotations") or {}
    return Document(
        key=f"{server}/{tool['name']}",
        name=tool["name"],
        group=server,
        fields={
            "name": tool["name"],
            "description": tool.get("description") or "",
            "category": server,
            "server": words,
            "parameters": " ".join(properties),
            "parameter descriptions": " ".join(described),
        },
        destroys=hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True,
        act="read" if hints.get("readOnlyHint") is True else None,
        requires=tuple(tool["inputSchema"].get("required", ())),
    )


def _percent(found: Iterable[bool]) -> float:
    counted = list(found)
    return 100 * sum(counted) / len(counted) if counted else 0.0
