"""`[servers.NAME]`: the settings of one MCP server, and the variables and files that they refer to."""

import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from typing_extensions import TypeVar

from dogubako.contract.metadata import Effect
from dogubako.contract.pack import is_plain_value
from dogubako.gateway.isolation import checked_profile
from dogubako.outbound.service_settings import ServiceSettings
from dogubako.settings import SettingsError

NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,31}", re.ASCII)
Transport = Literal["stdio", "http", "sse"]

# The key in the value of a header.
_CREDENTIAL: Final = re.compile(r"(?i)(?:bearer|basic|token|apikey) +([^\s$]+)\Z")
# `${VAR}`, `${VAR:-default}`, `${env:VAR}` and `${file:PATH}`.
_REFERENCE: Final = re.compile(r"\$\{([^{}]+)\}")
_VARIABLE: Final = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.ASCII | re.DOTALL)
_API_KEY: Final = "${api_key}"
_MOST_BYTES_OF_A_FILE: Final = 64 * 1024

_LEAST_MEGABYTES: Final = 16

Lookup = Callable[[str], str]


def described(default: Any, description: str, **constraints: Any) -> Any:
    """A field that only a table sets: no environment variable could say for which server it is."""
    return Field(default, description=description, **constraints)


class MissingReferenceError(SettingsError):
    """A variable or a file that the settings of a server refer to is missing."""

    def __init__(self, message: str, setting: str) -> None:
        super().__init__(message)
        self.setting = setting


class ServerSettings(ServiceSettings):
    """One MCP server: the keys of `mcpServers` (command, args, env, cwd, url, headers), and ours."""

    example: ClassVar[str] = "https://mcp.example.com/mcp"
    table: ClassVar[str] = "servers"

    command: str | None = described(None, "The program of a server that is started here.")
    args: tuple[str, ...] = described((), "Its arguments.")
    env: dict[str, SecretStr] = described({}, "Its environment, beside PATH, HOME, LANG and TMPDIR.")
    cwd: Path | None = described(None, "The folder that it is started in.")
    url: str | None = described(None, "The address of a server that is reached over HTTP.")
    headers: dict[str, SecretStr] = described({}, "Headers of every request to it.")
    transport: Transport | None = described(None, "stdio, http or sse; without it, detected.")
    api_key: SecretStr | None = described(
        None,
        f"Stands for {_API_KEY} in env and headers; where nothing names it, the header Authorization has it. "
        "With credentials = own, the key of each caller takes its place.",
    )
    client_id: str | None = described(None, "The OAuth client, where one was registered at the server by hand.")
    client_secret: SecretStr | None = described(None, "Its secret. Without a sign-in, the client signs in as itself.")
    client_metadata_url: str | None = described(None, "The address of an OAuth client metadata document.")
    pinning: Literal["on", "off"] = described("on", "Whether a new or changed tool waits for `servers approve`.")
    read_only: bool = described(False, "Whether only the tools that read are served.")
    include: tuple[str, ...] = described((), "Only the tools whose name matches one of these patterns, like list_*.")
    exclude: tuple[str, ...] = described((), "None of the tools whose name matches one of these patterns.")
    effects: dict[str, Literal["read", "write", "destroy"]] = described(
        {}, "What tools change, by name or pattern, where their annotations are missing or wrong."
    )
    words: dict[str, str] = described({}, "More words for tool search, by name or pattern of tools.")
    about: str = described("", "What its tools are for, in a few words. Agents read it before they search.")
    idle_timeout: float | None = described(
        None, "Seconds without a call after which it sleeps; never without it.", gt=0
    )
    timeout: float | None = described(None, "Seconds for one call; without it, as for our own tools.", gt=0, le=3600)
    max_running: int = described(16, "Calls that it answers at once.", ge=1, le=1000)
    memory_limit: int = described(4096, "Megabytes that all its processes may use; 0 for no limit.", ge=0)
    run_as: str | tuple[str, ...] = described(
        (),
        "Its isolation: bwrap, bwrap-offline, systemd-run, docker:IMAGE, podman:IMAGE, or the words of a command.",
    )
    folders: tuple[str, ...] = described(
        (), "Folders that it may use in isolation beside cwd: read-only, or with :rw at the end."
    )
    processes: Literal["one", "each"] | None = described(
        None,
        "With DOGUBAKO_SHARED: whether one process runs it for all, or each for itself. Without it: one, but each for "
        "HTTP servers without sessions (2026-07-28).",
    )
    disabled: bool = described(False, "Whether it is left out.")
    # Values of variables and files in `command`, `args`, `cwd` and `url`, so that they are masked.
    resolved: tuple[SecretStr, ...] = Field((), exclude=True, repr=False)

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        """An http URL. It may have a query, which some servers take their key from."""
        address = (value or "").strip()
        if not address or _REFERENCE.search(address):
            return address or None
        try:
            parts = urlsplit(address)
            known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            known = False
        if not known or parts.username or parts.password or any(one.isspace() for one in address):
            raise ValueError(f"must be an address like {cls.example}")
        return address

    @field_validator("api_key")
    @classmethod
    def _fits_into_a_header(cls, value: SecretStr | None) -> SecretStr | None:
        """A reference may have spaces, so the key is checked when it is used."""
        return value

    @field_validator("run_as")
    @classmethod
    def _is_a_profile(cls, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
        return checked_profile(value)

    @field_validator("memory_limit")
    @classmethod
    def _is_enough(cls, value: int) -> int:
        if 0 < value < _LEAST_MEGABYTES:
            raise ValueError(f"must be 0, or at least {_LEAST_MEGABYTES}")
        return value

    @model_validator(mode="after")
    def _has_one_way_to_be_reached(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("set either command (a program) or url (an address)")
        if self.transport is not None and (self.transport == "stdio") != (self.command is not None):
            raise ValueError("transport stdio belongs to a command; http and sse belong to a url")
        if self.credentials == "switch-user":
            raise ValueError("credentials may be shared, own, or own-or-shared")
        return self

    @property
    def kind(self) -> Transport:
        """The transport: as set, else stdio for a command and http for an address."""
        return self.transport or ("stdio" if self.command is not None else "http")

    @property
    def takes_sign_ins(self) -> bool:
        """Whether somebody may sign in at it with OAuth: it is reached by an address, and no key is set or named."""
        keys = [name for name, value in self.headers.items() if _API_KEY in value.get_secret_value()]
        has_key = self.api_key is not None or bool(keys) or any(one.lower() == "authorization" for one in self.headers)
        return self.url is not None and not has_key

    def serves(self, tool: str) -> bool:
        """Whether `include` and `exclude` let this tool through."""
        included = not self.include or any(fnmatchcase(tool, pattern) for pattern in self.include)
        return included and not any(fnmatchcase(tool, pattern) for pattern in self.exclude)

    def effect_of(self, tool: str) -> Effect | None:
        """The effect that the settings give this tool. An exact name counts before patterns, in their order."""
        found = self.effects.get(tool)
        found = found or next((effect for name, effect in self.effects.items() if fnmatchcase(tool, name)), None)
        return Effect(found) if found else None

    def words_of(self, tool: str) -> str:
        """The words of all patterns that match this tool."""
        return " ".join(words for name, words in self.words.items() if fnmatchcase(tool, name))

    def hints_by_argument(self, definition: Mapping[str, Any]) -> tuple[str, Mapping[str, Mapping[str, bool]]] | None:
        """For a tool whose effect depends on an argument: its name, and the annotations for each of its values."""
        return None

    def other_references(self, plain: Callable[[str], str], secret: Callable[[SecretStr], SecretStr]) -> dict[str, Any]:
        """The fields of a subclass that may refer to variables, with what they refer to."""
        return {}

    def signed_in(self, key: str) -> Self:
        """These settings with a key: in the place of `${api_key}`, else in the header Authorization."""
        env, headers = (
            {name: _with_key(value, key) for name, value in one.items()} for one in (self.env, self.headers)
        )
        if env == self.env and headers == self.headers and self.url is not None:
            headers = {"Authorization": SecretStr(f"Bearer {key}"), **headers}
        return self.model_copy(update={"env": env, "headers": headers, "api_key": SecretStr(key)})


def _with_key(value: SecretStr, key: str) -> SecretStr:
    return SecretStr(value.get_secret_value().replace(_API_KEY, key))


SettingsT = TypeVar("SettingsT", bound=ServerSettings, default=ServerSettings)


def read_server(name: str, table: Any, model: type[SettingsT] = ServerSettings) -> SettingsT:  # type: ignore[assignment]
    """The settings of one table; a SettingsError names the table and the wrong key, and shows no value."""
    if not NAME.fullmatch(name):
        raise SettingsError(
            f"[{model.table}.{name[:50]}]: a server's name has at most 32 lower-case letters, digits, '-' and '_', "
            "and starts with a letter."
        )
    try:
        return model.model_validate(table)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        parts = [".".join(map(str, one["loc"])) + ": " + one["msg"].removeprefix("Value error, ") for one in problems]
        raise SettingsError(
            f"[{model.table}.{name}]: {'; '.join(part.removeprefix(': ') for part in parts)}."
        ) from None


def resolve(name: str, settings: SettingsT, environ: Mapping[str, str]) -> SettingsT:
    """The settings with variables and files replaced by what they refer to.

    A SettingsError names the server and what is missing: a server that starts without its key fails later, and worse.
    """
    secrets: list[SecretStr] = []

    def value_of(reference: str) -> str:
        value = _looked_up(name, reference, environ)
        # Files hold secrets. `${HOME}` is none, and masked it would be missing in every path that a server shows.
        is_plain = not reference.startswith("file:") and is_plain_value(reference, value)
        if value and reference != "api_key" and not is_plain:
            secrets.append(SecretStr(value))
        return value

    def plain(text: str) -> str:
        return _REFERENCE.sub(lambda match: value_of(match[1]), text)

    def secret(value: SecretStr) -> SecretStr:
        # A server may quote the key of a header without the words around it.
        whole = plain(value.get_secret_value())
        if match := _CREDENTIAL.match(whole):
            secrets.append(SecretStr(match[1]))
        return SecretStr(whole)

    changed: dict[str, Any] = {
        "command": plain(settings.command) if settings.command is not None else None,
        "args": [plain(one) for one in settings.args],
        "cwd": plain(str(settings.cwd)) if settings.cwd is not None else None,
        "url": plain(settings.url) if settings.url is not None else None,
        "env": {key: secret(value) for key, value in settings.env.items()},
        "headers": {key: secret(value) for key, value in settings.headers.items()},
        "api_key": secret(settings.api_key) if settings.api_key is not None else None,
        "client_id": plain(settings.client_id) if settings.client_id is not None else None,
        "client_secret": secret(settings.client_secret) if settings.client_secret is not None else None,
        **settings.other_references(plain, secret),
    }
    kept = {key: getattr(settings, key) for key in settings.model_fields_set - changed.keys()}
    resolved = read_server(name, {**kept, **changed, "resolved": secrets}, type(settings))
    if resolved.api_key is None:
        _refuse_missing_key(name, resolved)
        return resolved
    return resolved.signed_in(resolved.api_key.get_secret_value())


def _refuse_missing_key(name: str, settings: ServerSettings) -> None:
    named = any(_API_KEY in value.get_secret_value() for value in [*settings.env.values(), *settings.headers.values()])
    if named and settings.credentials != "own":
        raise MissingReferenceError(f"[servers.{name}] uses {_API_KEY}, but api_key is not set.", "api_key")


def _looked_up(name: str, reference: str, environ: Mapping[str, str]) -> str:
    """What one reference stands for."""
    if reference == "api_key":
        return _API_KEY
    if reference.startswith("file:"):
        return _content(name, Path(reference.removeprefix("file:")).expanduser())
    match = _VARIABLE.fullmatch(reference)
    if match is None:
        raise SettingsError(f"[servers.{name}]: '${{{reference[:50]}}}' is neither a variable nor ${{file:PATH}}.")
    value = environ.get(match[1], "") or match[2]
    if value is None:
        raise MissingReferenceError(f"[servers.{name}]: the variable {match[1]} is not set.", match[1])
    return value


def _content(name: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES_OF_A_FILE + 1)
        if len(content) > _MOST_BYTES_OF_A_FILE:
            raise SettingsError(f"[servers.{name}]: the file {path} is too large for a setting.")
        return content.decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        message = f"[servers.{name}]: the file {path} cannot be read: {reason}."
        raise MissingReferenceError(message, str(path)) from None
