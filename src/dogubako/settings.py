"""All settings, read once: command line > environment > `.env` > `dogubako.toml` > default."""

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from dotenv import dotenv_values
from platformdirs import user_data_path, user_log_path
from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError, field_validator, model_validator

from dogubako.contract.netaddr import is_loopback
from dogubako.contract.output import Language
from dogubako.contract.pack import Pack, PackSettings, env_name, has_tables, secrets_of, setting
from dogubako.settings_checks import (
    PREFIX,
    checked_address,
    checked_encryption,
    checked_host_names,
    checked_length,
    checked_origins,
    checked_redis,
    checked_search_words,
    checked_sinks,
    instance_variable,
    phrases_by_name,
    settings_sentence,
    suggest,
    suggest_variable,
)

LogLevelName = Literal["fatal", "error", "warn", "info", "debug", "trace"]
AuthKind = Literal["off", "keys", "oauth"]
Confirmation = Literal["ask", "argument", "deny"]

ModelT = TypeVar("ModelT", bound=BaseModel)
Table = Mapping[str, Any]

_FILE_NAME = "dogubako.toml"
_SERVERS = "servers"
_SERVICES = "services"

# The instance that `REDMINE_URL` or `url` in `[redmine]` configures, beside instances with names.
DEFAULT_INSTANCE = "default"

# Settings that are lists, separated by commas in the environment.
_LISTS = ("allowed_hosts", "audit_sinks", "cors_origin", "files", "packs", "pinned_tools", "search_words", "tools")
_INSTANCE = re.compile(r"[a-z][a-z0-9_]{0,31}")


class SettingsError(Exception):
    """A setting is wrong; the message names it."""


class Settings(BaseModel):
    """The settings in force. Packs have their own settings (`Sources.load_instances`)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    port: int = setting(3000, "PORT", "Port of the HTTP server.", ge=0, le=65535)
    host: str = setting("127.0.0.1", "HOST", "Address that the HTTP server binds to.", min_length=1)
    allowed_hosts: tuple[str, ...] = setting(
        (), "DOGUBAKO_ALLOWED_HOSTS", "More host names that clients may use for this server, comma-separated."
    )
    public_url: str | None = setting(
        None,
        "DOGUBAKO_PUBLIC_URL",
        "Address at which browsers reach this server, for pages that it asks people to open; "
        "without it, http://HOST:PORT if HOST is this machine.",
    )
    log_level: LogLevelName = setting("info", "LOG_LEVEL", "How much is logged.")
    log_dir: Path = setting(user_log_path("dogubako"), "LOG_DIR", "Folder of the log file.")
    cors_enabled: bool = setting(False, "CORS_ENABLED", "Whether browsers on other sites may call the REST API.")
    cors_origin: tuple[str, ...] = setting(("*",), "CORS_ORIGIN", "Which sites, comma-separated.")
    environment: Literal["production", "development"] = setting(
        "production", "ENVIRONMENT", "In development, internal errors show their message."
    )
    sandbox: bool = setting(
        False, "DOGUBAKO_SANDBOX", "Answer for services that are not configured with the built-in ones."
    )
    rate_limit_max: int | None = setting(
        None,
        "RATE_LIMIT_MAX",
        "Calls per caller and window; off without it. Without DOGUBAKO_AUTH all callers are one.",
        ge=1,
    )
    rate_limit_window: int = setting(60, "RATE_LIMIT_WINDOW", "Length of the window in seconds.", ge=1)
    rate_limit_tool_max: int | None = setting(
        None, "RATE_LIMIT_TOOL_MAX", "Calls per caller, tool and window; off without it.", ge=1
    )
    rate_limit_storage: str = setting(
        "memory",
        "RATE_LIMIT_STORAGE",
        "Where calls are counted: memory, or redis://…",
        pattern=r"^(memory|rediss?://.+)$",
    )
    caller_concurrency: int = setting(
        64,
        "DOGUBAKO_CALLER_CONCURRENCY",
        "Calls of one caller that may run at once, with DOGUBAKO_AUTH on.",
        ge=1,
        le=10_000,
    )
    auth: AuthKind = setting(
        "off", "DOGUBAKO_AUTH", "How HTTP callers prove who they are: off, keys (see `dogubako keys`), or oauth."
    )
    oauth_issuer: str | None = setting(
        None, "DOGUBAKO_OAUTH_ISSUER", "Address of the authorization server whose tokens are taken."
    )
    oauth_audience: str | None = setting(
        None,
        "DOGUBAKO_OAUTH_AUDIENCE",
        "Address of this server as tokens name it, for example https://tools.example.com/mcp",
    )
    oauth_jwks_url: str | None = setting(
        None, "DOGUBAKO_OAUTH_JWKS_URL", "Where its keys are, if it does not describe itself."
    )
    oauth_client_id: str | None = setting(
        None, "DOGUBAKO_OAUTH_CLIENT_ID", "Client id of the console there: people sign in with their browser."
    )
    oauth_client_secret: SecretStr | None = setting(
        None, "DOGUBAKO_OAUTH_CLIENT_SECRET", "Its secret; without one, the console is a public client."
    )
    oauth_scope: str = setting(
        "read write admin", "DOGUBAKO_OAUTH_SCOPE", "What the console asks for there, separated by spaces."
    )
    credentials_key: SecretStr | None = setting(
        None,
        "DOGUBAKO_CREDENTIALS_KEY",
        "Encrypts the credentials of `dogubako keys credential`, at least 32 characters; "
        "without it, a key in the data folder does.",
    )
    confirm: Confirmation = setting(
        "ask",
        "DOGUBAKO_CONFIRM",
        "Destructive tools: ask the user where the client can, want confirm: true, or never run.",
    )
    audit: bool | None = setting(
        None,
        "DOGUBAKO_AUDIT",
        "Whether every call is recorded in the data folder; without it, as soon as DOGUBAKO_AUTH is on.",
    )
    audit_sinks: tuple[str, ...] = setting(
        (),
        "DOGUBAKO_AUDIT_SINKS",
        "Where recorded calls are sent besides, comma-separated: stdout (not with stdio), otlp (extra otel, OTEL_*), "
        "syslog:///dev/log, syslog+udp://HOST:514, syslog+tcp://HOST:601.",
    )
    discovery: Literal["auto", "full", "light", "search"] = setting(
        "auto",
        "DOGUBAKO_DISCOVERY",
        "What agents see: full (all tools), light (names and a line each), search (a few, and search_tools), "
        "auto (by what each costs: docs/discovery.md).",
    )
    search_words: tuple[str, ...] = setting(
        (),
        "DOGUBAKO_SEARCH_WORDS",
        "What your people call a tool or a pack, for example create_issue=raise a card; 起票. Comma-separated.",
    )
    learn_from_use: bool = setting(
        False,
        "DOGUBAKO_LEARN_FROM_USE",
        "Whether a question that led to a successful call helps the same caller to find that tool again. "
        "`dogubako tools learned` shows what is kept.",
    )
    pinned_tools: tuple[str, ...] = setting(
        (), "DOGUBAKO_PINNED_TOOLS", "Tools that agents always see, comma-separated."
    )
    packs: tuple[str, ...] = setting((), "DOGUBAKO_PACKS", "Packs to load, comma-separated; default all.")
    tools: tuple[Path, ...] = setting((), "DOGUBAKO_TOOLS", "Python files with tools of your own, comma-separated.")
    read_only: bool = setting(False, "DOGUBAKO_READ_ONLY", "Refuse every tool that writes.")
    max_response_tokens: int = setting(
        25_000, "DOGUBAKO_MAX_RESPONSE_TOKENS", "Response budget: no answer is larger.", ge=500, le=1_000_000
    )
    cache: str = setting(
        "off",
        "DOGUBAKO_CACHE",
        "Where unchanging answers are kept: off, memory, or redis://…",
        pattern=r"^(off|memory|rediss?://.+)$",
    )
    lang: Language = setting("en", "DOGUBAKO_LANG", "Language of success messages.")
    data_dir: Path = setting(
        user_data_path("dogubako"), "DOGUBAKO_DATA_DIR", "Folder for keys, backups and the audit log."
    )
    files: tuple[Path, ...] = setting((), "DOGUBAKO_FILES", "Folders that file tools may use, comma-separated.")
    console: bool = setting(True, "DOGUBAKO_CONSOLE", "Whether browsers get the console at /.")
    console_calls: int = setting(
        10_000, "DOGUBAKO_CONSOLE_CALLS", "Calls that the console remembers, in memory.", ge=100, le=100_000
    )
    console_values: bool = setting(
        False, "DOGUBAKO_CONSOLE_VALUES", "Whether the console keeps arguments and answers, secrets masked."
    )
    metrics: bool = setting(True, "DOGUBAKO_METRICS", "Whether /metrics has numbers for Prometheus.")
    otel: bool = setting(False, "DOGUBAKO_OTEL", "Export traces and metrics with OpenTelemetry (extra otel, OTEL_*).")
    access_log: bool = setting(False, "DOGUBAKO_ACCESS_LOG", "Log every HTTP request.")
    request_state_key: SecretStr | None = setting(
        None, "DOGUBAKO_REQUEST_STATE_KEY", "Shared by several servers behind one address; at least 32 characters."
    )
    shared: str | None = setting(
        None,
        "DOGUBAKO_SHARED",
        "Redis or Valkey that makes several processes one server: redis://… or rediss://… (docs/scale.md).",
    )
    shared_prefix: str = setting(
        "dogubako",
        "DOGUBAKO_SHARED_PREFIX",
        "How the names of its keys begin; another one for each server that uses the same Redis.",
        pattern=r"^[A-Za-z0-9._-]{1,64}$",
    )
    shared_limits: Literal["open", "closed"] = setting(
        "open",
        "DOGUBAKO_SHARED_LIMITS",
        "Limits while it does not answer: open (each process counts for itself) or closed (calls are refused).",
    )
    shared_audit_lines: int = setting(
        100_000,
        "DOGUBAKO_SHARED_AUDIT_LINES",
        "Lines of all audit logs that it keeps; 0 for none.",
        ge=0,
        le=10_000_000,
    )
    drain: float = setting(
        0.0, "DOGUBAKO_DRAIN", "Seconds in which a server that stops takes calls while /readyz says no.", ge=0, le=600
    )
    shutdown_grace: float = setting(
        10.0, "DOGUBAKO_SHUTDOWN_GRACE", "Seconds that running calls get to finish when the server stops.", ge=0, le=600
    )

    @field_validator(*_LISTS, mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    _addresses = field_validator("oauth_issuer", "oauth_audience", "oauth_jwks_url", "public_url")(checked_address)
    _unforgeable = field_validator("oauth_issuer", "oauth_jwks_url")(checked_encryption)
    _host_names = field_validator("allowed_hosts")(checked_host_names)
    _origins = field_validator("cors_origin")(checked_origins)
    _words = field_validator("search_words")(checked_search_words)
    _secrets = field_validator("request_state_key", "credentials_key")(checked_length)
    _redis = field_validator("shared")(checked_redis)
    _sinks = field_validator("audit_sinks")(checked_sinks)

    @property
    def words_by_tool(self) -> dict[str, list[str]]:
        """The phrases of `search_words`, by the name of a tool or a pack."""
        return phrases_by_name(self.search_words)

    @model_validator(mode="after")
    def _knows_whom_to_trust(self) -> Self:
        if self.auth == "oauth" and not (self.oauth_issuer and self.oauth_audience):
            raise ValueError("DOGUBAKO_AUTH=oauth needs DOGUBAKO_OAUTH_ISSUER and DOGUBAKO_OAUTH_AUDIENCE")
        if self.oauth_client_secret and not self.oauth_client_id:
            raise ValueError("DOGUBAKO_OAUTH_CLIENT_SECRET needs DOGUBAKO_OAUTH_CLIENT_ID")
        if self.shared and not self.request_state_key:
            raise ValueError("DOGUBAKO_SHARED needs DOGUBAKO_REQUEST_STATE_KEY, the same in every process")
        if self.audit_sinks and not self.audited:
            raise ValueError("DOGUBAKO_AUDIT_SINKS needs DOGUBAKO_AUDIT=true or DOGUBAKO_AUTH")
        return self

    @property
    def browser_address(self) -> str:
        """Where browsers reach this server; empty if nobody said it."""
        if self.public_url is not None:
            return self.public_url.rstrip("/")
        return f"http://{self.host}:{self.port}" if is_loopback(self.host) and self.port else ""

    @property
    def audited(self) -> bool:
        """Whether calls are recorded: as set, else if authentication is on."""
        return self.auth != "off" if self.audit is None else self.audit


class Sources:
    """The sources of settings, read once and shared with the packs."""

    def __init__(
        self,
        *,
        overrides: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
        env_file: Path | None = Path(".env"),
        config_file: Path | None = None,
    ) -> None:
        self.overrides = {key: value for key, value in (overrides or {}).items() if value is not None}
        process = os.environ if environ is None else environ
        dotenv = dotenv_values(env_file) if env_file is not None and env_file.is_file() else {}
        # Variables that only `.env` sets.
        self.dotenv = frozenset(dotenv.keys() - process.keys())
        self.environ = {**{key: value for key, value in dotenv.items() if value is not None}, **process}
        self.path = config_file or Path(_FILE_NAME)
        self.file_name = self.path.name
        self.file = _read_file(config_file)

    @classmethod
    def only(cls, overrides: Mapping[str, Any], tables: Mapping[str, Any] | None = None) -> Self:
        """Read settings from these values and tables alone: no environment, no `.env`, no file."""
        sources = cls(overrides=overrides, environ={}, env_file=None)
        sources.file = dict(tables or {})
        return sources

    def load(self) -> Settings:
        """The server's settings, or a SettingsError that names the wrong one."""
        self._refuse_unknown_variables()
        fields = Settings.model_fields
        ours = {key: value for key, value in self.file.items() if key in fields or not isinstance(value, dict)}
        return self._merged(Settings, ours, self.overrides)

    @property
    def servers(self) -> dict[str, Any]:
        """The tables `[servers.NAME]` of other MCP servers, as they are written."""
        return self._tables_in(_SERVERS)

    @property
    def services(self) -> dict[str, Any]:
        """The tables `[services.NAME]` of HTTP APIs, as they are written."""
        return self._tables_in(_SERVICES)

    def _tables_in(self, kind: str) -> dict[str, Any]:
        tables = self.file.get(kind, {})
        if not isinstance(tables, dict) or not all(isinstance(one, dict) for one in tables.values()):
            one = kind.removesuffix("s")
            raise SettingsError(f"{self.file_name}: [{kind}] has one table for each {one}, like [{kind}.github].")
        return tables

    def load_instances(self, pack: Pack[Any, Any]) -> dict[str, PackSettings]:
        """The settings of each instance of a pack: its variables, and its table in the file.

        An instance has a table and variables of its own (`[redmine.hq]`, `REDMINE_HQ_URL`). It inherits all settings
        but the URL and secrets, which belong to one server. Without such tables there is one instance, without a name.
        """
        table = self.file.get(pack.name, {})
        named = self._instances(pack, table) if pack.multiple else {}
        settings = self._merged(pack.settings, {key: value for key, value in table.items() if key not in named}, {})
        if not named:
            return {"": settings}
        values = {name: getattr(settings, name) for name in settings.model_fields_set - {"url"}}
        inherited = {name: value for name, value in values.items() if not secrets_of(value)}
        instances = {} if pack.unconfigured(settings) else {DEFAULT_INSTANCE: settings}
        for name, own in named.items():
            instance = self._merged(pack.settings, {**inherited, **own}, {}, (pack.name, name))
            if (missing := pack.unconfigured(instance)) is not None:
                raise SettingsError(
                    f"[{pack.name}.{name}]: {missing.reason} Set {instance_variable(missing.setting, pack.name, name)}."
                )
            instances[name] = instance
        return instances

    def _instances(self, pack: Pack[Any, Any], table: Mapping[str, Any]) -> dict[str, Any]:
        fields = pack.settings.model_fields
        named = {key: value for key, value in table.items() if isinstance(value, dict) and key not in fields}
        for name in named:
            if name == DEFAULT_INSTANCE or not _INSTANCE.fullmatch(name):
                raise SettingsError(
                    f"{self.file_name}: '[{pack.name}.{name[:50]}]' is no name of an instance; it takes lower-case "
                    f"letters, digits and underscores, and must not be '{DEFAULT_INSTANCE}'."
                )
        return named

    def _merged(
        self, model: type[ModelT], table: Table, overrides: Table, instance: tuple[str, str] | None = None
    ) -> ModelT:
        fields = model.model_fields
        for key in table:
            if key not in fields:
                raise SettingsError(f"{self.file_name}: unknown key '{key}'.{suggest(key, fields)}")
        variables = {env_name(model, name): name for name in fields if not has_tables(model, name)}
        if instance is not None:
            variables = {instance_variable(variable, *instance): name for variable, name in variables.items()}
        values = {name: self.environ[variable] for variable, name in variables.items() if variable in self.environ}
        try:
            return model.model_validate({**table, **values, **overrides})
        except ValidationError as error:
            raise SettingsError(settings_sentence(error, model)) from None

    def refuse_unknown_tables(self, pack_names: Iterable[str]) -> None:
        own = (name for name in Settings.model_fields if has_tables(Settings, name))
        known = {*pack_names, _SERVERS, _SERVICES, *own}
        for key, value in self.file.items():
            if isinstance(value, dict) and key not in known:
                raise SettingsError(f"{self.file_name}: unknown table '[{key}]'.{suggest(key, known)}")

    def _refuse_unknown_variables(self) -> None:
        known = {env_name(Settings, name) for name in Settings.model_fields if not has_tables(Settings, name)}
        for key in self.environ:
            if key.startswith(PREFIX) and key not in known:
                raise SettingsError(f"Unknown setting {key}.{suggest_variable(key, known)}")


def _read_file(config_file: Path | None) -> dict[str, Any]:
    path = config_file or Path(_FILE_NAME)
    if not path.is_file():
        if config_file is not None:
            raise SettingsError(f"Configuration file not found: {config_file}")
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from None
