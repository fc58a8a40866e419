"""The interface of the toolbox that transports use."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from dogubako.contract.call import Caller, Door
from dogubako.contract.gateway_ids import GatewayIds
from dogubako.contract.pack import HealthCheck, ServiceState
from dogubako.contract.redaction import Redactor
from dogubako.contract.sessions import SessionStore
from dogubako.contract.storage import OnceStore, ProcessMessages, SharedStore
from dogubako.engine.catalog import Catalog
from dogubako.engine.discovery import Discovery
from dogubako.engine.events import EndedCall
from dogubako.engine.operations import Finder, Switchboard
from dogubako.engine.pipeline import Pipeline
from dogubako.engine.registry import ToolRegistry
from dogubako.gate.audit import AuditLog
from dogubako.gate.authentication import Authenticator
from dogubako.gate.key_administration import KeyAdministration
from dogubako.settings import Settings
from dogubako.settings_view import ShownSetting
from dogubako.tasks.service import Tasks

SERVER_NAME = "dogubako"
INSTRUCTIONS = (
    "Tools of this server answer within a token budget: what was left out is named, with the call that gets it. "
    "A failed call says what to do next in its second text block."
)
FINDING = (
    "Only a few of this server's tools are listed. search_tools finds the others by what you want to do, "
    "describe_tool shows the arguments of one, call_tool calls it. Calls that an answer proposes go through call_tool. "
)


LIGHT = (
    "Tools are listed by name and one line; describe_tool shows the arguments of one before you call it by its name. "
)
MAP = "What is here, and how many tools for it:\n{lines}\n"


class ServerAdministration(Protocol):
    """What administrators may do with other MCP servers."""

    async def list(self, *, caller: Caller, door: Door) -> list[dict[str, Any]]: ...

    async def show(self, name: str, *, caller: Caller, door: Door) -> dict[str, Any]: ...

    async def add(
        self, name: str, table: Mapping[str, Any], *, approve: bool, caller: Caller, door: Door
    ) -> dict[str, Any]: ...

    async def remove(self, name: str, *, caller: Caller, door: Door) -> None: ...

    async def approve(
        self, name: str, tools: Sequence[str] | None, *, caller: Caller, door: Door
    ) -> dict[str, Any]: ...

    async def restart(self, name: str, *, caller: Caller, door: Door) -> dict[str, Any]: ...

    async def sign_in_state(self, name: str, *, caller: Caller, door: Door) -> dict[str, Any]: ...

    async def begin_sign_in(self, name: str, redirect_uri: str, *, caller: Caller, door: Door) -> str: ...

    async def finish_sign_in(self, query: Mapping[str, str], *, caller: Caller, door: Door) -> str: ...

    async def sign_out(self, name: str, *, caller: Caller, door: Door) -> None: ...


class ServedToolbox(Protocol):
    """The toolbox, as transports use it."""

    settings: Settings
    registry: ToolRegistry
    pipeline: Pipeline
    catalog: Catalog
    discovery: Discovery
    finder: Finder
    switchboard: Switchboard
    authenticator: Authenticator
    once: OnceStore
    # What several processes share; None where this one is alone.
    sessions: SessionStore | None
    messages: ProcessMessages | None
    store: SharedStore | None
    # Which gateways use this server, so that none of them is this one.
    gateways: GatewayIds
    redactor: Redactor
    audit: AuditLog | None
    keys: KeyAdministration
    tasks: Tasks
    # Request headers in which callers send their own credentials, and the service of each.
    credential_headers: Mapping[bytes, str]

    @property
    def server_administration(self) -> ServerAdministration: ...

    @property
    def pack_instructions(self) -> str: ...

    def about(self, pack: str) -> str:
        """What the tools of a pack are for, in words of tasks; empty where its author does not say."""

    def watch_calls(self, listener: Callable[[Sequence[EndedCall]], None]) -> Callable[[], None]:
        """Pass ended calls to this listener in batches, until the returned function is called."""

    def service_states(self) -> list[ServiceState]: ...

    def settings_in_force(self) -> list[ShownSetting]: ...

    def running(self) -> AbstractAsyncContextManager[Any]: ...

    async def check(self) -> list[HealthCheck]: ...
