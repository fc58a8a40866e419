"""Terminal output: tables, progress, questions. Colours only on a terminal."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import UnsupportedOperation
from itertools import zip_longest
from typing import Any, Final, NoReturn
from unicodedata import combining, east_asian_width

import click
import msgspec

from dogubako.contract.conversation import (
    ClientLogLevel,
    ElicitRequest,
    ElicitResult,
    InputAnswer,
    InputRequests,
    capability_of,
)
from dogubako.contract.errors import CapabilityRequiredError
from dogubako.contract.redaction import visible

_GAP: Final = "  "
_NARROWEST: Final = 8
_CLEAR_LINE = "\r\x1b[K"


def fail(message: str, hint: str | None = None) -> NoReturn:
    """Print one sentence on stderr and exit."""
    click.echo(f"dogubako: {message}{f' {hint}' if hint else ''}", err=True)
    sys.exit(1)


def forget_what_was_not_printed() -> None:
    """Discard unwritten output: Python would flush it at exit, and fail with its own message and exit code."""
    with suppress(UnsupportedOperation, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def warn(message: str) -> None:
    """Print one sentence on stderr."""
    click.echo(f"dogubako: warning: {message}", err=True)


def print_json(value: Any) -> None:
    """Print one JSON document on stdout."""
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def plain(text: str) -> str:
    """A text of somebody else without characters that steer a terminal or turn its direction: they are spelled out."""
    return "\n".join(visible(line) for line in text.split("\n"))


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str) -> None:
    """Print a table that fits the terminal, or plain columns in a pipe."""
    if not rows:
        click.echo(empty)
        return
    shown = [[plain(cell) for cell in row] for row in rows]
    columns = [
        max(_width(line) for cell in column for line in cell.split("\n")) for column in zip(header, *shown, strict=True)
    ]
    if sys.stdout.isatty():
        columns = _fitted(columns, shutil.get_terminal_size().columns - len(_GAP) * (len(columns) - 1))
    for number, row in enumerate([header, *shown]):
        for line in zip_longest(
            *(_wrapped(cell, width) for cell, width in zip(row, columns, strict=True)), fillvalue=""
        ):
            padded = (f"{part}{' ' * (width - _width(part))}" for part, width in zip(line, columns, strict=True))
            click.secho(_GAP.join(padded).rstrip(), bold=True if number == 0 else None)


def _fitted(columns: Sequence[int], available: int) -> list[int]:
    """Narrow the widest columns until the table fits, but none below `_NARROWEST`."""
    fitted = list(columns)
    while sum(fitted) > available and max(fitted) > _NARROWEST:
        fitted[fitted.index(max(fitted))] -= 1
    return fitted


def _wrapped(text: str, width: int) -> list[str]:
    """The lines of a cell, broken between words, or inside a word that is too long."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split(" ") if _width(paragraph) > width else [paragraph]:
            if line and _width(f"{line} {word}") > width:
                lines.append(line)
                line = word
            else:
                line = f"{line} {word}" if line else word
            while _width(line) > width:
                part = _first_part(line, width)
                lines.append(part)
                line = line[len(part) :]
        lines.append(line)
    return lines


def _first_part(text: str, width: int) -> str:
    end = 1
    while _width(text[: end + 1]) <= width:
        end += 1
    return text[:end]


def _width(text: str) -> int:
    """The columns that a text takes on a terminal: Chinese and Japanese characters take two."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(one) else 2 if east_asian_width(one) in "WF" else 1 for one in text)


def show_progress(done: float, total: float | None, message: str | None) -> None:
    """Write progress over the line before; clear the line at the end."""
    share = f"{done / total:4.0%} " if total else f"{done:g} "
    end = _CLEAR_LINE if done == total else ""
    sys.stderr.write(f"{_CLEAR_LINE}{share}{message or ''}{end}")
    sys.stderr.flush()


class TerminalConversation:
    """Progress on stderr, questions at the prompt. In a pipe no questions are asked."""

    def __init__(self) -> None:
        self._can_show = sys.stderr.isatty()
        self._can_ask = sys.stdin.isatty() and sys.stderr.isatty()

    def supports(self, capability: str) -> bool:
        return capability == "elicitation" and self._can_ask

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        if self._can_show:
            show_progress(done, total, message)

    async def log(self, level: ClientLogLevel, message: str) -> None:
        click.echo(f"{level}: {message}", err=True)

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        answers: dict[str, InputAnswer] = {}
        for key, request in requests.items():
            if not isinstance(request, ElicitRequest) or not self._can_ask:
                raise CapabilityRequiredError(capability_of(request))
            answers[key] = _ask(request)
        return answers


def _ask(question: ElicitRequest) -> ElicitResult:
    click.echo(question.message, err=True)
    fields = question.schema.get("properties", {})
    try:
        return ElicitResult(action="accept", content={name: _fill_in(name, field) for name, field in fields.items()})
    except click.Abort:
        return ElicitResult(action="cancel", content={})


def _fill_in(name: str, field: Mapping[str, Any]) -> Any:
    label = field.get("description") or name
    if field.get("type") == "boolean":
        return click.confirm(label, default=bool(field.get("default", False)), err=True)
    reply = click.prompt(label, default=field.get("default", ""), err=True)
    return reply if field.get("type") == "string" else _parsed(reply)


def _parsed(text: Any) -> Any:
    try:
        return msgspec.json.decode(str(text))
    except msgspec.DecodeError:
        return text
