"""The sealed state that a 2026-07-28 client carries between two rounds of one request.

The SDK seals it and binds it to the caller, the method, the tool and the arguments, and lets it expire. This module
adds which questions were put, the answers so far, and an id that counts once.

What a request brings decides what its answers are worth:

| the client sends | what happens |
| --- | --- |
| no state, with or without `inputResponses` | nobody was asked: the responses are ignored, the question is put |
| a state that was changed, has expired or belongs to another request | the SDK refuses it, -32602 |
| a state for the first time | responses to questions that it names count, all others are ignored |
| a state again | it counts as no state: the question is put again, so that nobody is stuck |
| an answer to a question that reads differently by now | it does not count: the question is put again |

Tools that only read are an exception to the first line: no consent depends on their questions, and the conformance
suite of the protocol answers such a tool before it asks. What they call in turn only reads, too.
A call that is refused uses its state up as well, unless the refusal says that a retry makes sense (too many calls).
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from secrets import token_hex
from typing import Any, Final

import anyio
import msgspec
import structlog

from dogubako.contract.conversation import InputRequest, InputRequests
from dogubako.contract.errors import DogubakoError
from dogubako.contract.storage import OnceStore
from dogubako.engine.input_requests import question_digest

log = structlog.get_logger("dogubako.mcp")

STATE_SECONDS: Final = 600.0
# Longer than a state is valid: clocks and file systems do not agree to the millisecond.
_REMEMBERED_SECONDS: Final = STATE_SECONDS + 60


class QuestionState(msgspec.Struct, frozen=True, kw_only=True):
    """The plain text of a sealed state: digests of the questions that were put, by key, and answers by digest."""

    id: str
    asked: dict[str, str]
    answers: dict[str, Any]


class Answers:
    """The answers that one request may use."""

    def __init__(
        self,
        once: OnceStore,
        owner: str,
        responses: Mapping[str, Any] | None,
        state: str | None,
        *,
        unasked: bool = False,
    ) -> None:
        self._once = once
        self._owner = owner
        self._responses = responses or {}
        self._state = _decoded(state)
        # Whether responses count without a state, for whatever is asked under their key.
        self._unasked = unasked and state is None
        self._found: dict[str, Any] | None = None
        self._opening = anyio.Lock()

    async def find(self, key: str, request: InputRequest) -> Any:
        """What the client answered to this request, or nothing. The first look uses the state up."""
        digest, answers = question_digest(key, request), await self._all()
        if self._unasked and digest not in answers and key in self._responses:
            answers[digest] = _plain(self._responses[key])
        return answers.get(digest)

    @property
    def given(self) -> Mapping[str, Any]:
        """The answers that were looked at, by the digests of their questions."""
        return self._found or {}

    async def discard(self) -> None:
        """Use the state up without its answers, because the call was refused."""
        if self._state is not None:
            # What cannot be recorded is refused when it comes again.
            with suppress(DogubakoError):
                await self._all()

    def next_state(self, requests: InputRequests) -> str:
        """The state of a round that ends with these questions."""
        asked = {key: question_digest(key, request) for key, request in requests.items()}
        # ASCII, because the answers may hold characters that cannot be encoded.
        return json.dumps({"id": token_hex(16), "asked": asked, "answers": self._found or {}})

    async def _all(self) -> dict[str, Any]:
        async with self._opening:
            if self._found is None:
                self._found = await self._open()
        return self._found

    async def _open(self) -> dict[str, Any]:
        state = self._state
        if state is None:
            return {}
        if not await self._once.use(state.id, owner=self._owner, ttl=_REMEMBERED_SECONDS):
            log.warning("A request state was used twice, so the user is asked again")
            return {}
        given = {digest: self._responses[key] for key, digest in state.asked.items() if key in self._responses}
        return state.answers | {digest: _plain(response) for digest, response in given.items()}


def _decoded(state: str | None) -> QuestionState | None:
    """A state of another release of this server has another shape; then the questions are put again."""
    try:
        return msgspec.convert(json.loads(state), QuestionState) if state else None
    except (ValueError, msgspec.ValidationError):
        return None


def _plain(response: Any) -> Any:
    return response.model_dump(by_alias=True, mode="json", exclude_none=True)
