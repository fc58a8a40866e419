"""Remember the last calls in memory, for the pages of the console. Bounded in number and in size."""

import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

import msgspec

from dogubako.contract.call_steps import CallStep
from dogubako.contract.errors import DogubakoError
from dogubako.contract.redaction import Redactor
from dogubako.engine.events import EndedCall, Subscribers
from dogubako.response.jsonable import clean_text
from dogubako.transports.console.statistics import Timeline

# "No results" is an answer, and a question to the user is a part of one.
GOOD_CODES: Final = frozenset({"OK", "NO_RESULTS", "INPUT_REQUIRED", "TASK"})
_LONGEST_NAME: Final = 64
_LONGEST_MESSAGE: Final = 300
# Arguments and answers are large, so fewer of them are kept.
_MOST_VALUES: Final = 500
_LONGEST_VALUE: Final = 4_000


class CallRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One call that has ended."""

    id: str
    at: float
    ms: float
    tool: str
    caller: str
    caller_id: str
    door: str
    code: str
    tokens: int = 0
    trimmed: bool = False
    changing: bool = False
    via: str | None = None
    pack: str | None = None
    message: str | None = None
    hint: str | None = None
    error_id: str | None = None
    retryable: bool = False
    steps: tuple[CallStep, ...] = ()

    @property
    def failed(self) -> bool:
        return self.code not in GOOD_CODES


class CallValues(msgspec.Struct, frozen=True, gc=False):
    """Arguments and answer of a call, masked and cut. Kept only where the operator allows it."""

    arguments: str
    answer: str


class CallRecorder:
    """The last calls, the newest last, and totals of the last day."""

    def __init__(self, most: int, redactor: Redactor, *, keep_values: bool = False) -> None:
        self._records: deque[CallRecord] = deque(maxlen=most)
        self._values: dict[str, CallValues] = {}
        self._redactor = redactor
        self.keeps_values = keep_values
        self.timeline = Timeline()
        self.since = time.time()
        # Counts batches: whoever watches compares it.
        self.generation = 0
        self._changed: Subscribers[int] = Subscribers()
        # Told of the calls of this process.
        self.recorded: Subscribers[Sequence[CallRecord]] = Subscribers()
        # Called by whoever is about to show calls; other processes may have some.
        self.look: Callable[[], Awaitable[None]] = _nobody_else
        self._taken: dict[str, None] = {}

    def add(self, batch: Sequence[EndedCall]) -> None:
        """Remember a batch of calls. A listener of `watch_calls`."""
        # Most calls of a batch are of the same tools and callers.
        names: dict[str, str] = {}
        callers: dict[int, tuple[str, str]] = {}
        records = [self._record(ended, names, callers) for ended in batch]
        self._remember(records)
        if self.keeps_values:
            for ended in batch:
                self._keep_values(ended)
        self.recorded.tell(records)

    def take(self, records: Sequence[CallRecord]) -> None:
        """Remember calls of another process, each once."""
        new = [one for one in records if one.id not in self._taken]
        if not new:
            return
        self._taken.update(dict.fromkeys(one.id for one in new))
        for known in [*islice(self._taken, max(0, len(self._taken) - (self._records.maxlen or 0)))]:
            del self._taken[known]
        is_late = bool(self._records) and new[0].at < self._records[-1].at
        self._remember(new)
        if is_late:
            self._records = deque(sorted(self._records, key=lambda one: one.at), self._records.maxlen)

    def _remember(self, records: Sequence[CallRecord]) -> None:
        self._records.extend(records)
        self.timeline.add(records)
        self.generation += 1
        self._changed.tell(self.generation)

    def subscribe(self, listener: Callable[[int], None]) -> Callable[[], None]:
        """Call the listener after every batch, until the returned function is called."""
        return self._changed.add(listener)

    def all(self) -> list[CallRecord]:
        """A copy, the oldest first. Other threads may read it while calls go on."""
        return list(self._records)

    def newest(self) -> Iterator[CallRecord]:
        return reversed(self.all())

    def find(self, call_id: str) -> CallRecord | None:
        return next((one for one in self.newest() if one.id == call_id), None)

    def values_of(self, call_id: str) -> CallValues | None:
        return self._values.get(call_id)

    def __len__(self) -> int:
        return len(self._records)

    def _record(self, ended: EndedCall, names: dict[str, str], callers: dict[int, tuple[str, str]]) -> CallRecord:
        at, call, end, steps = ended.at, ended.call, ended.end, ended.steps
        result = end.result
        error = result.error if result is not None else None
        # The batch keeps its callers, so that no other gets the identity of one.
        if (caller := callers.get(id(call.caller))) is None:
            shown = clean_text(call.caller.name[:_LONGEST_NAME])
            caller = callers[id(call.caller)] = (shown, call.caller.identity)
        if (tool := names.get(call.name)) is None:
            tool = names[call.name] = self._name(call.name)
        record = CallRecord(
            id=call.id,
            at=at - end.milliseconds / 1000,
            ms=end.milliseconds,
            tool=tool,
            caller=caller[0],
            caller_id=caller[1],
            door=call.door,
            code=end.code,
            tokens=result.tokens if result is not None else 0,
            trimmed=result.trimmed if result is not None else False,
            changing=end.changing,
            via=call.via,
            pack=end.pack,
            steps=tuple(steps) if steps else (),
        )
        return record if error is None else msgspec.structs.replace(record, **_facts(error))

    def _name(self, name: str) -> str:
        """A caller may send a secret in place of a name."""
        return clean_text(self._redactor.mask_all(name[:_LONGEST_NAME]))

    def _keep_values(self, ended: EndedCall) -> None:
        arguments = _text(dict(ended.call.parameters))
        answer = ended.end.result.text if ended.end.result is not None else ""
        while len(self._values) >= _MOST_VALUES:
            del self._values[next(iter(self._values))]
        self._values[ended.call.id] = CallValues(self._masked(arguments), self._masked(answer))

    def _masked(self, text: str) -> str:
        # Cut after masking, so that no half of a secret is left; what is far beyond the end need not be masked.
        return self._redactor.mask_all(text[: 2 * _LONGEST_VALUE])[:_LONGEST_VALUE]


def _facts(error: DogubakoError) -> dict[str, Any]:
    return {
        "message": error.message[:_LONGEST_MESSAGE],
        "hint": error.hint[:_LONGEST_MESSAGE] if error.hint else None,
        "error_id": error.error_id,
        "retryable": error.retryable,
    }


async def _nobody_else() -> None:
    """This process has all calls."""


def _text(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError, UnicodeError):
        return "?"
