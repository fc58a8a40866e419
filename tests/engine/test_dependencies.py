"""Why a tool does not answer: switched off, not configured, or in need of another that does not."""

from collections import Counter
from dataclasses import replace
from functools import cached_property
from typing import Any

import pytest
from pydantic import SecretStr

from dogubako import Pack, tool
from dogubako.contract.storage import LocalSwitches
from dogubako.engine.registration import RegisterOptions, RegistrationError
from dogubako.engine.registry import ToolRegistry
from dogubako.tools import BaseTool, FunctionTool, MissingSetting, NoArgs, PackSettings, ToolCall, ToolMetadata, setting

from .boxes import box_of


def made(name: str, *needs: str, version: str = "1.0.0") -> FunctionTool[..., Any]:
    @tool(name=name, dependencies=needs, version=version)
    async def function() -> str:
        """Do it."""
        return name

    return function


def registry_of(*tools: FunctionTool[..., Any]) -> ToolRegistry:
    registry = ToolRegistry()
    for one in tools:
        registry.register(one)
    return registry


def test_a_missing_dependency_disables_and_its_arrival_enables() -> None:
    registry = registry_of(made("needy", "giver"))
    assert registry.get("needy").status.reason == "It needs giver, which is not registered."

    registry.register(made("giver"))
    assert registry.get("needy").enabled

    registry.unregister("giver")
    assert not registry.get("needy").enabled


def test_a_disabled_dependency_disables_everything_that_rests_on_it() -> None:
    registry = registry_of(made("top", "middle"), made("middle", "bottom"), made("bottom"))

    registry.disable("bottom")

    assert registry.get("bottom").status.reason == "It was switched off; an administrator can enable it."
    assert registry.get("middle").status.reason == "It needs bottom, which is disabled."
    assert registry.get("top").status.reason == "It needs middle, which is disabled."
    registry.enable("bottom")
    assert registry.get("top").status.reason is None


async def test_a_tool_that_is_off_answers_why_and_how_to_change_it() -> None:
    box = box_of(made("needy", "giver"))

    result = await box.call("needy")

    assert (result.code, result.content[0]["text"]) == ("TOOL_DISABLED", "Tool is disabled: needy")
    assert result.content[1]["text"] == "It needs giver, which is not registered."


@pytest.mark.parametrize(
    ("tools", "trail"),
    [
        pytest.param([made("a", "a")], "a → a", id="itself"),
        pytest.param([made("a", "b"), made("b", "a")], "b → a → b", id="each other"),
        pytest.param([made("a", "b"), made("b", "c"), made("c", "a")], "c → a → b → c", id="round three corners"),
        pytest.param(
            [made("a", "b"), made("b", "x"), made("b", "a", version="2.0")], "b → a → b", id="by a new version"
        ),
    ],
)
def test_a_circle_of_dependencies_is_refused_and_named(tools: list[FunctionTool[..., Any]], trail: str) -> None:
    registry = registry_of(*tools[:-1])

    with pytest.raises(RegistrationError, match=f"Dependency cycle: {trail}"):
        registry.register(tools[-1])


class Counting(dict[str, Any]):
    """Counts how often it is asked."""

    asked = 0

    def get(self, key: str, default: Any = None) -> Any:
        type(self).asked += 1
        return super().get(key, default)


def test_many_ways_to_the_same_tool_are_walked_once() -> None:
    """Thirty layers of two tools have a thousand million paths."""
    layers = [[f"t{layer}a", f"t{layer}b"] for layer in range(30)]
    registry = registry_of(
        *(made(name, *(layers[depth + 1] if depth < 29 else ())) for depth, pair in enumerate(layers) for name in pair)
    )
    registry._versions = Counting(registry._versions)

    registry.register(made("entrance", *layers[0]))

    assert Counting.asked < 500
    assert registry.get("entrance").enabled


class ServiceSettings(PackSettings):
    url: str = setting("", "SERVICE_URL", "Where the service is.")
    key: SecretStr | None = setting(None, "SERVICE_KEY", "Its key.")


class Service(Pack[ServiceSettings, None]):
    name = "service"
    settings = ServiceSettings
    tools = (made("serve"),)

    def unconfigured(self, settings: ServiceSettings) -> MissingSetting | None:
        return None if settings.url else MissingSetting(reason="The service is not configured.", setting="SERVICE_URL")


async def test_a_pack_that_is_not_configured_shows_its_tools_with_the_setting_that_enables_them() -> None:
    box = box_of(packs=[Service()])

    entry = box.registry.get("serve")
    assert (entry.category, entry.enabled) == ("service", False)
    assert entry.status.reason == "The service is not configured. Set SERVICE_URL."
    assert (await box.call("serve")).content[1]["text"] == "The service is not configured. Set SERVICE_URL."
    assert not box.pipeline.policy.shows(entry, ToolCall(name="serve").caller)
    box.registry.enable("serve")
    assert not entry.enabled, "a switch does not replace a setting"

    (finding,) = await box.check()
    assert (finding.ok, finding.subject, finding.advice) == (False, "service", "Set SERVICE_URL.")


class CountingSwitches(LocalSwitches):
    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[str] = Counter()

    def get(self, name: str, version: str) -> bool | None:
        self.asked[name] += 1
        return super().get(name, version)


class Numbered(BaseTool[NoArgs]):
    """One of many."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.name = f"tool_{number}"

    @cached_property
    def metadata(self) -> ToolMetadata:
        # Deriving the same schema ten thousand times would take longer than all that is tested here.
        return replace(_ONE.metadata, name=self.name)

    async def execute(self, args: NoArgs) -> Any:
        return self.name


_ONE = made("template")


def test_ten_thousand_tools_cost_a_lookup_no_more_than_ten() -> None:
    switches = CountingSwitches()
    registry = ToolRegistry(switches=switches)
    for number in range(10_000):
        registry.register(Numbered(number), RegisterOptions(pack=f"pack{number % 7}"))
    assert not switches.asked, "registering looks at nobody else"

    for _ in range(3):
        for name in ("tool_5", "tool_9999"):
            assert registry.get(name).enabled
    assert switches.asked == {"tool_5": 1, "tool_9999": 1}

    assert len(registry.list()) == len(registry.list()) == 10_000
    assert switches.asked.total() == 10_000, "listing asks about each tool once, however often it is listed"
