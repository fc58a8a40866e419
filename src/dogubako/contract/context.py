"""What a tool may use while it runs."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol

import anyio.lowlevel
from pydantic import BaseModel
from typing_extensions import TypeVar

from dogubako.contract.call import TRUSTED, Caller, Door, ToolResult
from dogubako.contract.conversation import (
    SILENCE,
    Answer,
    ClientLogLevel,
    Conversation,
    InputAnswer,
    InputRequest,
    Question,
    Root,
    RootsRequest,
    Sample,
    SampleRequest,
)
from dogubako.contract.errors import DogubakoError
from dogubako.contract.other_tools import NO_OTHER_TOOLS, OtherTools
from dogubako.contract.schema import schema_of
from dogubako.contract.state import Cache, NoCache

ClientT = TypeVar("ClientT", default=Any)
FormT = TypeVar("FormT", bound=BaseModel)

# From the name of a pack to its client and its settings.
Surroundings = Callable[[str], tuple[Any, Any]]

# A tool may report every row it reads; a client needs to hear of it a few times a second.
_PROGRESS_INTERVAL_SECONDS = 0.05


class Responses(Protocol):
    """How an outcome becomes an answer. `response.ToolResponseBuilder` is the one that we ship."""

    @property
    def max_tokens(self) -> int:
        """How large this call's answer may become; for tools that fetch or show no more than fits."""

    def success(self, answer: Any) -> ToolResult: ...

    def failure(self, error: DogubakoError) -> ToolResult: ...


@dataclass(kw_only=True, slots=True)
class ToolContext(Generic[ClientT]):
    """One call's surroundings: the service client, the answer builder, and the way back to the caller."""

    client: ClientT
    responses: Responses
    settings: Any = None
    conversation: Conversation = SILENCE
    caller: Caller = TRUSTED
    door: Door = "python"
    call_id: str = ""
    cache: Cache = field(default_factory=NoCache)
    tools: OtherTools = NO_OTHER_TOOLS
    _last_progress: float = 0.0
    _asked: int = 0

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell how far the work is. Frequent reports are thinned out, the last one (`done == total`) is not."""
        now = time.monotonic()
        if done == total or now - self._last_progress >= _PROGRESS_INTERVAL_SECONDS:
            self._last_progress = now
            await self.conversation.progress(done, total, message)

    async def log(self, level: ClientLogLevel, message: str) -> None:
        """Send a line to the client's log, where it wants one. Our own log is `structlog`'s business."""
        await self.conversation.log(level, message)

    def supports(self, capability: str) -> bool:
        """Whether the client can answer `elicitation`, `sampling` or `roots`."""
        return self.conversation.supports(capability)

    async def ask(
        self, message: str, form: type[BaseModel] | Mapping[str, Any] | None = None, *, key: str | None = None
    ) -> Answer:
        """Ask the person. `form` describes flat fields; without one the answer is the text `answer`.

        With clients that keep no session the tool is run again from the top when the answer arrives, and earlier
        questions are answered from memory: do nothing that must not happen twice before the last question.
        """
        answer = await self._request(Question(message=message, schema=_form_schema(form)), key)
        assert isinstance(answer, Answer)
        return answer

    async def sample(
        self, prompt: str, *, max_tokens: int = 1000, system: str | None = None, key: str | None = None
    ) -> Sample:
        """Let the client's model write something."""
        answer = await self._request(SampleRequest(prompt=prompt, max_tokens=max_tokens, system=system), key)
        assert isinstance(answer, Sample)
        return answer

    async def roots(self, *, key: str | None = None) -> tuple[Root, ...]:
        """Which folders the client has opened."""
        answer = await self._request(RootsRequest(), key)
        assert isinstance(answer, tuple)
        return answer

    async def request(self, **requests: InputRequest) -> Mapping[str, InputAnswer]:
        """Ask several things in one round."""
        return await self.conversation.request(requests)

    async def checkpoint(self) -> None:
        """Let others run, and stop here if the call was cancelled."""
        await anyio.lowlevel.checkpoint()

    async def _request(self, request: InputRequest, key: str | None) -> InputAnswer:
        self._asked += 1
        name = key or f"input_{self._asked}"
        return (await self.conversation.request({name: request}))[name]


def _form_schema(form: type[BaseModel] | Mapping[str, Any] | None) -> Mapping[str, Any]:
    if form is None:
        return {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
    return form if isinstance(form, Mapping) else schema_of(form)
