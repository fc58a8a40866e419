"""What a tool tells its client while it runs is masked and bounded, as its answer is."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from dogubako.contract.conversation import (
    ClientLogLevel,
    Conversation,
    InputAnswer,
    InputRequest,
    InputRequests,
    Question,
    SampleRequest,
)
from dogubako.contract.errors import AnswerTooLargeError
from dogubako.response.builder import ToolResponseBuilder
from dogubako.response.foreign_block import plain_copy
from dogubako.response.plain import clean_text, encode
from dogubako.response.tokens import fits
from dogubako.response.trim import cut_text

# A line in a log, or beside a progress bar.
_LINE_TOKENS: Final = 1_000


class Discreet:
    """A conversation with our secrets taken out of everything that is said, and no message beyond the budget."""

    def __init__(self, conversation: Conversation, responses: ToolResponseBuilder) -> None:
        self._conversation = conversation
        self._responses = responses

    def supports(self, capability: str) -> bool:
        return self._conversation.supports(capability)

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        if math.isfinite(done) and (total is None or math.isfinite(total)):
            await self._conversation.progress(done, total, self._line(message) if message else message)

    async def log(self, level: ClientLogLevel, message: str) -> None:
        await self._conversation.log(level, self._line(message))

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        return await self._conversation.request(presentable_requests(requests, self._responses))

    def _line(self, message: str) -> str:
        masked = self._responses.redactor.mask(clean_text(message))
        return _short(masked, min(_LINE_TOKENS, self._responses.max_tokens))


def presentable_requests(requests: InputRequests, responses: ToolResponseBuilder) -> InputRequests:
    """The same questions without secrets, each inside the budget."""
    return {key: _presentable(request, responses) for key, request in requests.items()}


def _presentable(request: InputRequest, responses: ToolResponseBuilder) -> InputRequest:
    known, most = responses.redactor.known, responses.max_tokens
    if isinstance(request, Question):
        schema = plain_copy(request.schema, known)
        if not fits(encode(schema), most):
            raise AnswerTooLargeError("The form of a question does not fit the response budget.")
        return replace(request, message=_short(known(clean_text(request.message)), most), schema=schema)
    if isinstance(request, SampleRequest):
        system = _short(known(clean_text(request.system or "")), most) or None
        return replace(request, prompt=_short(known(clean_text(request.prompt)), most), system=system)
    return request


def _short(text: str, budget: int) -> str:
    return text if fits(text, budget) else cut_text(text, budget)
