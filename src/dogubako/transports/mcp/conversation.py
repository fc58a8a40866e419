"""Talk to an MCP client while its call runs: progress, log messages and questions, in both protocol versions."""

import warnings
from collections.abc import Mapping
from secrets import token_hex
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import ValidationError

from dogubako.contract.conversation import (
    INPUT_REQUIRED,
    TASKS,
    URL_ELICITATION,
    ClientLogLevel,
    ElicitRequest,
    InputAnswer,
    InputRequest,
    InputRequests,
    InputRequired,
    SampleRequest,
    UrlRequest,
    capability_of,
)
from dogubako.contract.errors import CapabilityRequiredError
from dogubako.engine.input_requests import read_answer, request_params, written_requests
from dogubako.transports.mcp.protocol import MODERN_VERSION
from dogubako.transports.mcp.question_state import Answers

# Clients that use `initialize` still use what the newest revision deprecates.
warnings.filterwarnings("ignore", category=MCPDeprecationWarning)

Context = ServerRequestContext[Any, Any]
_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_ASK_AGAIN = 3
LOG_LEVEL_KEY = "dogubako.log_level"


class McpConversation:
    """The conversation of one request. `answers` holds what the client has already answered."""

    def __init__(self, ctx: Context, answers: Answers, *, takes_tasks: bool = False) -> None:
        self._ctx = ctx
        self._takes_tasks = takes_tasks
        self._modern = ctx.protocol_version == MODERN_VERSION
        self._answers = answers

    def supports(self, capability: str) -> bool:
        if capability == INPUT_REQUIRED:
            return self._modern
        if capability == TASKS:
            return self._takes_tasks
        capabilities = self._ctx.session.client_capabilities
        declared = getattr(capabilities, "elicitation" if capability == URL_ELICITATION else capability, None)
        if isinstance(declared, types.ElicitationCapability):
            # A client that names no mode shows forms; one that names only pages shows none.
            opens = declared.url is not None
            if not (opens if capability == URL_ELICITATION else declared.form is not None or not opens):
                return False
        return declared is not None and (self._modern or self._ctx.session.can_send_request)

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        await self._ctx.session.report_progress(done, total, message)

    async def log(self, level: ClientLogLevel, message: str) -> None:
        if not self._modern and _LEVELS.index(level) < _LEVELS.index(
            connection_state(self._ctx).get(LOG_LEVEL_KEY, "debug")
        ):
            return
        await self._ctx.session.send_log_message(level, message, "dogubako", self._ctx.request_id)

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        for request in requests.values():
            if not self.supports(capability := capability_of(request)):
                raise CapabilityRequiredError(capability)
        if not self._modern:
            return {key: await self._ask_now(request) for key, request in requests.items()}
        read = {key: read_answer(request, await self._answers.find(key, request)) for key, request in requests.items()}
        missing = {key: requests[key] for key, answer in read.items() if answer is None}
        if missing:
            raise InputRequired(missing)
        return {key: answer for key, answer in read.items() if answer is not None}

    @property
    def answers_given(self) -> Mapping[str, Any]:
        """Answers that were used, for a task that goes on with the call."""
        return self._answers.given

    async def refused(self) -> None:
        """Discard the answers that came with a refused call."""
        await self._answers.discard()

    def input_required(self, requests: InputRequests) -> dict[str, Any]:
        """The result that asks a client of 2026-07-28 to call again with answers and the state."""
        state = self._answers.next_state(requests)
        return {"resultType": "input_required", "inputRequests": written_requests(requests), "requestState": state}

    async def _ask_now(self, request: InputRequest) -> InputAnswer:
        for _ in range(_ASK_AGAIN):
            try:
                raw = await self._send(request)
            except MCPError as error:
                hint = "The client says that it supports this, and then it could not."
                raise CapabilityRequiredError(capability_of(request), hint=hint) from error
            except ValidationError:
                continue
            if (answer := read_answer(request, raw)) is not None:
                return answer
        hint = "The client answered something that does not fit the question."
        raise CapabilityRequiredError(capability_of(request), hint=hint)

    async def _send(self, request: InputRequest) -> Any:
        session, request_id = self._ctx.session, self._ctx.request_id
        params = request_params(request)
        result: types.Result
        if isinstance(request, ElicitRequest):
            result = await session.elicit_form(request.message, dict(request.schema), request_id)
        elif isinstance(request, UrlRequest):
            result = await session.elicit_url(request.message, request.url, token_hex(16), request_id)
        elif isinstance(request, SampleRequest):
            messages = [types.SamplingMessage.model_validate(message) for message in params["messages"]]
            result = await session.create_message(
                messages, max_tokens=request.max_tokens, system_prompt=request.system, related_request_id=request_id
            )
        else:
            # Without the related request it would go to a stream that the client need not have opened.
            related = ServerMessageMetadata(related_request_id=request_id)
            result = await session.send_request(types.ListRootsRequest(), types.ListRootsResult, metadata=related)
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)


def connection_state(ctx: Context) -> dict[str, Any]:
    """Scratch space of the connection; the SDK has no public way to it."""
    return ctx.session._connection.state
