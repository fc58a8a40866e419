"""Terminal output: tables, progress, questions. Colours only on a terminal."""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import UnsupportedOperation
from typing import Any, NoReturn

import msgspec
import typer

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

_CLEAR_LINE = "\r\x1b[K"


def fail(message: str, hint: str | None = None) -> NoReturn:
    """Print one sentence on stderr and exit."""
    typer.echo(f"dogubako: {message}{f' {hint}' if hint else ''}", err=True)
    sys.exit(1)


def forget_what_was_not_printed() -> None:
    """Discard unwritten output: Python would flush it at exit, and fail with its own message and exit code."""
    with suppress(UnsupportedOperation, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def warn(message: str) -> None:
    """Print one sentence on stderr."""
    typer.echo(f"dogubako: warning: {message}", err=True)


def print_json(value: Any) -> None:
    """Print one JSON document on stdout."""
    typer.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def plain(text: str) -> str:
    """A text of somebody else without characters that steer a terminal or turn its direction: they are spelled out."""
    return "\n".join(visible(line) for line in text.split("\n"))


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str) -> None:
    """Print a table that fits the terminal, or plain columns in a pipe."""
    # Slow to import, and needed only for tables.
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    if not rows:
        typer.echo(empty)
        return
    console = Console(width=None if sys.stdout.isatty() else 10_000, highlight=False)
    table = Table(*header, box=None, pad_edge=False, header_style="bold", show_edge=False)
    for row in rows:
        table.add_row(*(plain(cell).replace("[", r"\[") for cell in row))
    console.print(table)


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
        typer.echo(f"{level}: {message}", err=True)

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        answers: dict[str, InputAnswer] = {}
        for key, request in requests.items():
            if not isinstance(request, ElicitRequest) or not self._can_ask:
                raise CapabilityRequiredError(capability_of(request))
            answers[key] = _ask(request)
        return answers


def _ask(question: ElicitRequest) -> ElicitResult:
    typer.echo(question.message, err=True)
    fields = question.schema.get("properties", {})
    try:
        return ElicitResult(action="accept", content={name: _fill_in(name, field) for name, field in fields.items()})
    except typer.Abort:
        return ElicitResult(action="cancel", content={})


def _fill_in(name: str, field: Mapping[str, Any]) -> Any:
    label = field.get("description") or name
    if field.get("type") == "boolean":
        return typer.confirm(label, default=bool(field.get("default", False)), err=True)
    reply = typer.prompt(label, default=field.get("default", ""), err=True)
    return reply if field.get("type") == "string" else _parsed(reply)


def _parsed(text: Any) -> Any:
    try:
        return msgspec.json.decode(str(text))
    except msgspec.DecodeError:
        return text
