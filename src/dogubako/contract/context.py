"""`Context`: what a tool can use while it runs."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol

import anyio.lowlevel
import msgspec
from pydantic import BaseModel
from typing_extensions import TypeVar

from dogubako.contract.call import TRUSTED, Caller, Door, Resume, ToolResult
from dogubako.contract.conversation import (
    SILENCE,
    TASKS,
    ClientLogLevel,
    Conversation,
    ElicitRequest,
    ElicitResult,
    InputAnswer,
    InputRequest,
    Root,
    RootsRequest,
    Sample,
    SampleRequest,
    TaskRequired,
    UrlRequest,
)
from dogubako.contract.credentials import Accesses
from dogubako.contract.errors import DogubakoError, NotFoundError
from dogubako.contract.metadata import ToolMetadata
from dogubako.contract.schema import schema_of
from dogubako.contract.storage import Cache, NoCache
from dogubako.contract.tasks import CallerTasks


class FoundTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that matches a query, with its score (0 to 1)."""

    metadata: ToolMetadata
    score: float


class FoundTools(msgspec.Struct, frozen=True, kw_only=True):
    """What a search found, best first."""

    tools: Sequence[FoundTool] = ()
    # Whether probably none of them does what was asked for; then they are the nearest.
    is_doubtful: bool = False
    # How many tools could not be searched yet.
    not_indexed: int = 0


class OtherTools(Protocol):
    """The other tools that this caller may use."""

    async def call(self, name: str, parameters: Mapping[str, Any], resume: Resume | None = None) -> ToolResult:
        """Call a tool through the whole pipeline."""

    async def search(self, query: str, *, category: str | None = None) -> FoundTools:
        """The tools that match the query, best first. A tool does not find itself."""

    def describe(self, name: str) -> ToolMetadata:
        """The metadata of a tool. Raises `ToolNotFoundError` with similar names when there is none."""

    def count(self) -> int:
        """The number of tools."""

    @property
    def tasks(self) -> CallerTasks:
        """The tasks of this caller."""


class NoOtherTools:
    """Stands for the other tools of a tool that runs outside a server."""

    async def call(self, name: str, parameters: Mapping[str, Any], resume: Resume | None = None) -> ToolResult:
        raise RuntimeError("this context has no registry to call other tools from")

    async def search(self, query: str, *, category: str | None = None) -> FoundTools:
        return FoundTools()

    def describe(self, name: str) -> ToolMetadata:
        raise RuntimeError("this context has no registry to look into")

    def count(self) -> int:
        return 0

    @property
    def tasks(self) -> CallerTasks:
        raise RuntimeError("this context has no server that runs tasks")


NO_OTHER_TOOLS = NoOtherTools()


def no_other_instance(name: str) -> Any:
    """For a service with one instance."""
    raise NotFoundError("This service has no other instance")


ClientT = TypeVar("ClientT", default=Any)
FormT = TypeVar("FormT", bound=BaseModel)


class PackParts(Protocol):
    """What the tools of a pack share: the client of its service, and its settings."""

    @property
    def client(self) -> Any: ...

    @property
    def settings(self) -> Any: ...

    @property
    def accesses(self) -> Accesses | None:
        """Chooses client and settings for each call; None where all calls use the same."""


class NoParts(msgspec.Struct, frozen=True):
    """The parts of tools that no pack brought."""

    client: None = None
    settings: None = None
    accesses: None = None


NO_PARTS = NoParts()

# A tool may report every row that it reads; a few reports per second are enough for a client.
_PROGRESS_INTERVAL_SECONDS = 0.05


class Responses(Protocol):
    """Builds answers from results and errors. `response.ToolResponseBuilder` implements it."""

    @property
    def max_tokens(self) -> int:
        """The token budget of this call's answer, for tools that fetch or show no more than fits."""

    def success(self, answer: Any, *, in_pieces: bool = False) -> ToolResult: ...

    def failure(self, error: DogubakoError) -> ToolResult: ...


class Context(msgspec.Struct, Generic[ClientT], kw_only=True, eq=False):
    """What a tool may use while it runs: the pack's client and settings, the caller, other tools, and the client."""

    # What the pack's `connect` or the file's `lifespan` yields.
    client: ClientT
    # Builds the answer of this call. `responses.max_tokens` says how large it may become.
    responses: Responses
    # The settings of the pack.
    settings: Any = None
    # The connection to the client. The methods below use it.
    conversation: Conversation = SILENCE
    # Who made the call.
    caller: Caller = TRUSTED
    # The transport that the call came through.
    door: Door = "python"
    # Identifies the call in the server's log and in the audit log.
    call_id: str = ""
    # Where a tool may keep values between calls.
    cache: Cache = msgspec.field(default_factory=NoCache)
    # The other tools that this caller may call, search and describe.
    tools: OtherTools = NO_OTHER_TOOLS
    # The client of another instance of the same service, as this caller uses it.
    in_instance: Callable[[str], Any] = no_other_instance
    _last_progress: float = 0.0
    _asked: int = 0

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress. Frequent reports are dropped, except for the last one (`done == total`)."""
        now = time.monotonic()
        if done == total or now - self._last_progress >= _PROGRESS_INTERVAL_SECONDS:
            self._last_progress = now
            await self.conversation.progress(done, total, message)

    async def log(self, level: ClientLogLevel, message: str) -> None:
        """Send a line to the client's log, if the client wants it. Use `structlog` for the server's own log."""
        await self.conversation.log(level, message)

    def supports(self, capability: str) -> bool:
        """Return whether the client supports `elicitation`, `URL_ELICITATION`, `sampling` or `roots`."""
        return self.conversation.supports(capability)

    async def ask(
        self, message: str, form: type[BaseModel] | Mapping[str, Any] | None = None, *, key: str | None = None
    ) -> ElicitResult:
        """Ask the user (MCP elicitation). `form` describes flat fields; without it there is one text field, `answer`.

        For clients without a session the server runs the tool again from the top when the answer arrives, and answers
        earlier questions from memory: do nothing that must not happen twice before the last question.
        """
        answer = await self._request(ElicitRequest(message=message, schema=_form_schema(form)), key)
        assert isinstance(answer, ElicitResult)
        return answer

    async def ask_to_open(self, message: str, url: str, *, key: str | None = None) -> ElicitResult:
        """Ask the user to open an address (MCP elicitation by URL), where `supports(URL_ELICITATION)`.

        An accepted answer says only that the user agreed to open it.
        """
        answer = await self._request(UrlRequest(message=message, url=url), key)
        assert isinstance(answer, ElicitResult)
        return answer

    async def sample(
        self, prompt: str, *, max_tokens: int = 1000, system: str | None = None, key: str | None = None
    ) -> Sample:
        """Ask the client's language model to write something (MCP sampling)."""
        answer = await self._request(SampleRequest(prompt=prompt, max_tokens=max_tokens, system=system), key)
        assert isinstance(answer, Sample)
        return answer

    async def roots(self, *, key: str | None = None) -> tuple[Root, ...]:
        """Return the folders that the client has opened (MCP roots)."""
        answer = await self._request(RootsRequest(), key)
        assert isinstance(answer, tuple)
        return answer

    async def request(self, **requests: InputRequest) -> Mapping[str, InputAnswer]:
        """Send several requests in one round."""
        return await self.conversation.request(requests)

    async def become_task(self) -> None:
        """Answer the call with a task, if the client takes one: the tool runs again from the top in that task.

        Earlier questions are answered from memory then. For other clients, and in the task, nothing happens.
        """
        if self.conversation.supports(TASKS):
            raise TaskRequired

    async def checkpoint(self) -> None:
        """Yield to other tasks, and stop here if the call was cancelled."""
        await anyio.lowlevel.checkpoint()

    async def _request(self, request: InputRequest, key: str | None) -> InputAnswer:
        self._asked += 1
        name = key or f"input_{self._asked}"
        return (await self.conversation.request({name: request}))[name]


def _form_schema(form: type[BaseModel] | Mapping[str, Any] | None) -> Mapping[str, Any]:
    if form is None:
        return {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
    return form if isinstance(form, Mapping) else schema_of(form)
