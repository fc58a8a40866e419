"""A pack: one service as one unit of settings, client, tools, resources and prompts."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, Protocol

from typing_extensions import TypeVar

from dogubako.contract.prompt import Prompt
from dogubako.contract.resource import Resource, ResourceTemplate
from dogubako.contract.setting import NoSettings, PackSettings
from dogubako.contract.state import Cache
from dogubako.contract.tool import BaseTool

SettingsT = TypeVar("SettingsT", bound=PackSettings, default=NoSettings)
PackClientT = TypeVar("PackClientT", default=Any)


class Host(Protocol):
    """What a connected pack may do to the server it lives in: its tools may come and go."""

    cache: Cache
    # Where a pack may keep what must outlive the server, and the folders that an operator opened to file tools.
    data_dir: Path
    files: Sequence[Path]
    # What HTTP clients send their requests through: nothing means the network, else the way into the sandbox.
    transport: Any

    def add(self, tool: BaseTool[Any, Any]) -> None: ...

    def remove(self, name: str, version: str | None = None) -> None: ...

    def resources_changed(self) -> None: ...

    def prompts_changed(self) -> None: ...

    def resource_updated(self, uri: str) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What a check found, and what to do about it."""

    ok: bool
    subject: str
    message: str
    advice: str | None = None
    severity: Literal["error", "warning"] = "error"


@dataclass(frozen=True, kw_only=True, slots=True)
class Unconfigured:
    """Why a pack cannot work yet, and the setting that changes it."""

    reason: str
    setting: str


class Pack(Generic[SettingsT, PackClientT]):
    """Front door of a service. Subclass it, or fill in the attributes."""

    name: str
    tools: Sequence[type[BaseTool[Any, Any]] | BaseTool[Any, Any]] = ()
    resources: Sequence[Resource] = ()
    resource_templates: Sequence[ResourceTemplate] = ()
    prompts: Sequence[Prompt] = ()
    settings: type[PackSettings] = NoSettings
    # Protects the service: how many calls run at once (None: as many as come), and how long the next ones wait for it.
    max_running: int | None = 16
    max_wait_seconds: float = 10.0
    default_retry: int = 0
    # Whether agents see its tools even where they search for all others.
    pinned: bool = False

    def unconfigured(self, settings: SettingsT) -> Unconfigured | None:
        """What is missing before `connect` makes sense."""
        return None

    @asynccontextmanager
    async def connect(self, settings: SettingsT, host: Host) -> AsyncIterator[PackClientT]:
        """Open the service client for as long as the server runs."""
        yield None  # type: ignore[misc]

    async def check(self, settings: SettingsT, client: PackClientT) -> Sequence[Finding]:
        """What `doctor` and `/readyz` want to know."""
        return ()


class ToolPack(Pack[NoSettings, None]):
    """Tools that need no service, so there is nothing to protect from too many calls at once."""

    max_running = None

    def __init__(self, name: str, tools: Sequence[type[BaseTool[Any, Any]] | BaseTool[Any, Any]]) -> None:
        self.name = name
        self.tools = tools
