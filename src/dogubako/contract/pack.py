"""A pack: one service as one unit of settings, client, tools, resources and prompts."""

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, Literal, Protocol

import msgspec
from pydantic import BaseModel, ConfigDict, Field, SecretStr
from typing_extensions import TypeVar

from dogubako.contract.call import Caller, CallObserver
from dogubako.contract.credentials import Credential
from dogubako.contract.owners import Owners
from dogubako.contract.resources import Prompt, Resource, ResourceTemplate, Skill
from dogubako.contract.storage import Cache, SharedStore
from dogubako.contract.tool import BaseTool


class PackSettings(BaseModel):
    """Base class of a pack's settings. In `dogubako.toml` they are in the table with the pack's name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # The table of the file that has a table of its own for each pack of this kind: `servers` in `[servers.github]`.
    table: ClassVar[str] = ""


class NoSettings(PackSettings):
    """For packs without settings."""


def setting(default: Any, env: str, description: str, **constraints: Any) -> Any:
    """A field of a settings model. Every setting has a variable and a description."""
    return Field(default, description=description, json_schema_extra={"env": env}, **constraints)


def tables(description: str) -> Any:
    """Declare a field of type `dict[str, Model]` that nested tables set: `[servers.github]`, `[servers.files]`."""
    return Field(default_factory=dict, description=description, json_schema_extra={"tables": True})


def has_tables(model: type[BaseModel], field: str) -> bool:
    """Whether the field is set by nested tables of the settings file and by no environment variable."""
    extra = model.model_fields[field].json_schema_extra
    return isinstance(extra, dict) and "tables" in extra


def env_name(model: type[BaseModel], field: str) -> str:
    """The environment variable of a field."""
    extra = model.model_fields[field].json_schema_extra
    if not isinstance(extra, dict) or "env" not in extra:
        raise TypeError(f"{model.__name__}.{field} must be made with setting(…)")
    return str(extra["env"])


# `NODE_ENV = "production"`: a word, a path, or the address of a host.
_PLAIN_VALUE: Final = re.compile(r"[A-Za-z]?[a-z]{1,20}|[A-Z]{1,12}|[~.]{0,2}/[\w./ -]*+|https?://[\w.-]++(?::\d++)?/?")
_SECRET_NAME: Final = re.compile(
    r"(?i)pass|pwd|secret|token|key|auth|cred|cookie|session|private|sign|salt|(?<![a-z])(?:pin|pat|code)(?![a-z])"
)


def secrets_of(settings: Any) -> list[str]:
    """Every secret value in a settings model and in its nested tables, for masking.

    In tables with names that users choose, such as `env`, plain values under plain names are no secrets: masked, they
    would be missing in every answer that has the same word.
    """
    if isinstance(settings, SecretStr):
        return [settings.get_secret_value()]
    if isinstance(settings, BaseModel):
        return [secret for name in type(settings).model_fields for secret in secrets_of(getattr(settings, name))]
    if isinstance(settings, Mapping):
        return [one for name, value in settings.items() for one in secrets_of(value) if not _is_plain(name, value)]
    if isinstance(settings, list | tuple):
        return [secret for value in settings for secret in secrets_of(value)]
    return []


def _is_plain(name: Any, value: Any) -> bool:
    return isinstance(value, SecretStr) and is_plain_value(str(name), value.get_secret_value())


def is_plain_value(name: str, value: str) -> bool:
    """Whether a value that users named themselves is a word, a path or a host under a name that means no secret."""
    return _SECRET_NAME.search(name) is None and _PLAIN_VALUE.fullmatch(value) is not None


SettingsT = TypeVar("SettingsT", bound=PackSettings, default=NoSettings)
PackClientT = TypeVar("PackClientT", default=Any)


class Host(Protocol):
    """The server, as a pack sees it in `connect`. The pack may add and remove tools, resources and prompts later."""

    # Where a pack may keep values between calls.
    cache: Cache
    # The folder for files that must outlive the server.
    data_dir: Path
    # The folders that the operator opened to tools that work with files.
    files: Sequence[Path]
    # The httpx transport of the sandbox; None for the network.
    transport: Any
    # Masks the secrets of the settings in a text.
    mask: Callable[[str], str]
    # What all processes of this server share; None without DOGUBAKO_SHARED.
    shared: SharedStore | None
    # What only one of these processes does; None without DOGUBAKO_SHARED.
    owners: Owners | None

    def add(self, tool: BaseTool[Any, Any]) -> None: ...

    def remove(self, name: str, version: str | None = None) -> None: ...

    def add_resource(self, resource: Resource | ResourceTemplate) -> None: ...

    def remove_resource(self, uri: str) -> None: ...

    def add_skill(self, skill: Skill) -> None: ...

    def remove_skill(self, uri: str) -> None: ...

    def add_prompt(self, prompt: Prompt) -> None: ...

    def remove_prompt(self, name: str) -> None: ...

    def resources_changed(self) -> None: ...

    def prompts_changed(self) -> None: ...

    def resource_updated(self, uri: str) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class HealthCheck:
    """The outcome of one check, and what to do about it. `dogubako doctor` and `/readyz` show it."""

    ok: bool
    subject: str
    message: str
    advice: str | None = None
    severity: Literal["error", "warning"] = "error"


@dataclass(frozen=True, kw_only=True, slots=True)
class MissingSetting:
    """Why a pack cannot work yet, and the setting or the extra of the installation that is missing."""

    reason: str
    setting: str = ""
    extra: str = ""

    @property
    def advice(self) -> str:
        """What to do, as a sentence."""
        return f"Install it: pip install 'dogubako[{self.extra}]'." if self.extra else f"Set {self.setting}."


class ServiceState(msgspec.Struct, frozen=True, kw_only=True):
    """A pack of this server as the console shows it."""

    name: str
    about: str = ""
    # None where the pack is configured, or needs no settings.
    missing: MissingSetting | None = None
    instances: tuple[str, ...] = ()
    # Whether the built-in service answers for it.
    sandboxed: bool = False
    # The tools file that defines it.
    file: Path | None = None


class Pack(Generic[SettingsT, PackClientT]):
    """A service as one unit: settings, client, tools, resources and prompts. Subclass it and set the attributes."""

    # Unique among all packs. Scopes such as `notes:read` and the table of the settings file use it.
    name: str
    # What its tools are for, in a few words of tasks. Agents read it before they search.
    about: str = ""
    # More everyday words of its tools for the search, beside their `keywords`: a file with lines of tool, language and
    # words, with tabs between them. It is read at the first search.
    everyday_words: Path | None = None
    # Classes or instances of tools.
    tools: Sequence[type[BaseTool[Any, Any]] | BaseTool[Any, Any]] = ()
    resources: Sequence[Resource] = ()
    resource_templates: Sequence[ResourceTemplate] = ()
    prompts: Sequence[Prompt] = ()
    # The model of the pack's settings.
    settings: type[PackSettings] = NoSettings
    # How many calls of the pack run at once, to protect its service. None means no limit.
    max_running: int | None = 16
    # How long a call waits for a free place before it fails with `BusyError`.
    max_wait_seconds: float = 10.0
    # How often a failed call is repeated, for tools that do not set `retry`.
    default_retry: int = 0
    # Observers of all calls of the server, while the pack is served.
    observers: Sequence[CallObserver] = ()
    # Whether agents see its tools even in discovery mode `search`.
    pinned: bool = False

    @property
    def search_words(self) -> str:
        """What the search knows of all its tools beside their own words. It is never shown."""
        return self.about

    def instructions(self, settings: SettingsT) -> str | None:
        """What agents must know of this service, for the server's instructions: house rules, for example."""
        return None

    # Whether its service may be configured more than once: `[redmine.hq]`, `[redmine.client]`.
    multiple: bool = False

    def unconfigured(self, settings: SettingsT) -> MissingSetting | None:
        """The missing setting, if any."""
        return None

    @asynccontextmanager
    async def connect(self, settings: SettingsT, host: Host) -> AsyncIterator[PackClientT]:
        """Open the service client while the server runs."""
        yield None  # type: ignore[misc]

    def client_as(self, client: PackClientT, credential: Credential) -> PackClientT:
        """The client that signs in with a credential of the caller. It shares connections with `client`."""
        raise NotImplementedError(f"pack {self.name} has no credentials of callers")

    def sign_in_of(self, caller: Caller) -> Credential | None:
        """A credential that the pack keeps for this caller by itself, where the caller brought none."""
        return None

    async def check(self, settings: SettingsT, client: PackClientT) -> Sequence[HealthCheck]:
        """Health checks for `doctor` and `/readyz`."""
        return ()


class ToolPack(Pack[NoSettings, None]):
    """A pack of tools that need no service. Any number of them may run at once."""

    max_running = None

    def __init__(
        self, name: str, tools: Sequence[type[BaseTool[Any, Any]] | BaseTool[Any, Any]], *, pinned: bool = False
    ) -> None:
        self.name = name
        self.tools = tools
        self.pinned = pinned
