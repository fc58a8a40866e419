"""What a door sees of the server behind it."""

from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from dogubako.contract.pack import Finding
from dogubako.contract.state import OnceStore
from dogubako.engine.catalog import Catalog
from dogubako.engine.discovery import Discovery
from dogubako.engine.finding import Finder
from dogubako.engine.pipeline import Pipeline
from dogubako.engine.registry import ToolRegistry
from dogubako.engine.switching import Switchboard
from dogubako.gate.authentication import Authenticator
from dogubako.settings import Settings

SERVER_NAME = "dogubako"
INSTRUCTIONS = (
    "Tools of this server answer within a token budget: what was left out is named, with the call that gets it. "
    "A failed call says what to do next in its second text block."
)
FINDING = (
    "Only a few of this server's tools are listed. search_tools finds the others by what you want to do, "
    "describe_tool shows the arguments of one, call_tool calls it. Calls that an answer proposes go through call_tool. "
)


class Inside(Protocol):
    """The toolbox, as doors use it."""

    settings: Settings
    registry: ToolRegistry
    pipeline: Pipeline
    catalog: Catalog
    discovery: Discovery
    finder: Finder
    switchboard: Switchboard
    authenticator: Authenticator
    once: OnceStore

    def running(self) -> AbstractAsyncContextManager[Any]: ...

    async def check(self) -> list[Finding]: ...
