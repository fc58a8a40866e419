"""What a tool tells its client while it runs keeps our secrets, as its answer does."""

from collections.abc import Mapping
from dataclasses import replace

from dogubako.contract.conversation import (
    ClientLogLevel,
    Conversation,
    InputAnswer,
    InputRequest,
    InputRequests,
    Question,
    SampleRequest,
)
from dogubako.contract.secrets import Redactor


class Discreet:
    """A conversation with our secrets taken out of everything that is said."""

    def __init__(self, conversation: Conversation, redactor: Redactor) -> None:
        self._conversation = conversation
        self._redactor = redactor

    def supports(self, capability: str) -> bool:
        return self._conversation.supports(capability)

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        await self._conversation.progress(done, total, self._redactor.mask(message) if message else message)

    async def log(self, level: ClientLogLevel, message: str) -> None:
        await self._conversation.log(level, self._redactor.mask(message))

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        return await self._conversation.request({key: self._masked(one) for key, one in requests.items()})

    def _masked(self, request: InputRequest) -> InputRequest:
        known = self._redactor.known
        if isinstance(request, Question):
            return replace(request, message=known(request.message))
        if isinstance(request, SampleRequest):
            return replace(request, prompt=known(request.prompt), system=known(request.system or "") or None)
        return request
