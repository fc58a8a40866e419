"""How a running tool talks with the client that called it: progress, log lines, and questions.

Each door brings its own `Conversation`; a door without a way back brings `SILENCE`. A tool that talks says so
(`talks = True`), because a plain call can be answered on a shorter path.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from dogubako.contract.errors import CapabilityRequiredError

ClientLogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """Something to ask the person: `schema` describes a flat form.

    `subject` is not shown. It tells two questions apart that read the same, for example about two calls of one tool.
    """

    message: str
    schema: Mapping[str, Any]
    subject: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleRequest:
    """Something to ask the client's language model."""

    prompt: str
    max_tokens: int = 1000
    system: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RootsRequest:
    """Which folders the client has opened."""


InputRequest = Question | SampleRequest | RootsRequest
InputRequests = Mapping[str, InputRequest]


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What the person did with the form."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any]

    @property
    def accepted(self) -> bool:
        return self.action == "accept"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """What the client's model wrote."""

    text: str
    model: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Root:
    """A folder that the client has opened."""

    uri: str
    name: str | None = None


InputAnswer = Answer | Sample | tuple[Root, ...]


class InputRequired(Exception):  # noqa: N818 - a signal, not a failure
    """The answer to these requests comes with the next round; the tool will be run again from the top."""

    def __init__(self, requests: InputRequests) -> None:
        super().__init__("input required")
        self.requests = requests


class Conversation(Protocol):
    """What a door offers a running tool."""

    def supports(self, capability: str) -> bool: ...

    async def progress(self, done: float, total: float | None, message: str | None) -> None: ...

    async def log(self, level: ClientLogLevel, message: str) -> None: ...

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        """Answer all requests, or raise `InputRequired` or `CapabilityRequiredError`."""
        ...


class Silence:
    """Nobody listens: progress and log lines go nowhere, and a question cannot be asked."""

    def supports(self, capability: str) -> bool:
        return False

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        return None

    async def log(self, level: ClientLogLevel, message: str) -> None:
        return None

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        raise CapabilityRequiredError(capability_of(next(iter(requests.values()))))


SILENCE = Silence()


def capability_of(request: InputRequest) -> str:
    """What a client must support to answer this request, in MCP's words."""
    if isinstance(request, Question):
        return "elicitation"
    return "sampling" if isinstance(request, SampleRequest) else "roots"
