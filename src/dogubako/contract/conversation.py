"""Progress, log lines and questions from a running tool to the client that called it.

Each transport has its own `Conversation`; a transport without a way back to the client uses `SILENCE`. A tool that
uses the conversation declares `talks = True`, because other calls can take the fast path.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from dogubako.contract.errors import CapabilityRequiredError

ClientLogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]

# What `supports` answers for a client that is never asked in the middle of a call: it calls again with the answers.
INPUT_REQUIRED: Final = "input_required"
# What `supports` is asked for a client that takes a task instead of an answer.
TASKS: Final = "io.modelcontextprotocol/tasks"
# What `supports` is asked for a client that can show its user an address to open.
URL_ELICITATION: Final = "elicitation by URL"


@dataclass(frozen=True, kw_only=True, slots=True)
class ElicitRequest:
    """A question to the user. `schema` describes a flat form.

    `subject` is not shown. It distinguishes questions with the same text, for example about two calls of one tool.
    """

    message: str
    schema: Mapping[str, Any]
    subject: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class UrlRequest:
    """A request to the user to open an address, for what must not pass through the client: signing in, for example.

    An accepted answer says that the user agreed to open it, not that anything was done there.
    """

    message: str
    url: str
    subject: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleRequest:
    """A prompt for the client's language model."""

    prompt: str
    max_tokens: int = 1000
    system: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RootsRequest:
    """A request for the folders that the client has opened."""


# What `Context.request` takes: a question to the user, to the client's model, or for the client's folders.
InputRequest = ElicitRequest | UrlRequest | SampleRequest | RootsRequest
InputRequests = Mapping[str, InputRequest]


@dataclass(frozen=True, kw_only=True, slots=True)
class ElicitResult:
    """The user's answer: whether the form or the address was accepted, and what was filled in."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any]

    @property
    def accepted(self) -> bool:
        return self.action == "accept"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """The text that the client's model wrote, and the model's name."""

    text: str
    model: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Root:
    """A folder that the client has opened."""

    uri: str
    name: str | None = None


InputAnswer = ElicitResult | Sample | tuple[Root, ...]


class InputRequired(Exception):  # noqa: N818 - a signal, not a failure
    """Raised to end this round: the tool runs again from the start when the answers to these requests have arrived."""

    def __init__(self, requests: InputRequests) -> None:
        super().__init__("input required")
        self.requests = requests


class TaskRequired(Exception):  # noqa: N818 - a signal, as above
    """Raised to answer the call with a task, in which the tool runs again from the start."""


class Conversation(Protocol):
    """The operations that a transport offers a running tool."""

    def supports(self, capability: str) -> bool: ...

    async def progress(self, done: float, total: float | None, message: str | None) -> None: ...

    async def log(self, level: ClientLogLevel, message: str) -> None: ...

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        """Answer all requests, or raise `InputRequired` or `CapabilityRequiredError`."""
        ...


class NullConversation:
    """No client listens: progress and log lines are dropped, and questions fail."""

    def supports(self, capability: str) -> bool:
        return False

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        return None

    async def log(self, level: ClientLogLevel, message: str) -> None:
        return None

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        raise CapabilityRequiredError(capability_of(next(iter(requests.values()))))


SILENCE = NullConversation()


def capability_of(request: InputRequest) -> str:
    """The MCP capability that a client needs to answer this request."""
    if isinstance(request, ElicitRequest):
        return "elicitation"
    if isinstance(request, UrlRequest):
        return URL_ELICITATION
    return "sampling" if isinstance(request, SampleRequest) else "roots"
