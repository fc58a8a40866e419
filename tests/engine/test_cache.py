"""An answer that promises never to change is given again without asking the service again."""

from typing import Any

import pytest
from pydantic import SecretStr

from dogubako import (
    Effect,
    ExecutionOptions,
    FunctionTool,
    Image,
    Output,
    Pack,
    PackSettings,
    SchemaTool,
    Text,
    ToolContext,
    setting,
    tool,
)
from dogubako.app import build
from dogubako.contract.errors import NotFoundError
from dogubako.contract.state import MemoryCache
from dogubako.engine.executor import ToolExecutor
from dogubako.engine.limits import ExecutionLimits
from dogubako.engine.pipeline import Pipeline
from dogubako.engine.registry import ToolRegistry
from dogubako.response.builder import ToolResponseBuilder
from dogubako.settings import Sources

from .boxes import box_of


class Counted:
    """A tool that counts its runs."""

    def __init__(self, answer: Any = None, *, effect: Effect = Effect.READ, fails: bool = False) -> None:
        self.runs = 0
        self.answer = answer
        self.effect = effect
        self.fails = fails

    def tool(self, version: str = "1.0.0") -> FunctionTool:
        @tool(effect=self.effect, version=version)
        async def get_run(run: str = "17", limit: int = 5) -> Any:
            """Get one run."""
            self.runs += 1
            if self.fails:
                raise NotFoundError("Execution '17' not found")
            return self.answer or Output(data={"run": run, "times": self.runs}, cacheable=True, count=1)

        return get_run


async def test_the_second_call_is_answered_from_memory() -> None:
    counted = Counted()
    box = box_of(counted.tool(), cache="memory")

    first = await box.call("get_run", {"run": "17"})
    second = await box.call("get_run", {"run": "17"})

    assert counted.runs == 1
    assert (second.value, second.kind, second.count, second.tokens) == (first.value, "json", 1, first.tokens)


async def test_without_a_cache_every_call_runs() -> None:
    counted = Counted()
    box = box_of(counted.tool())

    await box.call("get_run")
    await box.call("get_run")

    assert counted.runs == 2


@pytest.mark.parametrize(
    "counted",
    [
        pytest.param(Counted(Output(data={})), id="an answer that promises nothing"),
        pytest.param(Counted(effect=Effect.WRITE), id="a write"),
        pytest.param(Counted(fails=True), id="a failure"),
        pytest.param(Counted("just text"), id="plain text"),
    ],
)
async def test_what_may_change_is_not_kept(counted: Counted) -> None:
    box = box_of(counted.tool(), cache="memory")

    await box.call("get_run")
    await box.call("get_run")

    assert counted.runs == 2


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Text(text="finished", cacheable=True), id="text"),
        pytest.param(Image(data=b"png", mime_type="image/png", cacheable=True), id="picture"),
        pytest.param(Output(data=["x" * 200] * 900, cacheable=True), id="trimmed"),
    ],
)
async def test_every_kind_of_answer_comes_back_as_it_was(answer: Any) -> None:
    counted = Counted(answer)
    box = box_of(counted.tool(), cache="memory")

    assert await box.call("get_run") == await box.call("get_run") == await box.call("get_run")
    assert counted.runs == 1


async def test_other_arguments_versions_and_budgets_are_other_questions() -> None:
    counted = Counted()
    box = box_of(counted.tool(), cache="memory")
    await box.call("get_run", {"run": "17", "limit": 5})

    await box.call("get_run", {"limit": 5, "run": "17"})
    assert counted.runs == 1, "the order of arguments makes no difference"
    await box.call("get_run", {"run": "17"})
    assert counted.runs == 1, "nor does a default that is said"
    await box.call("get_run", {"run": "18"})
    await box.call("get_run", {"run": "17"}, ExecutionOptions(max_tokens=500))
    assert counted.runs == 3
    box.registry.register(counted.tool("2.0.0"))
    await box.call("get_run", {"run": "17"})
    assert counted.runs == 4


async def test_servers_with_different_budgets_do_not_share_answers() -> None:
    shared = MemoryCache()
    counted = Counted(Output(data=["word " * 20] * 100, cacheable=True))

    def server(max_tokens: int) -> ToolRegistry:
        registry = ToolRegistry()
        registry.register(counted.tool())
        executor = ToolExecutor(limits=ExecutionLimits(max_tokens=max_tokens), cache=shared)
        Pipeline(registry, executor=executor, responses=ToolResponseBuilder(max_tokens=max_tokens))
        return registry

    assert (await server(20_000).execute("get_run", {})).tokens > 500
    assert (await server(500).execute("get_run", {})).tokens <= 500


class ServiceSettings(PackSettings):
    url: str = setting("", "SERVICE_URL", "Where the service is.")
    key: SecretStr = setting(SecretStr(""), "SERVICE_KEY", "Its key.")


class Service(Pack[ServiceSettings, None]):
    name = "service"
    settings = ServiceSettings

    def __init__(self, counted: Counted) -> None:
        self.tools = (counted.tool(),)


@pytest.mark.parametrize(
    ("other", "runs"),
    [
        pytest.param({"SERVICE_URL": "https://a", "SERVICE_KEY": "key-1"}, 1, id="the same service"),
        pytest.param({"SERVICE_URL": "https://b", "SERVICE_KEY": "key-1"}, 2, id="another service"),
        pytest.param({"SERVICE_URL": "https://a", "SERVICE_KEY": "key-2"}, 2, id="other rights"),
        pytest.param({"SERVICE_URL": "https://a", "SERVICE_KEY": "key-1", "DOGUBAKO_LANG": "ja"}, 2, id="language"),
    ],
)
async def test_only_servers_of_the_same_service_share_answers(other: dict[str, str], runs: int) -> None:
    shared, counted = MemoryCache(), Counted()
    for environ in ({"SERVICE_URL": "https://a", "SERVICE_KEY": "key-1"}, other):
        box = build(Sources(environ=environ, env_file=None), packs=[Service(counted)])
        box.pipeline.executor.cache = shared
        await box.call("get_run")

    assert counted.runs == runs


async def test_a_foreign_tool_is_remembered_by_its_plain_arguments() -> None:
    runs: list[Any] = []

    async def act(arguments: Any, context: Any) -> Output:
        runs.append(arguments)
        return Output(data=dict(arguments), cacheable=True)

    foreign = SchemaTool("foreign", "From elsewhere.", {"type": "object"}, act, effect=Effect.READ)
    box = box_of(foreign, cache="memory")

    await box.call("foreign", {"a": 1, "b": 2})
    result = await box.call("foreign", {"b": 2, "a": 1})

    assert (result.value["data"], len(runs)) == ({"a": 1, "b": 2}, 1)


@pytest.mark.parametrize(
    "rubbish",
    [
        pytest.param(b"\xff\x00", id="not JSON"),
        pytest.param(b"[]", id="not an object"),
        pytest.param(b'{"content":[],"unknown":1}', id="of another version"),
        pytest.param(b"{}", id="empty"),
    ],
)
async def test_rubbish_in_the_cache_is_not_an_answer(rubbish: bytes) -> None:
    class DirtyCache(MemoryCache):
        async def get(self, key: str) -> bytes | None:
            return rubbish

    counted = Counted()
    registry = ToolRegistry()
    registry.register(counted.tool())
    Pipeline(registry, executor=ToolExecutor(cache=DirtyCache()))

    assert (await registry.execute("get_run", {})).code == "OK"
    assert counted.runs == 1


async def test_a_tool_may_keep_things_of_its_own() -> None:
    @tool
    async def remember(context: ToolContext[None]) -> str:
        """Keep a thing and read it back."""
        await context.cache.put("mine", b"kept")
        return str(await context.cache.get("mine"))

    assert (await box_of(remember, cache="memory").call("remember")).value == "b'kept'"
