"""Calls that one tool makes of another, where something goes wrong on the way."""

from dogubako import tool
from dogubako.contract.call import ToolCall
from dogubako.contract.errors import ValidationError
from dogubako.contract.metadata import Effect
from dogubako.engine.pipeline import Pipeline
from dogubako.engine.policy import Place, Policy
from dogubako.engine.registration import ToolRegistryEntry
from dogubako.engine.registry import ToolRegistry


@tool(effect=Effect.READ)
async def measure(length: int) -> str:
    """Measure something."""
    return f"{length} m"


class TakingAway(Policy):
    """While it decides, the tool leaves the registry."""

    def __init__(self, registry: ToolRegistry) -> None:
        super().__init__()
        self._registry = registry

    async def check(self, entry: ToolRegistryEntry, call: ToolCall) -> Place:
        self._registry.unregister(entry.name)
        return self.place(call)


async def test_a_tool_that_goes_while_its_call_is_checked_still_explains_what_was_wrong() -> None:
    registry = ToolRegistry()
    registry.register(measure)
    pipeline = Pipeline(registry, policy=TakingAway(registry))

    result = await pipeline.handle(ToolCall(name="measure", parameters={"length": "long"}, via="call_tool"))

    assert isinstance(result.error, ValidationError)
    assert result.error.hint is not None and '"length"' in result.error.hint
