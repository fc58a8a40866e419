"""Learning from use: a question whose search led to a successful call becomes a phrase of that tool, for its caller.

Off unless the setting says so. What was learned is one file in the data folder of this machine, a line per phrase;
`dogubako tools learned` shows it and `dogubako tools forget` removes it. A caller's questions help only that caller.
"""

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from time import monotonic
from typing import Final

import msgspec
import structlog

from dogubako._lazy import load
from dogubako.contract.call import CallEnd, CallObserver, ToolCall

log = structlog.get_logger("dogubako.engine")

# In the data folder.
LEARNED_FILE: Final = "learned-phrases.jsonl"
# A call this long after a search has probably another reason.
_LED_TO_SECONDS: Final = 600.0
# Of a search so many tools count as found: an agent that calls another one did not choose it from the answer.
_MOST_FOUND: Final = 10
# So many phrases are kept for each caller, and so many callers are remembered between search and call.
MOST_PHRASES: Final = 300
_MOST_CALLERS: Final = 1_000
_LONGEST_PHRASE: Final = 200
# Doors whose caller is the one who started this process; at the others only callers that proved who they are.
_LOCAL_DOORS: Final = frozenset({"python", "stdio", "cli"})


class Phrase(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller asked, and the tool that did it."""

    caller: str
    tool: str
    question: str


class _Search(msgspec.Struct, frozen=True, kw_only=True):
    question: str
    tools: frozenset[str]
    at: float


def learner_of(call: ToolCall) -> str | None:
    """For whom a call is learned from; None where callers cannot be told apart."""
    return call.caller.identity if call.caller.authenticated or call.door in _LOCAL_DOORS else None


class LearnedPhrases(CallObserver):
    """Notes which tools were called after which searches. The file is read again when it has changed."""

    def __init__(self, folder: Path, redact: Callable[[str], str], clock: Callable[[], float] = monotonic) -> None:
        self._path = folder / LEARNED_FILE
        self._redact = redact
        self._clock = clock
        self._searches: dict[str, _Search] = {}
        self._phrases: dict[str, dict[tuple[str, str], None]] = {}
        self._read: tuple[int, int] | None = None

    def of(self, learner: str) -> list[tuple[str, str]]:
        """The tools and questions of one caller, oldest first."""
        self._refresh()
        return list(self._phrases.get(learner, ()))

    def searched(self, learner: str, question: str, tools: Sequence[str]) -> None:
        """Remember what a caller searched for, until it calls one of the tools that were found."""
        while len(self._searches) >= _MOST_CALLERS:
            self._searches.pop(next(iter(self._searches)))
        without_values = load("dogubako.engine.search.values").without_values
        words = " ".join(self._redact(without_values(question, keep_numbers_in_long=False)).split())
        phrase = words[:_LONGEST_PHRASE] if any(letter.isalpha() for letter in words) else ""
        self._searches[learner] = _Search(question=phrase, tools=frozenset(tools[:_MOST_FOUND]), at=self._clock())

    def ended(self, call: ToolCall, end: CallEnd) -> None:
        learner = learner_of(call)
        search = self._searches.get(learner) if learner is not None else None
        if learner is None or search is None or end.code != "OK" or call.name not in search.tools:
            return
        if self._clock() - search.at <= _LED_TO_SECONDS and search.question:
            self._learn(Phrase(caller=learner, tool=call.name, question=search.question))

    def _learn(self, phrase: Phrase) -> None:
        self._refresh()
        known = self._phrases.setdefault(phrase.caller, {})
        if (phrase.tool, phrase.question) in known or len(known) >= MOST_PHRASES:
            return
        known[phrase.tool, phrase.question] = None
        try:
            _append(self._path, phrase)
        except OSError as error:
            log.warning("A learned phrase cannot be written", reason=type(error).__name__)

    def _refresh(self) -> None:
        state = _state_of(self._path)
        if state == self._read:
            return
        self._read = state
        self._phrases = {}
        for one in read_phrases(self._path):
            self._phrases.setdefault(one.caller, {})[one.tool, one.question] = None


def read_phrases(path: Path) -> list[Phrase]:
    """All that was learned, oldest first. A line that cannot be read is left out."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return []
    return [phrase for line in lines if (phrase := _decoded(line)) is not None]


def forget(path: Path, *, tools: Collection[str] = (), callers: Collection[str] = ()) -> int:
    """Remove phrases, of these tools or callers or all of them; return how many were removed."""
    known = read_phrases(path)
    kept = [one for one in known if (tools and one.tool not in tools) or (callers and one.caller not in callers)]
    if len(kept) == len(known):
        return 0
    unfinished = path.with_suffix(".unfinished")
    _write(unfinished, kept)
    unfinished.replace(path)
    return len(known) - len(kept)


def _decoded(line: bytes) -> Phrase | None:
    try:
        return msgspec.json.decode(line, type=Phrase)
    except msgspec.MsgspecError:
        return None


def _state_of(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _append(path: Path, phrase: Phrase) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(path, [phrase], os.O_APPEND)


def _write(path: Path, phrases: Iterable[Phrase], how: int = os.O_TRUNC) -> None:
    # Only its owner reads what people asked.
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | how | os.O_NOFOLLOW, 0o600)
    with os.fdopen(opened, "wb") as file:
        file.write(b"".join(msgspec.json.encode(one) + b"\n" for one in phrases))
