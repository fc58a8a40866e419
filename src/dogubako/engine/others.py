"""The other tools, as one call's tool may see them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from dogubako.contract.call import Resume, ToolCall, ToolResult, new_call_id
from dogubako.contract.conversation import InputRequired
from dogubako.contract.errors import ToolNotFoundError
from dogubako.contract.metadata import Effect, ToolMetadata
from dogubako.contract.other_tools import FoundTool
from dogubako.engine.entry import ListFilter, ToolRegistryEntry

if TYPE_CHECKING:
    from dogubako.engine.pipeline import Pipeline


class Others:
    """Looks into the registry with the eyes of a caller."""

    __slots__ = ("_call", "_effect", "_pipeline")

    def __init__(self, pipeline: "Pipeline", call: ToolCall, effect: Effect) -> None:
        self._pipeline = pipeline
        self._call = call
        self._effect = effect

    async def call(self, name: str, parameters: Mapping[str, Any], resume: Resume | None = None) -> ToolResult:
        inner = another(self._call, name, parameters, resume=resume, via=self._call.name, within=self._effect)
        result = await self._pipeline.handle(inner)
        if result.pending is not None:
            # The question of the inner tool is one of the outer tool, which is run again with the answer.
            raise InputRequired(result.pending)
        return result

    async def search(self, query: str, *, category: str | None = None) -> Sequence[FoundTool]:
        wanted = ListFilter(category=category, enabled=True)
        found = await self._pipeline.registry.find(query, wanted, may_see=self._may_see)
        return [FoundTool(metadata=one.entry.metadata, score=one.score) for one in found]

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

    def _may_see(self, entry: ToolRegistryEntry) -> bool:
        return self._pipeline.policy.shows(entry, self._call.caller)


def another(call: ToolCall, name: str, parameters: Mapping[str, Any], **changes: Any) -> ToolCall:
    """A call of another tool by the same caller, through the same door, under the same wishes."""
    return msgspec.structs.replace(call, name=name, version=None, parameters=parameters, id=new_call_id(), **changes)
