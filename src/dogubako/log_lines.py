"""How an event looks: one line for people, one JSON line for programs, and no secret in either."""

import traceback
from collections.abc import MutableMapping
from typing import Any, NamedTuple

import msgspec

from dogubako.contract.moment import local_text, utc_text
from dogubako.contract.secrets import MASK, Redactor, names_secret
from dogubako.contract.visible import visible
from dogubako.response.plain import clean_text

Event = MutableMapping[str, Any]

_COLOURS = {"FATAL": "\x1b[41m", "ERROR": "\x1b[31m", "WARN": "\x1b[33m", "INFO": "\x1b[32m"}
_RESET = "\x1b[0m"
# A caller or a service may have said megabytes; looking for secrets in all of them would keep the loop.
_LONGEST_TEXT = 50_000
_LONGEST_SECRET = 1_000
# Whatever is made of these stays as it is, so that it can be looked at later.
_UNCHANGING = frozenset({str, int, float, bool, type(None)})
_NUMBERS = frozenset({int, float})


class Entry(NamedTuple):
    """Something that happened, and when."""

    time: float
    level: str
    event: Event


class Lines:
    """Renders entries."""

    def __init__(self, redactor: Redactor, *, colour: bool) -> None:
        self._redactor = redactor
        self._labels = {level: f"{paint}{level:5}{_RESET}" for level, paint in _COLOURS.items()} if colour else {}

    def settled(self, event: Event) -> Event:
        """The event as it is now, whatever its parts turn into before it is rendered.

        The stack of an exception is written down at once: the exception would keep everything that its frames hold.
        """
        for value in event.values():
            if type(value) not in _UNCHANGING:
                return {
                    key: _stack(value) if key == "exc_info" else self._named(key, value) for key, value in event.items()
                }
        return event

    def render(self, entry: Entry) -> tuple[str, bytes]:
        """For people, and for the file."""
        error = entry.event.pop("exc_info", None)
        said = self._text(str(entry.event.pop("event", "")))
        line: dict[str, Any] = {"time": utc_text(entry.time), "level": entry.level, "event": said}
        shown = said
        for key, value in entry.event.items():
            # Numbers are nearly half of all values, and have nothing to hide.
            kind = type(value)
            clean = value if kind in _NUMBERS else self._named(key, value)
            line[key] = clean
            if clean is not None:
                shown += f" {key}={clean}"
        if error is not None:
            line["stack"] = clean_text(self._masked(_stack(error)))
        label = self._labels.get(entry.level) or f"{entry.level:5}"
        # One event is one line, whatever it contains, and only our own colours reach the terminal.
        text = f"{local_text(entry.time)} {label} {visible(shown.rstrip())}\n"
        return text, msgspec.json.encode(line) + b"\n"

    def _masked(self, text: str) -> str:
        """The beginning of a text, without secrets. One that begins before the cut is looked at as a whole."""
        if len(text) <= _LONGEST_TEXT:
            return self._redactor.mask(text)
        return self._redactor.mask(text[: _LONGEST_TEXT + _LONGEST_SECRET])[:_LONGEST_TEXT] + "…"

    def _text(self, text: str) -> str:
        masked = self._masked(text)
        return masked if masked.isascii() else clean_text(masked)

    def _named(self, name: Any, value: Any) -> Any:
        """The value of a field, a header or a pair; its name may say that it is a secret."""
        name = name if isinstance(name, str) else name.decode("latin-1") if isinstance(name, bytes) else ""
        return MASK if value is not None and names_secret(name) else self._clean(value)

    def _clean(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int | float | None):
            return value
        if isinstance(value, list | tuple):
            if len(value) == 2 and isinstance(value[0], str | bytes):
                return [self._clean(value[0]), self._named(*value)]
            return [self._clean(item) for item in value]
        if isinstance(value, dict):
            return {clean_text(str(key)): self._named(key, item) for key, item in value.items()}
        return clean_text(self._masked(str(value)))


def _stack(error: Any) -> str:
    return "".join(traceback.format_exception(error)) if isinstance(error, BaseException) else str(error)
