"""Give a tool what it may use during one call: its client, its answers, its conversation, and other tools."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dogubako.contract.call import NestedCalls, Resume, ToolCall, ToolResult, new_call_id
from dogubako.contract.context import NO_PARTS, Context, FoundTool, FoundTools, PackParts, no_other_instance
from dogubako.contract.conversation import SILENCE, InputRequired
from dogubako.contract.credentials import INSTANCE, Accesses, ServiceAccess
from dogubako.contract.errors import ToolExecutionError, ToolNotFoundError
from dogubako.contract.metadata import Effect, ToolMetadata
from dogubako.contract.tasks import CallerTasks
from dogubako.contract.tool import BaseTool
from dogubako.engine.conversations import RedactedConversation
from dogubako.engine.events import CallObservers, ObservedConversation
from dogubako.engine.registration import ListFilter, ToolRegistryEntry
from dogubako.engine.search.learning import learner_of
from dogubako.response.continuation import Continuation

if TYPE_CHECKING:
    from dogubako.engine.pipeline import Pipeline

# Levels are bounded too (`policy.py`), but eight levels of a hundred calls each would never end.
MOST_NESTED_CALLS: Final = 1_000


class ContextFactory:
    """Makes tools ready for a call."""

    def __init__(self, pipeline: "Pipeline", packs: Mapping[str, PackParts], observers: CallObservers) -> None:
        self._pipeline = pipeline
        self._packs = packs
        self._observers = observers

    def bind(self, entry: ToolRegistryEntry, call: ToolCall, max_tokens: int | None) -> BaseTool[Any, Any]:
        """Return the tool with the context of this call."""
        pipeline, tool, effect = self._pipeline, entry.implementation, entry.metadata.effect
        service = self._packs.get(entry.pack, NO_PARTS)
        access = None if service.accesses is None else _access(service.accesses, call)
        continuation = (
            Continuation(tool=entry.metadata.name, arguments=call.parameters, resume=call.resume)
            if effect is Effect.READ or tool.keeps_answers
            else None
        )
        # What is read on is a part of the data, and the answer of `read_more`, which declares no schema.
        reads_on = call.resume is not None and continuation is not None and continuation.resumes
        context = Context(
            client=service.client if access is None else access.client,
            settings=service.settings if access is None else access.settings,
            # A tool that does not talk must not be able to tell one transport from another.
            conversation=self._conversation(call) if tool.talks else SILENCE,
            caller=call.caller,
            door=call.door,
            call_id=call.id,
            cache=pipeline.executor.cache,
            tools=ToolsForCall(pipeline, call, effect, call.nested),
            in_instance=no_other_instance if service.accesses is None else partial(_client_in, service.accesses, call),
            responses=pipeline.responses.for_call(
                max_tokens,
                None if reads_on else entry.check_structured,
                continuation,
                () if access is None else access.secrets,
            ),
        )
        return tool.bind(context)

    def access(self, entry: ToolRegistryEntry, call: ToolCall) -> ServiceAccess | None:
        """The instance and the credential of this call; None where all calls of the pack use the same."""
        accesses = self._packs.get(entry.pack, NO_PARTS).accesses
        return None if accesses is None else _access(accesses, call)

    def _conversation(self, call: ToolCall) -> RedactedConversation:
        observed = ObservedConversation(call.conversation, call, self._observers)
        return RedactedConversation(observed, self._pipeline.responses)


def _client_in(accesses: Accesses, call: ToolCall, instance: str) -> Any:
    return accesses.access(call.caller, call.door, instance).client


def _access(accesses: Accesses, call: ToolCall) -> ServiceAccess:
    return accesses.access(call.caller, call.door, call.parameters.get(INSTANCE))


class ToolsForCall(msgspec.Struct, eq=False):
    """Other tools, as far as the caller of the running tool may see and call them."""

    _pipeline: "Pipeline"
    _call: ToolCall
    _effect: Effect
    _nested: NestedCalls | None

    async def call(self, name: str, parameters: Mapping[str, Any], resume: Resume | None = None) -> ToolResult:
        outer = self._call
        inner = another(
            outer,
            name,
            parameters,
            resume=resume,
            via=outer.name,
            within=self._effect,
            depth=outer.depth + 1,
            nested=self._counted(),
        )
        result = await self._pipeline.handle(inner)
        if result.pending is not None:
            # The question of the inner tool is one of the outer tool, which is run again with the answer.
            raise InputRequired(result.pending)
        return result

    def _counted(self) -> NestedCalls:
        """Count one call more, or raise. Raised, not returned: a tool that ignores results would go on for ever."""
        self._nested = nested = self._nested or NestedCalls()
        if nested.count >= MOST_NESTED_CALLS:
            raise ToolExecutionError(
                f"Tools made more than {MOST_NESTED_CALLS:,} calls of other tools within one call.",
                hint=f"The last one was {self._call.name}. Ask for less at once.",
            )
        nested.count += 1
        return nested

    async def search(self, query: str, *, category: str | None = None) -> FoundTools:
        wanted = ListFilter(category=category, enabled=True)
        found = await self._pipeline.registry.find(
            query, wanted, may_see=self._may_find, learner=learner_of(self._call)
        )
        tools = [FoundTool(metadata=one.entry.metadata, score=one.score) for one in found.nearest or found.matches]
        return FoundTools(tools=tools, is_doubtful=found.is_doubtful, not_indexed=found.not_indexed)

    def describe(self, name: str) -> ToolMetadata:
        try:
            entry = self._pipeline.registry.get(name, may_see=self._may_see)
        except ToolNotFoundError as error:
            error.asked_directly = False
            raise
        refusal = self._pipeline.policy.refusal(entry, self._call.caller)
        if refusal is not None:
            raise refusal
        return entry.metadata

    def count(self) -> int:
        return sum(self._may_see(entry) for entry in self._pipeline.registry.list())

    @property
    def tasks(self) -> CallerTasks:
        return self._pipeline.tasks.of(self._call.caller)

    def _may_find(self, entry: ToolRegistryEntry) -> bool:
        return entry.name != self._call.name and self._may_see(entry)

    def _may_see(self, entry: ToolRegistryEntry) -> bool:
        return self._pipeline.policy.shows(entry, self._call.caller)


def another(call: ToolCall, name: str, parameters: Mapping[str, Any], **changes: Any) -> ToolCall:
    """A call of another tool by the same caller, over the same transport, with the same options."""
    return msgspec.structs.replace(call, name=name, version=None, parameters=parameters, id=new_call_id(), **changes)
