"""`Settings`: all settings of the server and what they mean. Packs have settings of their own."""

from pathlib import Path
from typing import Any, Literal, Self

from platformdirs import user_data_path, user_log_path
from pydantic import BaseModel, ConfigDict, SecretStr, field_validator, model_validator

from dogubako.contract.netaddr import is_loopback
from dogubako.contract.output import Language
from dogubako.contract.pack import setting
from dogubako.settings_checks import (
    checked_address,
    checked_encryption,
    checked_host_names,
    checked_length,
    checked_lengths,
    checked_origins,
    checked_redis,
    checked_search_words,
    checked_sinks,
    phrases_by_name,
)

LogLevelName = Literal["fatal", "error", "warn", "info", "debug", "trace"]
AuthKind = Literal["off", "keys", "oauth"]
Confirmation = Literal["ask", "argument", "deny"]

# Settings that are lists, separated by commas in the environment.
_LISTS = (
    *("allowed_hosts", "audit_sinks", "cors_origin", "files", "packs"),
    *("pinned_tools", "request_state_keys_old", "search_words", "tools"),
)


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
    request_state_keys_old: tuple[SecretStr, ...] = setting(
        (),
        "DOGUBAKO_REQUEST_STATE_KEYS_OLD",
        "More keys that open what they sealed, comma-separated; for changing the key (docs/scale.md).",
    )
    shared: str | None = setting(
        None,
        "DOGUBAKO_SHARED",
        "Redis or Valkey that makes several processes one server: redis://…, redis+cluster://… or "
        "redis+sentinel://…, rediss for TLS (docs/scale.md).",
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
    shared_stale: float = setting(
        0.0,
        "DOGUBAKO_SHARED_STALE",
        "Seconds without it after which a process refuses calls, because a key may have been revoked or a tool "
        "switched off meanwhile; 0 for no bound. When it is down, all processes stop then (docs/scale.md).",
        ge=0,
        le=86_400,
    )
    shared_audit_lines: int = setting(
        100_000,
        "DOGUBAKO_SHARED_AUDIT_LINES",
        "Lines of all audit logs that it keeps; 0 for none.",
        ge=0,
        le=10_000_000,
    )
    tasks: Literal["on", "queue", "off"] = setting(
        "on", "DOGUBAKO_TASKS", "Long calls as tasks: on, queue (only `dogubako worker` runs them), or off."
    )
    task_concurrency: int = setting(
        10, "DOGUBAKO_TASK_CONCURRENCY", "Tasks that a process runs at once.", ge=1, le=1000
    )
    task_timeout: int = setting(3600, "DOGUBAKO_TASK_TIMEOUT", "Seconds that a task may run.", ge=1, le=86_400)
    task_retention: int = setting(3600, "DOGUBAKO_TASK_RETENTION", "Seconds that results are kept.", ge=60, le=604_800)
    tasks_per_caller: int = setting(100, "DOGUBAKO_TASKS_PER_CALLER", "Unfinished tasks of a caller.", ge=1, le=10_000)
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
    _old_secrets = field_validator("request_state_keys_old")(checked_lengths)
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
        if self.request_state_keys_old and not self.request_state_key:
            raise ValueError("DOGUBAKO_REQUEST_STATE_KEYS_OLD needs DOGUBAKO_REQUEST_STATE_KEY, which seals")
        if self.shared and not self.request_state_key:
            raise ValueError("DOGUBAKO_SHARED needs DOGUBAKO_REQUEST_STATE_KEY, the same in every process")
        if self.tasks == "queue" and not self.shared:
            raise ValueError("DOGUBAKO_TASKS=queue needs DOGUBAKO_SHARED: workers are other processes")
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
