"""Every setting, read once: command line > environment > `.env` > `dogubako.toml` > default."""

import ipaddress
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from dotenv import dotenv_values
from platformdirs import user_data_path
from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError, field_validator, model_validator

from dogubako.contract.loopback import crosses_a_network_unencrypted
from dogubako.contract.output import Language
from dogubako.contract.pack import Pack
from dogubako.contract.setting import PackSettings, env_name, setting

LogLevelName = Literal["fatal", "error", "warn", "info", "debug", "trace"]
AuthKind = Literal["off", "keys", "oauth"]
Confirmation = Literal["ask", "argument", "deny"]

ModelT = TypeVar("ModelT", bound=BaseModel)

_FILE_NAME = "dogubako.toml"
_PREFIX = "DOGUBAKO_"
# They belong to one start of the server, and are no settings.
_ONLY_FLAGS = {"ALLOW_UNAUTHENTICATED": "--allow-unauthenticated", "WORKERS": "--workers"}

_NAME = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]+)?", re.ASCII)


class SettingsError(Exception):
    """A setting is wrong; the message names it."""


class Settings(BaseModel):
    """What is in force. Packs have settings of their own (`Sources.load_pack`)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    port: int = setting(3000, "PORT", "Port of the HTTP server.", ge=0, le=65535)
    host: str = setting("127.0.0.1", "HOST", "Address that the HTTP server binds to.", min_length=1)
    allowed_hosts: tuple[str, ...] = setting(
        (), "DOGUBAKO_ALLOWED_HOSTS", "More host names that clients may use for this server, comma-separated."
    )
    log_level: LogLevelName = setting("info", "LOG_LEVEL", "How much is logged.")
    log_dir: Path = setting(Path("logs"), "LOG_DIR", "Folder of the log file.")
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
    discovery: Literal["auto", "full", "search"] = setting(
        "auto",
        "DOGUBAKO_DISCOVERY",
        "What agents see: full (all tools), search (a few, and search_tools), auto (search above 10,000 tokens).",
    )
    semantic_model: str = setting(
        "off",
        "DOGUBAKO_SEMANTIC_MODEL",
        "Find tools by meaning too: off, auto (the model of an installed package), or a folder with a model.",
        min_length=1,
    )
    pinned_tools: tuple[str, ...] = setting(
        (), "DOGUBAKO_PINNED_TOOLS", "Tools that agents always see, comma-separated."
    )
    packs: tuple[str, ...] = setting((), "DOGUBAKO_PACKS", "Packs to load, comma-separated; all without it.")
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
    request_state_key: SecretStr | None = setting(
        None, "DOGUBAKO_REQUEST_STATE_KEY", "Shared by several servers behind one address; at least 32 characters."
    )
    shutdown_grace: float = setting(
        10.0, "DOGUBAKO_SHUTDOWN_GRACE", "Seconds that running calls get to finish when the server stops.", ge=0, le=600
    )

    @field_validator("allowed_hosts", "cors_origin", "packs", "pinned_tools", "tools", "files", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("oauth_issuer", "oauth_audience", "oauth_jwks_url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"https?://[^/\s]+(/\S*)?", value):
            raise ValueError("must be an address like https://auth.example.com")
        return value

    @field_validator("oauth_issuer", "oauth_jwks_url")
    @classmethod
    def _cannot_be_forged(cls, value: str | None) -> str | None:
        if value is not None and crosses_a_network_unencrypted(value):
            raise ValueError("must be https: whoever is on the way could let anybody in")
        return value

    @field_validator("allowed_hosts")
    @classmethod
    def _are_host_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if not _is_host_name(name):
                raise ValueError(f"'{name[:100]}' is no host name; it needs the name alone, like tools.example.com")
        return value

    @field_validator("cors_origin")
    @classmethod
    def _are_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """Compared with what browsers send, letter by letter; every page can call itself `null`."""
        for origin in value:
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                raise ValueError(f"'{origin[:100]}' is no origin; browsers send them like https://app.example.com")
        return value

    @model_validator(mode="after")
    def _knows_whom_to_trust(self) -> Self:
        if self.auth == "oauth" and not (self.oauth_issuer and self.oauth_audience):
            raise ValueError("DOGUBAKO_AUTH=oauth needs DOGUBAKO_OAUTH_ISSUER and DOGUBAKO_OAUTH_AUDIENCE")
        return self

    @property
    def audited(self) -> bool:
        """Whether calls are recorded: as set, else as soon as there are callers to tell apart."""
        return self.auth != "off" if self.audit is None else self.audit

    @field_validator("request_state_key")
    @classmethod
    def _long_enough(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and len(value.get_secret_value()) < 32:
            raise ValueError("must have at least 32 characters")
        return value


class Sources:
    """Where settings come from. Read once, shared by our own settings and those of the packs."""

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
        self.environ = {**{key: value for key, value in dotenv.items() if value is not None}, **process}
        self.file_name = (config_file or Path(_FILE_NAME)).name
        self.file = _read_file(config_file)

    def load(self) -> Settings:
        """Our own settings, or a SettingsError that names what is wrong."""
        self._refuse_unknown_variables()
        ours = {key: value for key, value in self.file.items() if not isinstance(value, dict)}
        return self._merged(Settings, ours, self.overrides)

    def load_pack(self, pack: Pack[Any, Any]) -> PackSettings:
        """A pack's settings: its variables, and the table of its name in the file."""
        return self._merged(pack.settings, self.file.get(pack.name, {}), {})

    def _merged(self, model: type[ModelT], table: Mapping[str, Any], overrides: Mapping[str, Any]) -> ModelT:
        fields = model.model_fields
        for key in table:
            if key not in fields:
                raise SettingsError(f"{self.file_name}: unknown key '{key}'.{_suggest(key, fields)}")
        variables = {env_name(model, name): name for name in fields}
        found = {name: self.environ[variable] for variable, name in variables.items() if variable in self.environ}
        try:
            return model.model_validate({**table, **found, **overrides})
        except ValidationError as error:
            raise SettingsError(_sentence(error, model)) from None

    def refuse_unknown_tables(self, pack_names: Iterable[str]) -> None:
        known = set(pack_names)
        for key, value in self.file.items():
            if isinstance(value, dict) and key not in known:
                raise SettingsError(f"{self.file_name}: unknown table '[{key}]'.{_suggest(key, known)}")

    def _refuse_unknown_variables(self) -> None:
        known = {env_name(Settings, name) for name in Settings.model_fields}
        for key in self.environ:
            if key.startswith(_PREFIX) and key not in known:
                raise SettingsError(f"Unknown setting {key}.{_suggest_variable(key, known)}")


def _is_host_name(text: str) -> bool:
    """A name or an address, without scheme and port: it is allowed on every port."""
    if _NAME.fullmatch(text):
        return True
    try:
        ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return False
    return True


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


def _sentence(error: ValidationError, model: type[BaseModel]) -> str:
    parts = []
    for problem in error.errors(include_url=False, include_input=False):
        said = problem["msg"].removeprefix("Value error, ")
        field = str(problem["loc"][0]) if problem["loc"] else ""
        name = env_name(model, field) if field in model.model_fields else field
        parts.append(f"{name}: {said}" if name else said)
    return "Invalid setting: " + "; ".join(dict.fromkeys(parts)) + "."


def _suggest(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]}?" if near else ""


def _suggest_variable(name: str, known: Iterable[str]) -> str:
    """Not all of our variables have the prefix, and those that do are not alike because of it."""
    bare = name.removeprefix(_PREFIX)
    if bare in _ONLY_FLAGS:
        return f" It is the flag {_ONLY_FLAGS[bare]} of `dogubako serve`."
    whole = {one.removeprefix(_PREFIX): one for one in known}
    if near := get_close_matches(bare, whole, n=1):
        return f" Did you mean {whole[near[0]]}?"
    # Which packs there are is not known yet.
    return f" If it is one of a pack, its name is {bare}." if bare else ""
