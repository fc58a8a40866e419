"""Requests to a server that another process runs, as messages between the two: the call, what it says, and its end.

What a call needs of its client travels along: whether it can be asked, its progress, log lines, questions and answers.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any, Final

from dogubako.contract.conversation import (
    INPUT_REQUIRED,
    URL_ELICITATION,
    ClientLogLevel,
    Conversation,
    ElicitRequest,
    ElicitResult,
    InputAnswer,
    InputRequest,
    InputRequests,
    InputRequired,
    Root,
    RootsRequest,
    Sample,
    SampleRequest,
    UrlRequest,
)
from dogubako.contract.errors import ApiError, CapabilityRequiredError, CredentialRequiredError, DogubakoError
from dogubako.gateway.link import (
    AnswerTooLong,
    Message,
    SignInRequired,
    UpstreamError,
    UpstreamLost,
    WrongConfiguration,
)

CAPABILITIES: Final = (INPUT_REQUIRED, URL_ELICITATION, "elicitation", "sampling", "roots")
_REQUESTS: Final[dict[str, Callable[..., InputRequest]]] = {
    "ElicitRequest": ElicitRequest,
    "UrlRequest": UrlRequest,
    "SampleRequest": SampleRequest,
    "RootsRequest": RootsRequest,
}
_ANSWERS: Final[dict[str, Callable[..., InputAnswer]]] = {"ElicitResult": ElicitResult, "Sample": Sample}

# Sends a message to the process that waits for a call, and returns its reply.
Tell = Callable[[Message], Awaitable[Message]]


class RemoteConversation:
    """The conversation of a call that another process got: what is said is sent there."""

    def __init__(self, supported: list[str], tell: Tell) -> None:
        self._supported = frozenset(supported)
        self._tell = tell

    def supports(self, capability: str) -> bool:
        return capability in self._supported

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        await self._tell({"progress": [done, total, message]})

    async def log(self, level: ClientLogLevel, message: str) -> None:
        await self._tell({"log": [level, message]})

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        return {key: _answer(one) for key, one in opened(await self._tell({"ask": _sealed(requests)})).items()}


async def said_to(conversation: Conversation, message: Message) -> Message:
    """Pass on what a call said that runs in another process. The reply is what the client answered."""
    if "progress" in message:
        await conversation.progress(*message["progress"])
    elif "log" in message:
        await conversation.log(*message["log"])
    elif "ask" in message:
        asked = conversation.request(_requests(message["ask"]))
        return await outcome(_written(asked))
    return {"result": {}}


async def _written(asked: Awaitable[Mapping[str, InputAnswer]]) -> Message:
    return {key: _kind_and_fields(answer) for key, answer in (await asked).items()}


async def outcome(work: Awaitable[Message]) -> Message:
    """How work ended, for another process."""
    try:
        return {"result": await work}
    except InputRequired as needed:
        return {"required": _sealed(needed.requests)}
    except UpstreamError as error:
        return {"error": [error.code, error.message, error.data]}
    except AnswerTooLong as error:
        return {"too_long": error.reason}
    except UpstreamLost as error:
        return {"lost": [error.reason, error.may_have_run]}
    except SignInRequired as error:
        return {"sign_in": error.challenge}
    except CredentialRequiredError:
        return {"sign_in": ""}
    except WrongConfiguration as error:
        return {"configuration": str(error)}
    except CapabilityRequiredError as error:
        return {"capability": [error.capability, error.hint]}
    except DogubakoError as error:
        return {"failed": [error.message, error.hint, error.transient]}
    except TimeoutError:
        return {"timeout": True}


def opened(ended: Message) -> Message:
    """The result of work that another process did, or the exception with which it ended."""
    match ended:
        case {"result": dict() as result}:
            return result
        case {"required": requests}:
            raise InputRequired(_requests(requests))
        case {"error": [code, message, data]}:
            raise UpstreamError(code, message, data)
        case {"too_long": reason}:
            raise AnswerTooLong(reason)
        case {"lost": [reason, may_have_run]}:
            raise UpstreamLost(reason, may_have_run=may_have_run)
        case {"sign_in": challenge}:
            raise SignInRequired(challenge)
        case {"configuration": text}:
            raise WrongConfiguration(text)
        case {"capability": [capability, hint]}:
            raise CapabilityRequiredError(capability, hint=hint)
        case {"failed": [message, hint, transient]}:
            raise ApiError(message, hint=hint, unreachable=transient)
        case {"timeout": _}:
            raise TimeoutError
    raise UpstreamLost("The process that runs the server answered in an unknown way.")


def _sealed(requests: InputRequests) -> Message:
    return {key: _kind_and_fields(request) for key, request in requests.items()}


def _kind_and_fields(value: InputRequest | InputAnswer) -> list[Any]:
    if isinstance(value, tuple):
        return ["roots", [asdict(root) for root in value]]
    return [type(value).__name__, asdict(value)]


def _requests(sealed: Message) -> dict[str, InputRequest]:
    return {key: _REQUESTS[kind](**fields) for key, (kind, fields) in sealed.items()}


def _answer(sealed: list[Any]) -> InputAnswer:
    kind, fields = sealed
    return tuple(Root(**root) for root in fields) if kind == "roots" else _ANSWERS[kind](**fields)
