"""Conversations between a tool and its client, redacted and bounded like answers."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from dogubako.contract.conversation import (
    ClientLogLevel,
    Conversation,
    ElicitRequest,
    InputAnswer,
    InputRequest,
    InputRequests,
    SampleRequest,
    UrlRequest,
)
from dogubako.contract.errors import AnswerTooLargeError, ApiError
from dogubako.contract.offload import has_more_values, offload_if_large
from dogubako.response.builder import ToolResponseBuilder
from dogubako.response.failures import Mask, Words
from dogubako.response.foreign_block import plain_copy
from dogubako.response.jsonable import encode
from dogubako.response.tokens import far_above_characters, fits

# A line in a log, or beside a progress bar.
_LINE_TOKENS: Final = 1_000
_LONGEST_URL: Final = 8_000


class RedactedConversation:
    """A conversation that redacts secrets and truncates every message to the budget."""

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
        return await self._conversation.request(await presentable_requests(requests, self._responses))

    def _line(self, message: str) -> str:
        most = min(_LINE_TOKENS, self._responses.max_tokens)
        return _short(message, self._responses.redactor.mask_all, most)


async def presentable_requests(requests: InputRequests, responses: ToolResponseBuilder) -> InputRequests:
    """The same questions, redacted and within the budget."""
    return await offload_if_large(requests, _all_presentable, requests, responses)


def _all_presentable(requests: InputRequests, responses: ToolResponseBuilder) -> InputRequests:
    return {key: _presentable(request, responses) for key, request in requests.items()}


def _presentable(request: InputRequest, responses: ToolResponseBuilder) -> InputRequest:
    known, most = responses.redactor.mask_configured, responses.max_tokens
    if isinstance(request, ElicitRequest):
        schema = None
        if not has_more_values(request.schema, far_above_characters(most), 1):
            schema = plain_copy(request.schema, known)
        if schema is None or not fits(encode(schema), most):
            raise AnswerTooLargeError("The form of a question does not fit the response budget.")
        return replace(request, message=_short(request.message, known, most), schema=schema)
    if isinstance(request, UrlRequest):
        if len(request.url) > _LONGEST_URL:
            raise AnswerTooLargeError("The address that the user has to open is too long.")
        if known(request.url) != request.url:
            raise ApiError("The address that the user has to open holds a secret of this server; it is not shown.")
        return replace(request, message=_short(request.message, known, most))
    if isinstance(request, SampleRequest):
        system = _short(request.system or "", known, most) or None
        return replace(request, prompt=_short(request.prompt, known, most), system=system)
    return request


def _short(text: str, mask: Mask, budget: int) -> str:
    """The beginning of a text, redacted. Only that much of it is looked at."""
    return Words.of(text, mask, far_above_characters(budget)).short(budget)
