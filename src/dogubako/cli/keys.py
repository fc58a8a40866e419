"""`dogubako keys create|list|revoke|credential|share`."""

import asyncio
import errno
import os
import re
import sys
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import click
from msgspec.structs import replace

from dogubako._lazy import load
from dogubako.app import build
from dogubako.cli.commands import Commands, argument, option
from dogubako.cli.options import AsJson, Chosen, Config, Tools, friendly
from dogubako.cli.terminal import fail, forget_what_was_not_printed, print_json, print_table, warn
from dogubako.contract.credentials import Credential
from dogubako.contract.errors import BusyError
from dogubako.engine.registration import RegistrationError
from dogubako.gate.api_keys import ApiKey, KeysError, KeyStore
from dogubako.gate.key_stores import Keys, keys_vault, opened_keys, share_keys
from dogubako.gate.scopes import is_scope
from dogubako.settings import Settings, SettingsError, Sources

ResultT = TypeVar("ResultT")

_SERVICE: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}(\.[a-z][a-z0-9_]{0,31})?")
_LONGEST_SECRET: Final = 1_000

SPANS = "30m, 12h, 90d or 4w"

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_SPAN = re.compile(r"([0-9]{1,5})([mhdw])")


def read_span(text: str) -> timedelta | None:
    """Parse a duration; None if it is invalid or zero."""
    match = _SPAN.fullmatch(text.strip())
    if match is None or match[1].strip("0") == "":
        return None
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def span_text(seconds: int | None) -> str:
    """Format seconds in the largest exact unit: 45s, 30m, 12h, 90d; `?` if unknown."""
    if seconds is None:
        return "?"
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def read_moment(text: str) -> datetime | None:
    """Parse a duration before now, or a timestamp (UTC by default); None if it is invalid."""
    if (span := read_span(text)) is not None:
        return datetime.now(UTC) - span
    try:
        moment = datetime.fromisoformat(text.strip())
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


# All packs, also disabled ones, and nothing slow: only names are needed.
_NAMES_ONLY: Final = {"packs": "", "auth": "off", "audit": False, "cache": "off"}
_OWN_TOOLS: Final = "If a file of yours has it, name the file with --tools."


def doubts(scopes: Sequence[str], config: Path | None, tools: Sequence[Path] = ()) -> list[str]:
    """A warning for each scope of a pack or a tool that is not installed."""
    named = [scope for scope in scopes if ":" in scope]
    if not named:
        return []
    overrides = _NAMES_ONLY | ({"tools": tuple(tools)} if tools else {})
    try:
        box = build(Sources(overrides=overrides, config_file=config))
    except (SettingsError, RegistrationError, ImportError, AttributeError) as error:
        # A pack that cannot be loaded must not prevent a key; `doctor` reports it. The warning is for files that the
        # user named.
        return [f"Nobody can tell whether {', '.join(named)} opens anything here: {error}"] if tools else []
    return list(_doubts(named, box.packs.keys(), [entry.name for entry in box.registry.list()]))


def _doubts(scopes: Sequence[str], packs: Collection[str], tools: Collection[str]) -> Iterator[str]:
    for scope in scopes:
        home, _, rest = scope.partition(":")
        if home == "tool":
            if not any(fnmatchcase(name, rest) for name in tools):
                near = [f"tool:{name}" for name in get_close_matches(rest, tools, n=1)]
                yield _sentence(scope, f"no tool fits '{rest}'", near, "`dogubako tools list` has the names.")
        elif home not in packs:
            near = [f"{name}:{rest}" for name in get_close_matches(home, packs, n=1)]
            yield _sentence(scope, f"no pack is called '{home}'", near, f"Known packs: {', '.join(sorted(packs))}.")


def _sentence(scope: str, reason: str, near: Sequence[str], otherwise: str) -> str:
    return f"{scope} opens nothing here: {reason}. {f'Did you mean {near[0]}?' if near else otherwise} {_OWN_TOOLS}"


app = Commands(help="Create, list and revoke API keys.")

_SCOPES = "read, write, destroy, admin; redmine:read and so on for one pack; tool:list_* for tools by name."


@app.register()
@friendly
def create(
    name: Annotated[str, option("--name", help="Name of the key's holder; the log and the audit log show it.")],
    scope: Annotated[list[str], option("--scope", help=f"Scope of the key: {_SCOPES} May be given several times.")],
    expires_in: Annotated[
        str | None,
        option("--expires-in", metavar="SPAN", help=f"Validity, as {SPANS}; without it the key never expires."),
    ] = None,
    tools: Tools = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Create a key. It is printed once and stored as a hash."""
    name = name.strip()
    if not name or len(name) > 100 or not name.isprintable():
        fail("The name must have 1 to 100 printable characters.")
    scopes = [part.strip() for one in scope for part in one.split(",") if part.strip()]
    if unknown := [one for one in scopes if not is_scope(one)]:
        fail(f"Unknown scope: {', '.join(unknown)}.", f"Scopes: {_SCOPES}")
    if not scopes:
        fail("A key needs at least one scope.", f"Scopes: {_SCOPES}")
    settings, span = _settings(config), _span(expires_in)
    secret, key = tried(with_keys(settings, lambda keys: keys.create(name, scopes, span)))
    with _revoked_unless_shown(settings, key):
        if as_json:
            print_json({"key": secret, **_shown(key)})
        else:
            click.echo(secret)
    if not as_json:
        click.echo(_about(key), err=True)
    for doubt in doubts(key.scopes, config, tools or ()):
        warn(doubt)


@app.register("list")
@friendly
def list_keys(config: Config = None, as_json: AsJson = False) -> None:
    """List keys: names, scopes, states. Never the keys themselves."""
    keys = tried(with_keys(_settings(config), lambda keys: keys.all_keys()))
    if as_json:
        print_json([_shown(key) for key in keys])
        return
    rows = [
        (
            *(key.id, key.name, key.state(datetime.now(UTC)), ", ".join(key.scopes)),
            *(_day(key.created), _day(key.expires), ", ".join(sorted(key.credentials))),
        )
        for key in keys
    ]
    columns = ("Id", "Name", "State", "Scopes", "Created", "Expires", "Credentials")
    print_table(columns, rows, empty="No keys.")


@app.register()
@friendly
def revoke(
    which: Annotated[str, argument(help="Id or name of the key.")], config: Config = None, as_json: AsJson = False
) -> None:
    """Revoke a key. A running server notices within a second."""
    key = tried(with_keys(_settings(config), lambda keys: keys.revoke(which)))
    if as_json:
        print_json(_shown(key))
        return
    click.echo(f"'{key.name}' ({key.id}) is revoked.")


@app.register()
@friendly
def credential(
    which: Annotated[str, argument(help="Id or name of the API key.")],
    service: Annotated[str, argument(help="The pack, or pack.instance: redmine, redmine.hq, n8n.")],
    login: Annotated[
        str | None, option("--login", help="The user that Redmine acts as, where it is set to switch-user.")
    ] = None,
    remove: Annotated[bool, option("--remove", help="Forget the stored credential.")] = False,
    config: Config = None,
) -> None:
    """Store the credential with which the holder of a key uses a service. The service's key is read from stdin."""
    if not _SERVICE.fullmatch(service):
        fail("The service is a pack or pack.instance, like redmine or redmine.hq.")
    if login is not None and (not login.strip() or len(login) > 200 or not login.isprintable()):
        fail("The login must have 1 to 200 printable characters.")
    settings = _settings(config)
    own = None if remove else Credential(login=login.strip()) if login else Credential(key=_secret_from_stdin(service))
    vault = keys_vault(settings)
    sealed = None if own is None else lambda key: vault.seal(key.id, service, own)
    try:
        key = tried(with_keys(settings, lambda keys: keys.set_credential(which, service, sealed)))
    except OSError as error:
        fail(f"The credential cannot be encrypted: {error.strerror}.", "DOGUBAKO_DATA_DIR must be writable.")
    did = "forgotten" if remove else "stored, encrypted"
    click.echo(f"The credential of '{key.name}' ({key.id}) for {service} is {did}.")


@app.register()
@friendly
def share(config: Config = None) -> None:
    """Copy the keys of the data folder into the Redis of DOGUBAKO_SHARED, with their credentials. Once is enough."""
    settings = _settings(config)
    if settings.shared is None:
        fail("DOGUBAKO_SHARED is not set, so there is nobody to share keys with.")
    try:
        found = [_sealed_for_all(key, settings) for key in KeyStore(settings.data_dir).all()]
    except KeysError as error:
        fail(error.message, error.hint)
    added = tried(share_keys(settings, found))
    click.echo(f"{len(added)} of {len(found)} keys were copied; the others were there already.")


def _sealed_for_all(key: ApiKey, settings: Settings) -> ApiKey:
    """The key with credentials that every process can open."""
    vaults = load("dogubako.gate.credential_vault")
    here, everywhere = vaults.vault_of(settings), vaults.shared_vault(settings)
    opened = {service: here.open(key.id, service, sealed) for service, sealed in key.credentials.items()}
    for service in (service for service, own in opened.items() if own is None):
        warn(f"The credential of '{key.name}' for {service} cannot be decrypted, and is left out.")
    sealed = {service: everywhere.seal(key.id, service, own) for service, own in opened.items() if own is not None}
    return replace(key, credentials=sealed)


def _secret_from_stdin(service: str) -> str:
    """The key, typed invisibly or piped in: an argument would stay in the shell's history."""
    if sys.stdin.isatty():
        text = str(click.prompt(f"Key for {service}", hide_input=True))
    else:
        text = sys.stdin.readline(_LONGEST_SECRET + 1)
    secret = text.strip()
    if not secret or len(secret) > _LONGEST_SECRET or any(not "!" <= character <= "~" for character in secret):
        fail(f"The key for {service} must consist of 1 to {_LONGEST_SECRET:,} plain characters, without spaces.")
    return secret


def _settings(config: Config) -> Settings:
    return Chosen(config=config).sources().load()


async def with_keys(settings: Settings, work: Callable[[Keys], Awaitable[ResultT]]) -> ResultT:
    """Do this with the keys of the data folder, or with those that all processes share."""
    async with opened_keys(settings) as keys:
        return await work(keys)


def tried(work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Do this, or say why it is not possible and end."""
    try:
        return asyncio.run(work)
    except (KeysError, BusyError) as error:
        fail(error.message, error.hint)


@contextmanager
def _revoked_unless_shown(settings: Settings, key: ApiKey) -> Iterator[None]:
    """Revoke the key if printing it fails, so that its name can be used again."""
    try:
        if sys.stdout is None:
            # Otherwise nothing would be printed, without an error.
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        yield
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        forget_what_was_not_printed()
        try:
            asyncio.run(with_keys(settings, lambda keys: keys.revoke(key.id)))
        except (KeysError, BusyError) as trouble:
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
        "credentials": sorted(key.credentials),
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
