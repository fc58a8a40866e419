"""The whole path of a call in one screen.

door → `Pipeline.handle` → registry → policy → validation → executor → the tool's `handler` → response builder → door
"""

import asyncio
import time
from typing import Any
from uuid import uuid4

import anyio
import structlog

from dogubako.contract.call import ToolCall, ToolResult
from dogubako.contract.context import Surroundings, ToolContext
from dogubako.contract.conversation import SILENCE, Conversation, InputRequests, InputRequired, capability_of
from dogubako.contract.errors import (
    CapabilityRequiredError,
    ConfirmationRequiredError,
    DogubakoError,
    InternalError,
    ToolNotFoundError,
    ValidationError,
)
from dogubako.contract.metadata import Effect
from dogubako.contract.passing_tool import PassingTool
from dogubako.contract.tool import BaseTool
from dogubako.engine.attempt import PERSON_SECONDS
from dogubako.engine.discretion import Discreet, presentable_requests
from dogubako.engine.entry import ToolRegistryEntry
from dogubako.engine.events import (
    CallEnd,
    CallLog,
    CallObserver,
    CallObservers,
    ObservedConversation,
    milliseconds_since,
)
from dogubako.engine.executor import ToolExecutor
from dogubako.engine.limits import Plan
from dogubako.engine.others import Others, another
from dogubako.engine.policy import HousePolicy, Policy
from dogubako.engine.registry import ToolRegistry
from dogubako.engine.validation import Checked
from dogubako.response.builder import ToolResponseBuilder
from dogubako.response.continuation import Continuation
from dogubako.response.plain import encode

log = structlog.get_logger("dogubako.engine")


def _nothing_around(pack: str) -> tuple[Any, Any]:
    return None, None


class Pipeline:
    """Every call goes through here, whatever door it came by."""

    def __init__(
        self,
        registry: ToolRegistry,
        *,
        policy: Policy | None = None,
        executor: ToolExecutor | None = None,
        responses: ToolResponseBuilder | None = None,
        surroundings: Surroundings = _nothing_around,
        show_internal_errors: bool = False,
        observer: CallObserver | None = None,
    ) -> None:
        self.registry = registry
        self.policy = policy or HousePolicy()
        self.executor = executor or ToolExecutor()
        self.responses = responses or ToolResponseBuilder()
        self._surroundings = surroundings
        self._show_internal_errors = show_internal_errors
        self._observer = CallObservers(observer, CallLog())
        # Bound once, as in `CallLog`.
        self._log = log.bind()
        registry.attach(self.handle)

    async def handle(self, call: ToolCall) -> ToolResult:
        """Answer the call. Nothing but a cancellation gets past this point."""
        outcome = await self._outcome(call)
        while isinstance(outcome, ToolCall):
            # From here on it is that other call, which is also the one that is recorded.
            outcome = await self._outcome(outcome)
        return outcome

    async def _outcome(self, call: ToolCall) -> ToolResult | ToolCall:
        """The answer, or the call that stands in for this one."""
        started, entry = time.perf_counter(), None
        self._log.debug("Tool invoked", tool=call.name[:64], door=call.door, call_id=call.id)
        try:
            await self.policy.check_rate(call)
            entry = self.registry.get(call.name, call.version, may_see=lambda one: self.policy.shows(one, call.caller))
            result = await self._answer(entry, call)
            if isinstance(result, ToolResult) and result.pending is not None:
                result = self._asking(call, result.pending)
        except InputRequired as needed:
            # A question before the tool runs: the client answers it and calls again.
            result = ToolResult(content=(), pending=needed.requests)
        except DogubakoError as error:
            result = self._refused(call, error if call.via is None else _with_help(entry, error))
        except asyncio.CancelledError:
            self._completed(call, entry, "CANCELLED", started)
            raise
        except Exception as error:
            result = self.broken(error, call_id=call.id)
        if isinstance(result, ToolResult):
            self._completed(call, entry, result.code, started, result)
        return result

    async def _answer(self, entry: ToolRegistryEntry, call: ToolCall) -> ToolResult | ToolCall:
        await self.policy.check(entry, call)
        _check_resume(entry, call)
        checked = entry.validator.check(call.parameters)
        if isinstance(entry.implementation, PassingTool):
            return _passed_on(entry.implementation, checked.args, call)
        with self.policy.place(call):
            if entry.metadata.effect is Effect.DESTROY:
                await self._confirm(entry, call, checked)
            return await self.executor.run(entry, checked.args, call, self._bind, self._observer)

    async def _confirm(self, entry: ToolRegistryEntry, call: ToolCall, checked: Checked) -> None:
        with anyio.move_on_after(PERSON_SECONDS) as patience:
            await self.policy.confirm(entry, call, checked.confirmed, lambda: self._foresee(entry, call, checked.args))
        if patience.cancelled_caught:
            message = f"Nobody answered within {PERSON_SECONDS / 60:g} minutes; nothing was done."
            raise ConfirmationRequiredError(message, hint="Call again when the user is there.")
        # A person takes time, and somebody may have switched the tool off meanwhile.
        self.policy.check_rules(entry, call)

    async def _foresee(self, entry: ToolRegistryEntry, call: ToolCall, args: Any) -> str:
        plan = self.executor.plan(entry, call)
        tool = self._bind(entry, call, plan)
        with anyio.move_on_after(plan.timeout):
            # It may tell what a service said, and is shown to a person as it is.
            return self.responses.redactor.mask(await tool.foresee(args))
        return self.responses.redactor.mask(tool.consequence(args))

    def _bind(self, entry: ToolRegistryEntry, call: ToolCall, plan: Plan) -> BaseTool[Any, Any]:
        client, settings = self._surroundings(entry.pack)
        reads = entry.metadata.effect is Effect.READ
        continuation = Continuation(entry.name, call.parameters, call.resume) if reads else None

        context = ToolContext(
            client=client,
            settings=settings,
            responses=self.responses.for_call(plan.max_tokens, entry.check_structured, continuation),
            # A tool that does not talk must not be able to tell one door from another.
            conversation=self._discreet(call) if entry.implementation.talks else SILENCE,
            caller=call.caller,
            door=call.door,
            call_id=call.id,
            cache=self.executor.cache,
            tools=Others(self, call, entry.metadata.effect),
        )
        return entry.implementation.bind(context)

    def _asking(self, call: ToolCall, requests: InputRequests) -> ToolResult:
        """A tool's question to the client. It may be made by hand, and for a client that cannot be asked."""
        for request in requests.values():
            if not call.conversation.supports(capability := capability_of(request)):
                raise CapabilityRequiredError(capability)
        return ToolResult(content=(), pending=presentable_requests(requests, self.responses))

    def unanswerable(self, requests: InputRequests) -> ToolResult:
        """The answer of a door that asks at once and cannot carry a question that is answered by a second call."""
        return self.responses.failure(CapabilityRequiredError(*map(capability_of, list(requests.values())[:1])))

    def _discreet(self, call: ToolCall) -> Conversation:
        return Discreet(ObservedConversation(call.conversation, call, self._observer), self.responses)

    def broken(self, error: BaseException, **fields: Any) -> ToolResult:
        """Something of ours failed: the log gets all of it, the caller a reference to it."""
        shown = InternalError(str(error) if self._show_internal_errors else "Internal server error")
        shown.error_id = uuid4().hex[:12]
        log.error("Internal error", error_id=shown.error_id, exc_info=error, **fields)
        return self.responses.failure(shown)

    async def refuse(self, call: ToolCall, error: DogubakoError) -> ToolResult:
        """Answer a call that a door could not even read to its end; it is counted and recorded like any other."""
        try:
            await self.policy.check_rate(call)
        except DogubakoError as first:
            error = first
        result = self._refused(call, error)
        self._completed(call, None, result.code, time.perf_counter(), result)
        return result

    def _refused(self, call: ToolCall, error: DogubakoError) -> ToolResult:
        log.log(
            error.log_weight,
            "Tool refused",
            tool=call.name[:64],
            code=error.code,
            call_id=call.id,
            **error.log_fields,
        )
        return self.responses.for_call(call.options.max_tokens).failure(error)

    def _completed(
        self,
        call: ToolCall,
        entry: ToolRegistryEntry | None,
        code: str,
        started: float,
        result: ToolResult | None = None,
    ) -> None:
        end = CallEnd(
            code=code,
            milliseconds=milliseconds_since(started),
            changing=entry is not None and entry.metadata.writes,
            result=result,
        )
        self._observer.ended(call, end)


def _passed_on(tool: PassingTool[Any], args: Any, call: ToolCall) -> ToolCall:
    other = tool.passed_on(args)
    # `call_tool` may name `read_more`, which names a tool that reads; nothing may go round in circles.
    if call.via is not None and other.resume is None:
        raise ValidationError.of(tool.target, f"Invalid value for parameter {tool.target}: it passes calls on itself")
    return another(call, other.name, other.arguments, resume=other.resume, via=call.name)


def _with_help(entry: ToolRegistryEntry | None, error: DogubakoError) -> DogubakoError:
    """Who calls a tool without having seen it in a list learns now what it looks like."""
    if isinstance(error, ToolNotFoundError):
        error.asked_directly = False
    elif isinstance(error, ValidationError) and entry is not None:
        schema = encode(entry.metadata.input_schema)
        error.hint = f"{error.hint or ''} The arguments of {entry.name}: {schema}".strip()
    return error


def _check_resume(entry: ToolRegistryEntry, call: ToolCall) -> None:
    if call.resume is not None and entry.metadata.effect is not Effect.READ:
        raise ValidationError.of("tool", "Invalid value for parameter tool: only a tool that reads can be read on")
