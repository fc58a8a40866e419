"""Pass the questions of a server on to the client that made the call, in all four combinations of protocol eras.

| the server | our client | how a question is answered |
| --- | --- | --- |
| asks during the call (2025-11-25 and older) | can be asked at once | the answer is sent while the call runs |
| asks during the call | calls again with answers (2026-07-28) | the call is parked and continued by the second call |
| answers `input_required` (2026-07-28) | can be asked at once | the request is repeated with the answers |
| answers `input_required` | calls again with answers | its state is parked, and the second call repeats the request |

A parked call is found again by its caller, tool and arguments, and by a nonce in its question, which nobody can guess.
The client's state, which has a digest of the question, is sealed and bound to caller, tool and arguments.
"""

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from secrets import token_hex
from typing import Any, Final

from dogubako.contract.context import Context
from dogubako.contract.conversation import (
    INPUT_REQUIRED,
    URL_ELICITATION,
    ElicitRequest,
    InputAnswer,
    InputRequest,
    InputRequired,
    RootsRequest,
    SampleRequest,
    UrlRequest,
)
from dogubako.contract.errors import ApiError, CapabilityRequiredError
from dogubako.engine.input_requests import written_answer
from dogubako.gateway.link import Message, RequestId, UpstreamError
from dogubako.gateway.messages import digest
from dogubako.gateway.pending_requests import Answered, Failed, LogLine, PendingRequest, Progress, ServerRequest
from dogubako.gateway.session import UpstreamSession

# As long as the state that the client holds is valid.
PARKED_SECONDS: Final = 600.0
MOST_PARKED_PER_CALLER: Final = 32
MOST_PARKED: Final = 200
_MOST_ROUNDS: Final = 10
_ELICITATIONS: Final = {"form": "elicitation", "url": URL_ELICITATION}
_LEVELS: Final = frozenset({"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"})
_NOT_SUPPORTED: Final = -32601
_UNUSABLE: Final = -32602
# A server that answers `input_required` without a question wants to be asked again in a moment.
_NO_QUESTION_SECONDS: Final = 0.2
_WEB: Final = re.compile(r"https?://[^\s\x00-\x1f]+\Z", re.IGNORECASE)


class Question:
    """What a server wants to know before it goes on."""

    def __init__(self, asked: Mapping[str, tuple[str, Message]], *, request: RequestId | None, state: Any) -> None:
        # The server's request, if it waits for the answer while the call runs.
        self.request = request
        self.state = state
        self._nonce = token_hex(8)
        self._names: dict[str, str] = {}
        self.requests: dict[str, InputRequest] = {}
        for name, (method, params) in asked.items():
            read = _read_request(method, params)
            own = replace(read, subject=self._nonce) if isinstance(read, ElicitRequest | UrlRequest) else read
            self.requests[self._key(name, read)] = own

    def _key(self, name: str, request: InputRequest) -> str:
        """The key that the client sees: the server's own, where something else tells this question from others."""
        is_own = isinstance(request, ElicitRequest | UrlRequest)
        key = name if name and is_own else f"{name or 'input'}_{self._nonce}"
        self._names[key] = name
        return key

    def answers(self, answers: Mapping[str, InputAnswer]) -> dict[str, Message]:
        """The answers under the names that the server gave its questions."""
        return {self._names[key]: written_answer(answer, self.requests[key]) for key, answer in answers.items()}


class RunningCall:
    """A call at a server, with all that is needed to continue it."""

    def __init__(self, session: UpstreamSession, method: str, params: Message, owner: str) -> None:
        self.session = session
        self.owner = owner
        self._method = method
        self._params = params
        self._rounds = 0
        self._pending: PendingRequest | None = None
        self._question: Question | None = None
        self._refused: CapabilityRequiredError | None = None

    async def start(self, context: Context[Any], more: Mapping[str, Any] | None = None) -> None:
        """Send the request. `more` holds the answers to a question, in the modern era."""
        capabilities: Message = {name: {} for name in ("sampling", "roots") if context.supports(name)}
        modes: Message = {mode: {} for mode, name in _ELICITATIONS.items() if context.supports(name)}
        if modes:
            capabilities["elicitation"] = modes
        self._pending = await self.session.start(
            self._method, {**self._params, **(more or {})}, owner=self.owner, capabilities=capabilities
        )

    async def answered_by(self, context: Context[Any]) -> Mapping[str, InputAnswer] | None:
        """The answers to the open question that came with this call, if any. Nobody is asked."""
        if self._question is None:
            return None
        try:
            return await context.request(**self._question.requests)
        except InputRequired:
            return None

    async def go_on(self, context: Context[Any], answers: Mapping[str, InputAnswer]) -> None:
        """Give the server the answers to its question."""
        question, self._question = self._question, None
        assert question is not None and self._pending is not None
        named = question.answers(answers)
        if question.request is not None:
            self.session.reply(self._pending, question.request, next(iter(named.values())))
            return
        self._rounds += 1
        if self._rounds > _MOST_ROUNDS:
            raise ApiError(
                "The server asks for input again and again.", hint="Call another tool, or tell the operator."
            )
        state = {} if question.state is None else {"requestState": question.state}
        await self.start(context, {**({"inputResponses": named} if named else {}), **state})

    async def result(self, context: Context[Any]) -> Message:
        """Wait for the result; pass progress, log lines and questions on.

        Raises `InputRequired` if the client has to call again with answers. The call must be parked then.
        """
        while True:
            result = await self._next_result(context)
            if result is not None:
                return result
            assert self._question is not None
            try:
                answers = await context.request(**self._question.requests) if self._question.requests else {}
            except CapabilityRequiredError as error:
                self._refuse(error)
                continue
            await self.go_on(context, answers)

    async def _next_result(self, context: Context[Any]) -> Message | None:
        """The result, or None when there is a question."""
        assert self._pending is not None
        while True:
            match await self._pending.next():
                case Progress(done, total, message):
                    # Not by the context, which drops reports that follow each other closely: these may have waited.
                    await context.conversation.progress(done, total, message)
                case LogLine(level, text):
                    await context.log(level if level in _LEVELS else "info", text)  # type: ignore[arg-type]
                case ServerRequest(request, method, params):
                    try:
                        self._question = Question({"": (method, params)}, request=request, state=None)
                    except ValueError as error:
                        self.session.reply(self._pending, request, UpstreamError(_UNUSABLE, str(error)))
                        continue
                    return None
                case Failed(error):
                    raise self._refused or error
                case Answered(result) if self._wants_input(result):
                    self._question = _question_of(result)
                    if not self._question.requests:
                        await asyncio.sleep(_NO_QUESTION_SECONDS)
                    return None
                case Answered(result):
                    if self._refused is not None and result.get("isError"):
                        raise self._refused
                    return result

    def _wants_input(self, result: Message) -> bool:
        """Whether the request has to be repeated. A call of an older session has run."""
        return result.get("resultType") == "input_required" and self.session.era == "modern"

    def _refuse(self, error: CapabilityRequiredError) -> None:
        """Tell the server that the client cannot be asked. Some servers can do without."""
        question, self._question = self._question, None
        if question is None or question.request is None or self._pending is None:
            raise error
        self._refused = error
        self.session.reply(self._pending, question.request, UpstreamError(_NOT_SUPPORTED, error.message))

    def stop(self, reason: str = "") -> None:
        """Tell the server that nobody waits any more."""
        if self._pending is not None:
            self.session.abandon(self._pending, reason)


class ParkedCalls:
    """Calls that wait for their client to call again with an answer."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, str], list[RunningCall]] = {}
        self._timers: dict[RunningCall, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._timers)

    async def continued(self, key: tuple[str, str], context: Context[Any]) -> RunningCall | None:
        """The parked call whose question this call answers, with its server told the answer."""
        if not context.supports(INPUT_REQUIRED):
            return None
        for call in list(self._calls.get(key, ())):
            answers = await call.answered_by(context)
            if answers is not None and call in self._timers:
                self._take(key, call)
                await call.go_on(context, answers)
                return call
        return None

    def park(self, key: tuple[str, str], call: RunningCall) -> None:
        """Keep a call for a while. The oldest one of a caller that has too many gives way to it."""
        of_caller = [(other, one) for other, one in self._keys() if other[0] == key[0]]
        if len(of_caller) >= MOST_PARKED_PER_CALLER:
            self._expire(*of_caller[0])
        elif len(self._timers) >= MOST_PARKED:
            self._expire(*next(self._keys()))
        self._calls.setdefault(key, []).append(call)
        loop = asyncio.get_running_loop()
        self._timers[call] = loop.call_later(PARKED_SECONDS, self._expire, key, call)

    def _keys(self) -> Iterator[tuple[tuple[str, str], RunningCall]]:
        """All calls with their keys, the oldest first."""
        keys = {call: key for key, calls in self._calls.items() for call in calls}
        return ((keys[call], call) for call in self._timers)

    def clear(self) -> None:
        """Stop all of them."""
        for key, calls in list(self._calls.items()):
            for call in list(calls):
                self._expire(key, call)

    def _expire(self, key: tuple[str, str], call: RunningCall) -> None:
        self._take(key, call)
        call.stop("no answer in time")

    def _take(self, key: tuple[str, str], call: RunningCall) -> None:
        self._timers.pop(call).cancel()
        self._calls[key].remove(call)
        if not self._calls[key]:
            del self._calls[key]


def park_key(owner: str, tool: str, arguments: Mapping[str, Any]) -> tuple[str, str]:
    """The key of a call: its caller, and a digest of what was called."""
    return owner, digest(tool, arguments)


def _question_of(result: Message) -> Question:
    asked = result.get("inputRequests")
    asked = asked if isinstance(asked, dict) else {}
    objects = {name: one if isinstance(one, dict) else {} for name, one in asked.items()}
    pairs = {name: (str(one.get("method")), one.get("params") or {}) for name, one in objects.items()}
    try:
        return Question(pairs, request=None, state=result.get("requestState"))
    except ValueError as error:
        raise ApiError(f"The server asked for input in a way that cannot be passed on: {error}") from error


def _read_request(method: str, params: Message) -> InputRequest:
    """A question in our words; ValueError for one that we cannot pass on."""
    readers: dict[str, Callable[[Message], InputRequest]] = {
        "elicitation/create": _read_elicitation,
        "sampling/createMessage": _read_sampling,
        "roots/list": lambda params: RootsRequest(),
    }
    if method not in readers or not isinstance(params, dict):
        raise ValueError("unknown kind of request")
    return readers[method](params)


def _read_elicitation(params: Message) -> ElicitRequest | UrlRequest:
    mode, message = params.get("mode", "form"), params.get("message")
    schema, url = params.get("requestedSchema"), params.get("url")
    if mode == "form" and isinstance(schema, dict) and isinstance(message, str):
        return ElicitRequest(message=message, schema=schema)
    # A page of any other scheme could run a program of the user.
    if mode == "url" and isinstance(message, str) and isinstance(url, str) and _WEB.match(url):
        return UrlRequest(message=message, url=url)
    raise ValueError("only forms and web addresses can be shown to the user")


def _read_sampling(params: Message) -> SampleRequest:
    messages = params.get("messages")
    texts = [_text_of(message) for message in messages] if isinstance(messages, list) else []
    if not texts:
        raise ValueError("a prompt has to have messages")
    prompt = texts[0][1] if len(texts) == 1 else "\n\n".join(f"{role}: {text}" for role, text in texts)
    most, system = params.get("maxTokens"), params.get("systemPrompt")
    return SampleRequest(
        prompt=prompt,
        max_tokens=most if isinstance(most, int) and most > 0 else 1000,
        system=system if isinstance(system, str) else None,
    )


def _text_of(message: Any) -> tuple[str, str]:
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else [content]
    texts = [one["text"] for one in blocks if isinstance(one, dict) and isinstance(one.get("text"), str)]
    if len(texts) != len(blocks):
        raise ValueError("only texts can be passed to the client's model")
    return str(message.get("role", "user")), "\n".join(texts)
