"""The path of a call: look up, check, validate, run, answer.

transport → `Pipeline.handle` → registry → policy → validation → executor → `BaseTool.handler` → response builder
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final, cast
from uuid import uuid4

import anyio
import structlog

from dogubako.contract.call import CallEnd, Caller, CallObserver, ToolCall, ToolResult
from dogubako.contract.context import PackParts
from dogubako.contract.conversation import TASKS, InputRequests, InputRequired, capability_of
from dogubako.contract.effect_by_call import EffectByCall
from dogubako.contract.errors import (
    CapabilityRequiredError,
    ConfirmationRequiredError,
    DogubakoError,
    InternalError,
    ToolNotFoundError,
    ValidationError,
)
from dogubako.contract.metadata import Effect
from dogubako.contract.tasks import CallerTasks, TaskStarter
from dogubako.contract.tool import PassingTool
from dogubako.engine.attempt import PERSON_SECONDS
from dogubako.engine.contexts import ContextFactory, another
from dogubako.engine.conversations import presentable_requests
from dogubako.engine.events import CallLog, CallObservers, milliseconds_since
from dogubako.engine.executor import ToolExecutor
from dogubako.engine.policy import NO_LIMIT, NoPlaceAtHand, Place, Policy
from dogubako.engine.prepared import BegunCall, PreparedCalls
from dogubako.engine.registration import ToolRegistryEntry
from dogubako.engine.registry import ToolRegistry
from dogubako.engine.validation import Checked
from dogubako.response.builder import ToolResponseBuilder
from dogubako.response.jsonable import encode

log = structlog.get_logger("dogubako.engine")


class Pipeline:
    """Handles every call of every transport."""

    def __init__(
        self,
        registry: ToolRegistry,
        *,
        policy: Policy | None = None,
        executor: ToolExecutor | None = None,
        responses: ToolResponseBuilder | None = None,
        packs: Mapping[str, PackParts] | None = None,
        show_internal_errors: bool = False,
        hides_arguments: Callable[[ToolRegistryEntry, Caller], bool] = lambda entry, caller: False,
        observers: Sequence[CallObserver] = (),
    ) -> None:
        self.registry = registry
        self.policy = policy or Policy()
        self.executor = executor or ToolExecutor()
        self.responses = responses or ToolResponseBuilder()
        self._show_internal_errors = show_internal_errors
        self._hides_arguments = hides_arguments
        self.observers = CallObservers(*observers, CallLog())
        self._contexts = ContextFactory(self, packs if packs is not None else {}, self.observers)
        self._prepared = PreparedCalls(self, self._contexts)
        # Bound once, as in `CallLog`.
        self._log = log.bind()
        self._logs_begins = self._log.is_enabled_for(logging.DEBUG)
        # `app.py` brings what runs tasks.
        self.tasks: TaskStarter = NoTasks()
        registry.attach(self.handle)

    async def handle(self, call: ToolCall) -> ToolResult:
        """Answer the call. Every exception but a cancellation becomes an answer."""
        begun = self.begin(call)
        if begun is None:
            return await self.outcome(call)
        return begun if isinstance(begun, ToolResult) else await begun.outcome()

    def begin(self, call: ToolCall) -> ToolResult | BegunCall | None:
        """Begin a plain call, and answer it if its tool does not wait. None for any other call: await its `outcome`.

        It may be called outside of a task: a tool has its own.
        """
        prepared = self._prepared.find(call)
        if prepared is None:
            return None
        started = time.perf_counter()
        if self._logs_begins:
            self._log_begin(call)
        try:
            args = prepared.check(call.parameters)
            prepared.place.check()
            result = prepared.begin(args, call)
        except NoPlaceAtHand:
            return None
        except Exception as error:
            return BegunCall(self, call, prepared.entry, NO_LIMIT, error, started)
        if not isinstance(result, ToolResult) or result.unfinished:
            # Nothing else has happened since the check.
            prepared.place.__enter__()
            return BegunCall(self, call, prepared.entry, prepared.place, result, started)
        self.completed(call, prepared.entry, result.code, started, result)
        return result

    def _log_begin(self, call: ToolCall) -> None:
        self._log.debug("Tool invoked", tool=call.name[:64], door=call.door, call_id=call.id)

    async def outcome(self, call: ToolCall, begun: BegunCall | None = None) -> ToolResult:
        """The answer to the call, or to the call that replaces it. `begun` is a plain call that did not end at once."""
        started, entry = time.perf_counter(), None
        result: ToolResult | ToolCall
        try:
            if begun is not None:
                started, entry = begun.started, begun.entry
                result = await begun.result()
            else:
                self._log_begin(call)
                if self.policy.counts_calls:
                    await self.policy.check_rate(call)
                entry = self._entry_of(call)
                result = await self._admitted(entry, call)
            if isinstance(result, ToolResult) and result.becomes_task:
                result = await self._start_task(entry, call)
            if isinstance(result, ToolResult) and result.pending is not None:
                result = await self._asking(call, result.pending)
        except InputRequired as needed:
            # A question before the tool runs: the client answers it and calls again.
            result = ToolResult(content=(), pending=needed.requests)
        except DogubakoError as error:
            result = self._refused(call, _with_help(entry, error) if self._needs_help(entry, call, error) else error)
        except asyncio.CancelledError:
            self.completed(call, entry, "CANCELLED", started)
            raise
        except Exception as error:
            result = self.broken(error, call_id=call.id)
        if isinstance(result, ToolCall):
            # From here on it is that other call, which is also the one that is recorded.
            return await self.outcome(result)
        self.completed(call, entry, result.code, started, result)
        return result

    def _entry_of(self, call: ToolCall) -> ToolRegistryEntry:
        policy = self.policy
        entry = self.registry.get(call.name, call.version, may_see=lambda one: policy.shows(one, call.caller))
        return entry.for_call(call.parameters) if isinstance(entry.implementation, EffectByCall) else entry

    async def _admitted(self, entry: ToolRegistryEntry, call: ToolCall) -> ToolResult | ToolCall:
        """The answer, or the call that replaces this one, if the policy lets it pass."""
        answer = self._answer(entry, call, await self.policy.check(entry, call))
        shares = self.policy.shares_places and not entry.passes_on
        return await (self._in_shared_place(call, answer) if shares else answer)

    async def _answer(self, entry: ToolRegistryEntry, call: ToolCall, place: Place) -> ToolResult | ToolCall:
        reads_on = call.resume is not None
        if reads_on and entry.metadata.effect is not Effect.READ and not entry.implementation.keeps_answers:
            raise ValidationError.of("tool", "Invalid value for parameter tool: only a tool that reads can be read on")
        if entry.load is not None:
            await entry.load()
        checked = entry.validator.check(call.parameters)
        if entry.passes_on:
            return _passed_on(cast("PassingTool[Any]", entry.implementation), checked.args, call)
        with place:
            goes_on = call.options.task is not None or entry.implementation.long_running is not False
            if goes_on and not reads_on and _becomes_task(entry, call):
                return await self._start_task(entry, call)
            if entry.metadata.effect is Effect.DESTROY and not reads_on:
                await self._confirm(entry, call, checked)
            return await self.executor.run(entry, checked.args, call, self._contexts, self.observers)

    async def _start_task(self, entry: ToolRegistryEntry, call: ToolCall) -> ToolResult:
        """Answer with a task. What can be refused now is not left to the task."""
        self.executor.limits.of_tasks.plan(entry, call.options, 0)
        if entry.metadata.effect is Effect.DESTROY and not call.conversation.supports("elicitation"):
            await self._confirm(entry, call, entry.validator.check(call.parameters))
        return await self.tasks.start(call, repeatable=entry.repeatable)

    async def _in_shared_place(
        self, call: ToolCall, answer: Coroutine[Any, Any, ToolResult | ToolCall]
    ) -> ToolResult | ToolCall:
        try:
            async with self.policy.shared_place(call):
                return await answer
        finally:
            # Without a place it has not begun.
            answer.close()

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
        tool = self._contexts.bind(entry, call, plan.max_tokens)
        with anyio.move_on_after(plan.timeout):
            # It may tell what a service said, and is shown to a person as it is.
            return self.responses.redactor.mask_all(await tool.foresee(args))
        return self.responses.redactor.mask_all(tool.consequence(args))

    async def _asking(self, call: ToolCall, requests: InputRequests) -> ToolResult:
        """Pass on a tool's question, if the client can answer it."""
        for request in requests.values():
            if not call.conversation.supports(capability := capability_of(request)):
                raise CapabilityRequiredError(capability)
        return ToolResult(content=(), pending=await presentable_requests(requests, self.responses))

    def unanswerable(self, requests: InputRequests) -> ToolResult:
        """The error for a transport that cannot carry a question that a second call answers."""
        return self.responses.failure(CapabilityRequiredError(*map(capability_of, list(requests.values())[:1])))

    def broken(self, error: BaseException, **fields: Any) -> ToolResult:
        """Answer an internal error: the log gets the traceback, the caller an error id."""
        shown = InternalError(str(error) if self._show_internal_errors else "Internal server error")
        shown.error_id = uuid4().hex[:12]
        log.error("Internal error", error_id=shown.error_id, exc_info=error, **fields)
        return self.responses.failure(shown)

    async def refuse(self, call: ToolCall, error: DogubakoError) -> ToolResult:
        """Answer a call that a transport could not read completely. It is counted and recorded like any other."""
        try:
            await self.policy.check_rate(call)
        except DogubakoError as first:
            error = first
        result = self._refused(call, error)
        self.completed(call, None, result.code, time.perf_counter(), result)
        return result

    def _needs_help(self, entry: ToolRegistryEntry | None, call: ToolCall, error: DogubakoError) -> bool:
        """Whether the agent has not seen the arguments of this tool in a list."""
        if call.via is not None or entry is None or not isinstance(error, ValidationError):
            return call.via is not None
        # The console has a form with every argument.
        return call.door != "console" and self._hides_arguments(entry, call.caller)

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

    def completed(
        self,
        call: ToolCall,
        entry: ToolRegistryEntry | None,
        code: str,
        started: float,
        result: ToolResult | None = None,
    ) -> None:
        """Tell the observers how the call ended."""
        end = CallEnd(
            code=code,
            milliseconds=milliseconds_since(started),
            changing=entry is not None and entry.writes,
            result=result,
        )
        self.observers.ended(call, end)


class NoTasks:
    """For a pipeline without anything that runs tasks."""

    reason = "This server runs no tasks."

    async def start(self, call: ToolCall, *, repeatable: bool) -> ToolResult:
        raise CapabilityRequiredError(TASKS, hint=self.reason)

    def of(self, caller: Caller) -> CallerTasks:
        raise CapabilityRequiredError(TASKS, hint=self.reason)


# Where nobody waits at the end of a connection that may break.
_PATIENT_DOORS: Final = frozenset({"python", "cli", "console"})


def _becomes_task(entry: ToolRegistryEntry, call: ToolCall) -> bool:
    """Whether to answer with a task: the caller asks for it, or the tool is slow and the client takes one."""
    if call.task is not None or call.within is not None:
        return False
    if call.options.task is not None:
        return call.options.task
    if call.conversation.supports(TASKS):
        return True
    if entry.implementation.long_running == "required" and call.door not in _PATIENT_DOORS:
        hint = f"Call start_task with the name {entry.name}; over REST, send options.task."
        raise CapabilityRequiredError(TASKS, hint=hint)
    return False


def _passed_on(tool: PassingTool[Any], args: Any, call: ToolCall) -> ToolCall:
    other = tool.passed_on(args)
    # `call_tool` may name `read_more`, which names a tool that reads; nothing may go round in circles.
    if call.via is not None and other.resume is None:
        raise ValidationError.of(tool.target, f"Invalid value for parameter {tool.target}: it passes calls on itself")
    options = call.options.model_copy(update={"task": True}) if other.as_task else call.options
    return another(call, other.name, other.arguments, resume=other.resume, via=call.name, options=options)


def _with_help(entry: ToolRegistryEntry | None, error: DogubakoError) -> DogubakoError:
    """Add the schema of the tool to the error, for an agent that has not seen it in a list."""
    if isinstance(error, ToolNotFoundError):
        error.asked_directly = False
    elif isinstance(error, ValidationError) and entry is not None:
        schema = encode(entry.metadata.input_schema)
        error.hint = f"{error.hint or ''} The arguments of {entry.name}: {schema}".strip()
    return error
