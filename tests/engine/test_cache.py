"""An answer that promises never to change is given again without asking the service again."""

import ast
from pathlib import Path
from typing import Any

import msgspec
import pytest
import structlog.testing
from pydantic import SecretStr

from dogubako import Context, Effect, Pack, packs, tool
from dogubako.app import build
from dogubako.contract.errors import NotFoundError
from dogubako.contract.storage import MemoryCache
from dogubako.engine.executor import ExecutionLimits, ToolExecutor
from dogubako.engine.pipeline import Pipeline
from dogubako.engine.registry import ToolRegistry
from dogubako.output import Image, Json, Text
from dogubako.response.builder import ToolResponseBuilder
from dogubako.settings import Sources
from dogubako.tools import ExecutionOptions, FunctionTool, PackSettings, SchemaTool, setting

from .boxes import box_of


class Counted:
    """A tool that counts its runs."""

    def __init__(
        self, answer: Any = None, *, effect: Effect = Effect.READ, fails: bool = False, declared: bool = True
    ) -> None:
        self.runs = 0
        self.declared = declared
        self.answer = answer
        self.effect = effect
        self.fails = fails

    def tool(self, version: str = "1.0.0") -> FunctionTool[..., Any]:
        @tool(effect=self.effect, version=version, caches=self.declared)
        async def get_run(run: str = "17", limit: int = 5) -> Any:
            """Get one run."""
            self.runs += 1
            if self.fails:
                raise NotFoundError("Execution '17' not found")
            return self.answer or Json(data={"run": run, "times": self.runs}, cacheable=True, count=1)

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
        pytest.param(Counted(Json(data={})), id="an answer that promises nothing"),
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
        pytest.param(Json(data=["x" * 200] * 900, cacheable=True), id="trimmed"),
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
    counted = Counted(Json(data=["word " * 20] * 100, cacheable=True))

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

    async def act(arguments: Any, context: Any) -> Json:
        runs.append(arguments)
        return Json(data=dict(arguments), cacheable=True)

    foreign = SchemaTool("foreign", "From elsewhere.", {"type": "object"}, act, effect=Effect.READ, caches=True)
    box = box_of(foreign, cache="memory")

    await box.call("foreign", {"a": 1, "b": 2})
    result = await box.call("foreign", {"b": 2, "a": 1})

    assert (result.value["data"], len(runs)) == ({"a": 1, "b": 2}, 1)


def kept(**changes: Any) -> bytes:
    """An answer as it is kept, with these changes."""
    answer = {"content": [{"type": "text", "text": "kept"}], "kind": "text", "structured": None, "tokens": 16}
    return msgspec.json.encode({**answer, "count": None, "trimmed": False, **changes})


class Planted(MemoryCache):
    """Somebody else wrote this into the cache."""

    def __init__(self, value: bytes) -> None:
        super().__init__()
        self._planted: bytes | None = value

    async def get(self, key: str) -> bytes | None:
        return self._planted

    async def delete(self, key: str) -> None:
        self._planted = None


def planted(counted: Counted, value: bytes) -> tuple[ToolRegistry, Planted]:
    cache, registry = Planted(value), ToolRegistry()
    registry.register(counted.tool())
    Pipeline(registry, executor=ToolExecutor(cache=cache))
    return registry, cache


async def test_a_sound_value_is_an_answer() -> None:
    counted = Counted()
    registry, _ = planted(counted, kept())

    assert ((await registry.execute("get_run", {})).value, counted.runs) == ("kept", 0)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xff\x00", id="not JSON"),
        pytest.param(b"[" * 100_000, id="bottomless"),
        pytest.param(b"[]", id="not an object"),
        pytest.param(b"{}", id="empty"),
        pytest.param(kept(unknown=1), id="of another version"),
        pytest.param(kept(content=[]), id="no content"),
        pytest.param(kept(content=[1]), id="a block that is none"),
        pytest.param(kept(content=5), id="content that is a number"),
        pytest.param(kept(content=[{"type": "video", "data": "x"}]), id="a block of no known type"),
        pytest.param(kept(content=[{"type": "image", "data": "!", "mimeType": "image/png"}]), id="a broken picture"),
        pytest.param(kept(content=[{"type": "image", "data": "", "mimeType": "image/png"}]), id="text without a text"),
        pytest.param(kept(kind="json"), id="JSON that is none"),
        pytest.param(kept(kind="song"), id="an unknown kind"),
        pytest.param(kept(tokens="many"), id="wrong types"),
        pytest.param(kept(tokens=25_001), id="above the budget"),
        pytest.param(kept(content=[{"type": "text", "text": "word " * 30_000}], tokens=0), id="above, and denies it"),
        pytest.param(kept(content=[{"type": "text", "text": "x" * 20_000_000}], tokens=0), id="twenty megabytes"),
        pytest.param(kept(structured=["word " * 30_000], tokens=0), id="structured data above the budget"),
    ],
)
async def test_what_is_wrong_with_a_value_makes_it_a_miss_and_deletes_it(value: bytes) -> None:
    counted = Counted()
    registry, cache = planted(counted, value)

    assert (await registry.execute("get_run", {})).code == "OK"
    assert (counted.runs, await cache.get("")) == (1, None)


class Watched(MemoryCache):
    """Counts how often it is asked."""

    asked = 0

    async def get(self, key: str) -> bytes | None:
        self.asked += 1
        return await super().get(key)


@pytest.mark.parametrize(("declared", "asked"), [(False, 0), (True, 2)])
async def test_only_a_tool_that_says_that_it_caches_asks_the_cache(declared: bool, asked: int) -> None:
    counted, cache, registry = Counted(declared=declared), Watched(), ToolRegistry()
    registry.register(counted.tool())
    Pipeline(registry, executor=ToolExecutor(cache=cache))
    with structlog.testing.capture_logs() as events:
        for _ in range(2):
            await registry.execute("get_run", {})

    warned = [event for event in events if "without declaring caches=True" in event["event"]]
    assert (cache.asked, len(warned)) == (asked, 0 if declared else 1)


def test_every_built_in_tool_with_cacheable_answers_says_so() -> None:
    """A tool without the declaration works, and is never answered from the cache."""
    folder = Path(packs.__file__).parent
    undeclared = [
        f"{path.relative_to(folder)}: {node.name}"
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and _is_cacheable(node) and not _declares(node)
    ]

    assert undeclared == []


def _is_cacheable(node: ast.AST) -> bool:
    return any(isinstance(one, ast.keyword) and one.arg == "cacheable" for one in ast.walk(node))


def _declares(node: ast.ClassDef) -> bool:
    return any(isinstance(one, ast.Assign) and ast.unparse(one) == "caches = True" for one in node.body)


def test_the_look_at_the_built_in_tools_finds_what_it_looks_for() -> None:
    undeclared = ast.parse("class A:\n  def f(self):\n    return Output(data=1, cacheable=True)").body[0]
    declared = ast.parse("class A:\n  caches = True\n  def f(self):\n    return Output(data=1, cacheable=x)").body[0]
    assert isinstance(undeclared, ast.ClassDef) and isinstance(declared, ast.ClassDef)

    assert _is_cacheable(undeclared) and not _declares(undeclared)
    assert _is_cacheable(declared) and _declares(declared)


async def test_a_tool_may_keep_things_of_its_own() -> None:
    @tool
    async def remember(context: Context[None]) -> str:
        """Keep a thing and read it back."""
        await context.cache.put("mine", b"kept")
        return str(await context.cache.get("mine"))

    assert (await box_of(remember, cache="memory").call("remember")).value == "b'kept'"
