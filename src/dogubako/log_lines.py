"""Log lines: limited in length, redacted, and aggregated when the same one repeats often."""

import time
import traceback
from collections.abc import Callable, Hashable, Mapping, MutableMapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from dogubako.contract.offload import has_more_values
from dogubako.contract.redaction import MASK, Redactor, names_secret, visible
from dogubako.contract.timestamps import local_and_utc, local_text, utc_text
from dogubako.response.jsonable import clean_text, plain_float

Event = MutableMapping[str, Any]

_COLOURS = {"FATAL": "\x1b[41m", "ERROR": "\x1b[31m", "WARN": "\x1b[33m", "INFO": "\x1b[32m"}
_RESET = "\x1b[0m"
# A value may have megabytes; searching all of it for secrets would block the event loop.
_LONGEST_TEXT = 50_000
_LONGEST_SECRET = 1_000
# Of a text, so many characters count as one value.
_VALUE_CHARACTERS = 64
_MOST_VALUES = 2_000
_MOST_FRAMES = 100
_MOST_CAUSES = 50
# The line of a call that ended: nearly all lines of a busy server.
_COMPLETED = "Tool completed"
_REPEATED_KEYS = ("tool", "door", "caller", "code")
_KEYS_OF_COMPLETED = (*_REPEATED_KEYS, "ms", "tokens", "call_id")
_OF_COMPLETED_CALLS = frozenset({(*_KEYS_OF_COMPLETED, "event"), (*_KEYS_OF_COMPLETED, "count", "event")})
_MOST_BEGUN = 1_000
_INFO = "INFO"
# Immutable types, which can be rendered later.
_UNCHANGING = frozenset({str, int, float, bool, type(None)})
_NUMBERS = frozenset({int, float})
_encode = msgspec.json.Encoder().encode


class Entry(NamedTuple):
    """A log event and its time."""

    time: float
    level: str
    event: Event


# A call that ended well: time, tool, door, caller, milliseconds, tokens, id, number of results. There is one for every
# call, so it is a plain tuple.
EndedCallEntry = tuple[float, str, str, str, float, int, str, int | None]


class Lines:
    """Renders entries."""

    def __init__(self, redactor: Redactor, *, colour: bool) -> None:
        self._redactor = redactor
        # Beginnings of lines, and the generation of the redactor that masked them.
        self._begun: dict[tuple[str, ...], tuple[str, str]] = {}
        self._begun_of = redactor.generation
        self._labels = {level: f"{paint}{level:5}{_RESET}" for level, paint in _COLOURS.items()} if colour else {}

    def settled(self, event: Event) -> Event:
        """A copy of the event that does not change before it is rendered.

        The traceback is rendered at once: the exception would keep the values of its frames alive.
        """
        for value in event.values():
            if type(value) not in _UNCHANGING:
                return {
                    key: _stack(value) if key == "exc_info" else self._named(key, value) for key, value in event.items()
                }
        return event

    def render(self, entry: Entry) -> tuple[str, bytes]:
        """The line for the terminal, and the line for the file."""
        is_of_call = entry.level == _INFO and tuple(entry.event) in _OF_COMPLETED_CALLS
        return (self._completed(entry) if is_of_call else None) or self._any(entry)

    def _completed(self, entry: Entry) -> tuple[str, bytes] | None:
        """The lines of an event that tells of a call that ended; None if it has unusual values."""
        event = entry.event
        if event["event"] != _COMPLETED:
            return None
        tool, door, caller, code, ms, tokens, call_id, *_ = event.values()
        count = event.get("count")
        if count is None and "count" in event:
            return None
        return self._lines_of_call((entry.time, tool, door, caller, ms, tokens, call_id, count), code)

    def render_all(self, entries: Sequence["Entry | EndedCallEntry"]) -> tuple[str, list[bytes]]:
        """The lines of all entries: one text for the terminal, and the lines for the file."""
        # One look for secrets in the ids of all calls instead of one for each.
        ids = " ".join([one[6] for one in entries if not isinstance(one, Entry)])
        masked = self._redactor.mask_configured(ids) != ids
        rendered = [
            self.render(one) if isinstance(one, Entry) else self.render_call(one, masked=masked) for one in entries
        ]
        return "".join([for_people for for_people, _ in rendered]), [for_file for _, for_file in rendered]

    def render_call(self, call: EndedCallEntry, *, masked: bool = True) -> tuple[str, bytes]:
        """The lines of a call that ended well. `masked`: its id may hold a secret."""
        if (lines := self._lines_of_call(call, "OK", masked=masked)) is not None:
            return lines
        moment, tool, door, caller, ms, tokens, call_id, count = call
        values = (_COMPLETED, tool, door, caller, "OK", ms, tokens, call_id, count)
        event = dict(zip(("event", *_KEYS_OF_COMPLETED, "count"), values, strict=True))
        if count is None:
            del event["count"]
        return self._any(Entry(moment, _INFO, self.settled(event)))

    def _lines_of_call(self, call: EndedCallEntry, code: Any, *, masked: bool = True) -> tuple[str, bytes] | None:
        """The lines of a call that ended, with its repeated part from a memo. They equal those of `_any`."""
        moment, tool, door, caller, duration, tokens, call_id, count = call
        if not (
            type(duration) is float
            and (ms := plain_float(duration)) is not None
            and type(tokens) is int
            and (count is None or type(count) is int)
            and type(call_id) is str
            and call_id.isalnum()
            and call_id.isascii()
        ):
            return None
        begun = self._begun_line((tool, door, caller, code))
        if begun is None:
            return None
        if masked:
            # Of a single word `mask_all` masks the same, and would keep each id for a while.
            call_id = self._redactor.mask_configured(call_id)
        local, utc = local_and_utc(moment)
        if count is None:
            shown = f"{local} {begun[0]} ms={ms} tokens={tokens} call_id={call_id}\n"
            stored = f'{{"time":"{utc}",{begun[1]},"ms":{ms},"tokens":{tokens},"call_id":"{call_id}"}}\n'
        else:
            shown = f"{local} {begun[0]} ms={ms} tokens={tokens} call_id={call_id} count={count}\n"
            numbers = f'"ms":{ms},"tokens":{tokens},"call_id":"{call_id}","count":{count}'
            stored = f'{{"time":"{utc}",{begun[1]},{numbers}}}\n'
        return shown, stored.encode()

    def _begun_line(self, key: tuple[str, ...]) -> tuple[str, str] | None:
        """The repeated part of both lines, from the memo; None if it is not made of plain texts."""
        if self._redactor.generation != self._begun_of:
            # It has learned a secret, which may be part of what was rendered before.
            self._begun.clear()
            self._begun_of = self._redactor.generation
        try:
            begun = self._begun.get(key)
        except TypeError:
            # Somebody logs a list under the name of a caller.
            return None
        if begun is None and all(type(value) is str for value in key):
            if len(self._begun) >= _MOST_BEGUN:
                self._begun.clear()
            begun = self._begun[key] = self._beginning(key)
        return begun

    def _beginning(self, values: tuple[str, ...]) -> tuple[str, str]:
        """What the lines of many calls have in common: everything between the time and the milliseconds."""
        repeated = {key: self._named(key, value) for key, value in zip(_REPEATED_KEYS, values, strict=True)}
        label = self._labels.get(_INFO) or f"{_INFO:5}"
        shown = " ".join([self._text(_COMPLETED), *(f"{key}={value}" for key, value in repeated.items())])
        words = {"level": _INFO, "event": self._text(_COMPLETED), **repeated}
        return f"{label} {visible(shown)}", _encode(words)[1:-1].decode()

    def _any(self, entry: Entry) -> tuple[str, bytes]:
        error = entry.event.pop("exc_info", None)
        message = self._text(str(entry.event.pop("event", "")))
        line: dict[str, Any] = {"time": utc_text(entry.time), "level": entry.level, "event": message}
        shown = message
        for key, value in entry.event.items():
            # Numbers are nearly half of all values, and hold no secrets.
            kind = type(value)
            clean = value if kind in _NUMBERS else self._named(key, value)
            line[key] = clean
            if clean is not None:
                shown += f" {key}={clean}"
        if error is not None:
            line["stack"] = clean_text(self._masked(_stack(error)))
        label = self._labels.get(entry.level) or f"{entry.level:5}"
        # One event is one line, and only our own colours reach the terminal.
        text = f"{local_text(entry.time)} {label} {visible(shown.rstrip())}\n"
        return text, _encode(line) + b"\n"

    def _masked(self, text: str) -> str:
        """The beginning of a text, redacted. A secret that crosses the cut is masked as a whole."""
        if len(text) <= _LONGEST_TEXT:
            return self._redactor.mask_all(text)
        return self._redactor.mask_all(text[: _LONGEST_TEXT + _LONGEST_SECRET])[:_LONGEST_TEXT] + "…"

    def _text(self, text: str) -> str:
        masked = self._masked(text)
        return masked if masked.isascii() else clean_text(masked)

    def _named(self, name: Any, value: Any) -> Any:
        """The value of a field, a header or a pair, masked if its name says that it is a secret."""
        name = name if isinstance(name, str) else name.decode("latin-1") if isinstance(name, bytes) else ""
        return MASK if value is not None and names_secret(name) else self._clean(value)

    def _clean(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int | float | None):
            return value
        if has_more_values(value, _MOST_VALUES, _VALUE_CHARACTERS):
            # A service may have answered with millions; to write them would block the event loop.
            return f"[{type(value).__name__}, too large to be logged]"
        if isinstance(value, list | tuple):
            if len(value) == 2 and isinstance(value[0], str | bytes):
                return [self._clean(value[0]), self._named(*value)]
            return [self._clean(item) for item in value]
        if isinstance(value, dict):
            return {clean_text(str(key)): self._named(key, item) for key, item in value.items()}
        return clean_text(self._masked(str(value)))


def _stack(error: Any) -> str:
    if not isinstance(error, BaseException):
        return str(error)
    if _is_short(error):
        return "".join(traceback.format_exception(error, limit=-_MOST_FRAMES))
    frames = "".join(traceback.format_tb(error.__traceback__, limit=-_MOST_FRAMES))
    first = error.args[0] if error.args else None
    message = first[:_LONGEST_TEXT] if isinstance(first, str) else "[too large to be logged]"
    return f"{frames}{type(error).__qualname__}: {message}…"


def _is_short(error: BaseException) -> bool:
    """Whether an exception, its causes and its group can be written without blocking the event loop."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        told = [one.args, getattr(one, "__notes__", ())]
        members = one.exceptions if isinstance(one, BaseExceptionGroup) else ()
        if len(seen) + len(members) > _MOST_CAUSES or has_more_values(told, _MOST_VALUES, _VALUE_CHARACTERS):
            return False
        waiting += (one.__cause__, one.__context__, *members)
    return True


Kind = tuple[Hashable, ...]

INTERVAL_SECONDS: Final = 1.0
# The last place is for all other kinds.
_MOST_KINDS: Final = 100
_OTHERS: Final[Kind] = ("others",)
_MOST_CLIENTS: Final = 5

# Events that unauthenticated callers can cause in any number, and the fields that distinguish their kinds.
_REPEATED: Final[Mapping[str, tuple[str, ...]]] = {
    "HTTP error": ("status", "code", "reason"),
    "Access token refused": ("reason",),
    "Tool refused": ("code",),
    "Tool completed": ("code",),
    "Malformed message": (),
}
# Every call is logged when it ends. Only calls beyond the rate limit are aggregated.
_COMPLETED_IN_FLOODS: Final = frozenset({"RATE_LIMIT_EXCEEDED"})


def kind_of(entry: Entry) -> Kind | None:
    """The kind of an event for aggregation; None if it is always written."""
    event = entry.event
    name = event.get("event")
    fields = _REPEATED.get(name) if isinstance(name, str) else None
    # An error id is searched for in the log.
    if fields is None or event.get("error_id") is not None:
        return None
    if name == "Tool completed" and event.get("code") not in _COMPLETED_IN_FLOODS:
        return None
    return (name, entry.level, *(event.get(field) for field in fields))


class _Repeats(msgspec.Struct):
    """Unwritten events of one kind."""

    due: float
    count: int = 0
    last: Entry | None = None
    clients: dict[str, None] = {}


class Floods:
    """Aggregates repeated events and writes a summary once a second."""

    def __init__(self, write: Callable[[Entry], None]) -> None:
        self._write = write
        self._kinds: dict[Kind, _Repeats] = {}

    def holds_back(self, kind: Kind, entry: Entry) -> bool:
        """Whether the event is counted instead of written. The first of its kind is written."""
        if kind not in self._kinds and len(self._kinds) >= _MOST_KINDS:
            kind = _OTHERS
        repeats = self._kinds.get(kind)
        if repeats is None:
            self._kinds[kind] = _Repeats(due=time.monotonic() + INTERVAL_SECONDS)
            return False
        repeats.count += 1
        repeats.last = entry
        if len(repeats.clients) < _MOST_CLIENTS and (client := entry.event.get("client")) is not None:
            repeats.clients[str(client)] = None
        return True

    def tell(self, *, all_of_them: bool = False) -> bool:
        """Write the summaries that are due; return whether more will follow."""
        now = time.monotonic()
        for kind, repeats in list(self._kinds.items()):
            if not all_of_them and now < repeats.due:
                continue
            if repeats.last is None:
                del self._kinds[kind]
                continue
            self._kinds[kind] = _Repeats(due=now + INTERVAL_SECONDS)
            self._write(repeats.last if repeats.count == 1 else _summary(repeats, repeats.last))
        return bool(self._kinds)


def _summary(repeats: _Repeats, last: Entry) -> Entry:
    name = str(last.event.get("event", ""))
    fields = {key: last.event[key] for key in _REPEATED.get(name, ("logger",)) if last.event.get(key) is not None}
    clients = {"clients": list(repeats.clients)} if repeats.clients else {}
    event = {"event": f"{name}: {repeats.count:,} more like this", **fields, "count": repeats.count, **clients}
    return Entry(time.time(), last.level, event)
