"""Sum up log lines that repeat: the first of a kind is written at once, then at most one line a second with a count."""

import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final

from dogubako.log_lines import Entry

Kind = tuple[Hashable, ...]

INTERVAL_SECONDS: Final = 1.0
# The last place is for everything that finds no other.
_MOST_KINDS: Final = 100
_OTHERS: Final[Kind] = ("others",)
_MOST_CLIENTS: Final = 5

# Events that strangers can cause as often as they like, and the fields that tell one kind from another.
_REPEATED: Final[Mapping[str, tuple[str, ...]]] = {
    "HTTP error": ("status", "code", "reason"),
    "Access token refused": ("reason",),
    "Tool refused": ("code",),
    "Tool completed": ("code",),
    "Malformed message": (),
}
# Every call has its own line when it ends. Only calls beyond the rate limit are so many that they are summed up.
_COMPLETED_IN_FLOODS: Final = frozenset({"RATE_LIMIT_EXCEEDED"})


def kind_of(entry: Entry) -> Kind | None:
    """What an event has in common with those that it may be summed up with; None if it is always written."""
    event = entry.event
    name = event.get("event")
    fields = _REPEATED.get(name) if isinstance(name, str) else None
    # An error id is what somebody will search the log for.
    if fields is None or event.get("error_id") is not None:
        return None
    if name == "Tool completed" and event.get("code") not in _COMPLETED_IN_FLOODS:
        return None
    return (name, entry.level, *(event.get(field) for field in fields))


@dataclass
class _Repeats:
    """Events of one kind that were not written yet."""

    due: float
    count: int = 0
    last: Entry | None = None
    clients: dict[str, None] = field(default_factory=dict)


class Floods:
    """Holds repeated events back and hands over a summary of them once a second."""

    def __init__(self, write: Callable[[Entry], None]) -> None:
        self._write = write
        self._kinds: dict[Kind, _Repeats] = {}

    def holds_back(self, kind: Kind, entry: Entry) -> bool:
        """Whether the event is counted instead of written. The first of its kind is not."""
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
        """Write the summaries that are due; return whether there will be more to do."""
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
    told = {key: last.event[key] for key in _REPEATED.get(name, ("logger",)) if last.event.get(key) is not None}
    clients = {"clients": list(repeats.clients)} if repeats.clients else {}
    event = {"event": f"{name}: {repeats.count:,} more like this", **told, "count": repeats.count, **clients}
    return Entry(time.time(), last.level, event)
