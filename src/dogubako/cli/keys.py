"""`dogubako keys create|list|revoke`."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from dogubako.cli.options import AsJson, Chosen, Config, Tools, friendly
from dogubako.cli.scope_doubts import doubts
from dogubako.cli.spans import SPANS, read_span
from dogubako.cli.terminal import fail, forget_what_was_not_printed, print_json, print_table, warn
from dogubako.gate.keys import ApiKey, KeysError, KeyStore
from dogubako.gate.scopes import is_scope

app = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True)

_SCOPES = "read, write, destroy, admin; redmine:read and so on for one pack; tool:list_* for tools by name."


@app.command()
@friendly
def create(
    name: Annotated[str, typer.Option("--name", help="Whose key it is; the log and the audit log show it.")],
    scope: Annotated[list[str], typer.Option("--scope", help=f"What it may do: {_SCOPES} May be given several times.")],
    expires_in: Annotated[
        str | None,
        typer.Option("--expires-in", metavar="SPAN", help=f"How long it is valid, as {SPANS}; for ever without it."),
    ] = None,
    tools: Tools = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Make a key. It is shown once and kept as a hash."""
    name = name.strip()
    if not name or len(name) > 100 or not name.isprintable():
        fail("The name must have 1 to 100 printable characters.")
    scopes = [part.strip() for one in scope for part in one.split(",") if part.strip()]
    if unknown := [one for one in scopes if not is_scope(one)]:
        fail(f"Unknown scope: {', '.join(unknown)}.", f"Scopes: {_SCOPES}")
    if not scopes:
        fail("A key needs at least one scope.", f"Scopes: {_SCOPES}")
    store = _store(config)
    try:
        secret, key = store.create(name, scopes, _span(expires_in))
    except KeysError as error:
        fail(error.message, error.hint)
    with _revoked_unless_shown(store, key):
        if as_json:
            print_json({"key": secret, **_shown(key)})
        else:
            typer.echo(secret)
    if not as_json:
        typer.echo(_about(key), err=True)
    for doubt in doubts(key.scopes, config, tools or ()):
        warn(doubt)


@app.command("list")
@friendly
def list_keys(config: Config = None, as_json: AsJson = False) -> None:
    """List keys: names, scopes, states. Never the keys themselves."""
    try:
        keys = _store(config).all()
    except KeysError as error:
        fail(error.message, error.hint)
    if as_json:
        print_json([_shown(key) for key in keys])
        return
    rows = [
        (key.id, key.name, key.state(datetime.now(UTC)), ", ".join(key.scopes), _day(key.created), _day(key.expires))
        for key in keys
    ]
    print_table(("Id", "Name", "State", "Scopes", "Created", "Expires"), rows, empty="No keys.")


@app.command()
@friendly
def revoke(
    which: Annotated[str, typer.Argument(help="Id or name of the key.")], config: Config = None, as_json: AsJson = False
) -> None:
    """End a key. A running server notices within a second."""
    try:
        key = _store(config).revoke(which)
    except KeysError as error:
        fail(error.message, error.hint)
    if as_json:
        print_json(_shown(key))
        return
    typer.echo(f"'{key.name}' ({key.id}) is revoked.")


def _store(config: Config) -> KeyStore:
    return KeyStore(Chosen(config=config).sources().load().data_dir)


@contextmanager
def _revoked_unless_shown(store: KeyStore, key: ApiKey) -> Iterator[None]:
    """A key that nobody has seen must open nothing, and its name must be free again."""
    try:
        if sys.stdout is None:
            # Nothing would be printed, and nobody would hear of it.
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        yield
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        forget_what_was_not_printed()
        try:
            store.revoke(key.id)
        except KeysError as trouble:
            still = f"It is still active; `dogubako keys revoke {key.id}` ends it. {trouble.message}"
            fail(f"The key could not be shown: {reason}. {still}", trouble.hint)
        fail(f"The key could not be shown, so it is revoked again: {reason}.")


def _shown(key: ApiKey) -> dict[str, object]:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": list(key.scopes),
        "state": key.state(datetime.now(UTC)),
        "created": key.created,
        "expires": key.expires,
        "revoked": key.revoked,
    }


def _about(key: ApiKey) -> str:
    until = f", until {key.expires:%Y-%m-%d %H:%M} UTC" if key.expires else ""
    return (
        f"Scopes of '{key.name}': {', '.join(key.scopes)}{until}. This is the only copy of the key; "
        'send it as "Authorization: Bearer …" or "X-API-Key: …".'
    )


def _span(text: str | None) -> timedelta | None:
    if text is None:
        return None
    span = read_span(text)
    if span is None:
        fail(f"--expires-in takes a span like {SPANS}.")
    return span


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""
