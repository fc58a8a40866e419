"""One of two processes runs a server, and both use it."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog.testing
from pydantic import SecretStr

from dogubako.contract.conversation import InputAnswer, InputRequests, InputRequired
from dogubako.contract.errors import ApiError
from dogubako.gateway import owned_upstream
from dogubako.gateway.definitions import Definitions
from dogubako.gateway.owned_upstream import OwnedUpstream, connector
from dogubako.gateway.settings import ServerSettings
from dogubako.gateway.upstream import Upstream
from dogubako.openapi.settings import ApiSettings
from dogubako.outbound import shared_owners
from dogubako.outbound.shared_owners import RedisOwners
from tests.redis_server import INSTALLED, RedisProcess
from tests.shared_redis import Processes

from .upstreams import PATIENCE, FakeClient, Running, answer_to, client, fake, until

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs redis-server")


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisProcess]:
    with RedisProcess(tmp_path) as process:
        yield process


@pytest.fixture
async def processes(redis: RedisProcess) -> AsyncIterator[Processes]:
    started = Processes(redis.url)
    yield started
    await started.end()


@asynccontextmanager
async def _used_by(
    owners: RedisOwners,
    settings: ServerSettings,
    marks: Path,
    *,
    joins: bool = True,
    connect: type[Upstream] = Upstream,
) -> AsyncIterator[Running]:
    settings = settings.model_copy(update={"env": {"MARKS": SecretStr(str(marks))}})
    found = Running(None, marks)  # type: ignore[arg-type]
    found.upstream = OwnedUpstream(
        owners,
        connect,
        "fake",
        settings,
        on_definitions=found.definitions.append,
        on_resource_updated=found.updated.append,
    )
    task = asyncio.create_task(found.upstream.run() if joins else asyncio.sleep(0))
    try:
        yield found
    finally:
        task.cancel()
        await asyncio.wait({task}, timeout=PATIENCE)


Pair = tuple[Running, Running]


@pytest.fixture(params=["legacy", "modern"])
async def pair(request: pytest.FixtureRequest, processes: Processes, tmp_path: Path) -> AsyncIterator[Pair]:
    """The process that owns the server, and another one."""
    settings, marks = fake(request.param), tmp_path / "marks"
    async with _used_by(await processes.start(), settings, marks) as owner:
        await owner.is_in("ready")
        async with _used_by(await processes.start(), settings, marks) as other:
            await other.is_in("ready")
            yield owner, other


async def test_both_call_one_process_and_know_its_tools(pair: Pair) -> None:
    said = [await one.call("echo", text="hello") for one in (*pair, *pair)]

    assert said == ["hello"] * 4 and len(pair[0].pids()) == 1
    assert pair[1].definitions[-1].tools == pair[0].definitions[-1].tools


async def test_progress_and_questions_reach_the_client_of_the_other_process(pair: Pair) -> None:
    _, other = pair
    talker = FakeClient()
    await other.call("steps", client(talker))
    named = await other.call("ask", client(talker))

    assert len(talker.progressed) > 0 and len(talker.asked) == 1
    assert "Aiko" in named


async def test_a_client_that_calls_again_may_do_so_at_the_other_process(pair: Pair) -> None:
    owner, other = pair
    with pytest.raises(InputRequired) as needed:
        await other.call("ask", client(FakeClient(modern=True)))
    requests = needed.value.requests
    answers = {key: answer_to(request) for key, request in requests.items()}
    named = await owner.call("ask", client(FakeClient(modern=True, answers=answers, questions=requests)))

    assert "Aiko" in named


async def test_a_failure_reads_the_same_in_both(pair: Pair) -> None:
    said = []
    for one in pair:
        with pytest.raises(ApiError) as raised:
            await one.call("fail")
        said.append((raised.value.message, raised.value.retryable))

    assert said[0] == said[1]


async def test_a_call_that_is_given_up_is_cancelled_at_the_server(pair: Pair) -> None:
    owner, other = pair
    running = asyncio.create_task(other.call("wait", client()))
    await until(lambda: owner.marked("call wait") > 0)
    running.cancel()

    await until(lambda: owner.marked("cancel") > 0)


async def test_a_call_fails_with_its_owner_and_the_next_one_goes_to_another(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_owners, "LEASE_SECONDS", 0.5)
    monkeypatch.setattr(shared_owners, "_LOOK_SECONDS", 0.05)
    settings, marks = fake("legacy"), tmp_path / "marks"
    victim, survivor = await processes.start(), await processes.start()
    async with _used_by(victim, settings, marks) as owner:
        await owner.is_in("ready")
        async with _used_by(survivor, settings, marks) as other:
            await other.is_in("ready")
            pending = asyncio.create_task(other.call("wait", client()))
            await until(lambda: other.marked("call wait") > 0)
            await processes.kill(victim)
            with pytest.raises(ApiError, match="ended during the call") as raised:
                await pending
            after = await other.call("echo", text="on")

            assert not raised.value.retryable and (after, len(other.pids())) == ("on", 2)
            assert other.marked("call wait") == 1


class SlowClient(FakeClient):
    """A client whose user thinks for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.thought = asyncio.Event()

    async def request(self, requests: InputRequests) -> Mapping[str, InputAnswer]:
        answers = await super().request(requests)
        await self.thought.wait()
        return answers


async def test_an_owner_that_shuts_down_finishes_the_calls_of_others(processes: Processes, tmp_path: Path) -> None:
    settings, marks = fake("legacy"), tmp_path / "marks"
    leaving, staying = await processes.start(), await processes.start()
    async with _used_by(staying, settings, marks, joins=False) as other:
        user = SlowClient()
        async with _used_by(leaving, settings, marks) as owner:
            await owner.is_in("ready")
            joined = asyncio.create_task(other.upstream.run())
            await other.is_in("ready")
            pending = asyncio.create_task(other.call("ask", client(user)))
            await until(lambda: bool(user.asked))
            asyncio.get_running_loop().call_later(0.2, user.thought.set)
        first = await pending
        after = await other.call("echo", text="on")
        joined.cancel()
        await asyncio.wait({joined})

    assert "Aiko" in first and (after, len(other.pids())) == ("on", 2)


async def test_a_change_of_the_tools_is_known_to_both(pair: Pair) -> None:
    owner, other = pair
    await other.call("grow")

    await until(lambda: all("grown" in {one["name"] for one in each.definitions[-1].tools} for each in (owner, other)))


async def test_nothing_runs_while_no_process_can_be_reached(
    pair: Pair, redis: RedisProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, other = pair
    monkeypatch.setattr(owned_upstream, "_MOVE_SECONDS", 0.0)
    redis.kill()
    here = await owner.call("echo", text="on")
    with pytest.raises(ApiError, match="No process that runs it can be reached") as raised:
        await other.call("echo", text="on")
    redis.start()

    assert here == "on" and raised.value.retryable


@pytest.mark.parametrize(
    ("settings", "protocol", "owned"),
    [
        (ServerSettings(command="x"), "2026-07-28", True),
        (ServerSettings(command="x", processes="each"), "", False),
        (ServerSettings(url="https://a.example/mcp"), "", True),
        (ServerSettings(url="https://a.example/mcp"), "2025-11-25", True),
        (ServerSettings(url="https://a.example/mcp"), "2026-07-28", False),
        (ServerSettings(url="https://a.example/mcp", processes="one"), "2026-07-28", True),
    ],
)
def test_servers_that_keep_state_have_one_owner(settings: ServerSettings, protocol: str, owned: bool) -> None:
    owners: Any = object()
    chosen = connector(Upstream, settings, Definitions(protocol=protocol), owners)

    assert (chosen is not Upstream) is owned
    assert connector(Upstream, settings, Definitions(protocol=protocol), None) is Upstream


def test_an_http_api_keeps_no_state() -> None:
    settings = ApiSettings(url="https://a.example", openapi="https://a.example/openapi.json")

    assert connector(Upstream, settings, Definitions(), owners=object()) is Upstream  # type: ignore[arg-type]


async def test_a_server_that_is_removed_and_added_again_has_one_owner(processes: Processes, tmp_path: Path) -> None:
    """The one that was removed ends after the one that was added has begun."""
    settings, marks = fake("modern"), tmp_path / "marks"
    owners, others = await processes.start(), await processes.start()
    async with _used_by(others, settings, tmp_path / "elsewhere", joins=False) as other, AsyncExitStack() as stack:
        async with _used_by(owners, settings, tmp_path / "removed") as removed:
            await removed.is_in("ready")
            added = await stack.enter_async_context(_used_by(owners, settings, marks))
            await added.is_in("ready")
            following = asyncio.create_task(other.upstream.run())
            stack.push_async_callback(_ended, following)
            await other.is_in("ready")
        # An owner that left is followed within this time.
        await asyncio.sleep(3 * shared_owners._LOOK_SECONDS)
        said = [await one.call("echo", text="hello") for one in (added, other)]

        assert said == ["hello"] * 2 and other.pids() == [] and len(added.pids()) == 1
        assert others.owner_of("server fake") == owners.messages.process


async def _ended(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.wait({task}, timeout=PATIENCE)


class _NeverStarts(Upstream):
    """A server that cannot even be begun."""

    def __init__(self, *args: Any, **more: Any) -> None:
        raise RuntimeError("no room on this machine")


async def test_why_a_server_cannot_be_started_is_known_at_once_in_all_processes(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owned_upstream, "_MOVE_SECONDS", 1000.0)
    settings = fake("modern")
    with structlog.testing.capture_logs() as logged:
        async with (
            _used_by(await processes.start(), settings, tmp_path / "one", connect=_NeverStarts) as owner,
            _used_by(await processes.start(), settings, tmp_path / "other", connect=_NeverStarts) as other,
        ):
            await owner.is_in("unreachable")
            await other.is_in("unreachable")
            for one in (owner, other):
                with pytest.raises(ApiError, match="could not be started"):
                    await one.call("echo", text="hello")

    [found] = [one for one in logged if one["event"] == "Running an MCP server for all failed"][:1]
    assert found["server"] == "fake" and "no room" in str(found["exc_info"])


async def test_an_owner_whose_lease_ended_calls_nothing_until_redis_answers(
    redis: RedisProcess, processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may run the server by then, and what was changed here would be lost."""
    async with _used_by(await processes.start(), fake("legacy"), tmp_path / "marks") as owner:
        await owner.is_in("ready")
        redis.kill()
        at_first = await owner.call("echo", text="hello")
        monkeypatch.setattr(shared_owners, "LEASE_SECONDS", 0.2)
        monkeypatch.setattr(owned_upstream, "_MOVE_SECONDS", 0.5)
        await asyncio.sleep(0.3)
        with pytest.raises(ApiError) as refused:
            await owner.call("echo", text="hello")
        monkeypatch.undo()
        redis.start()
        again = await owner.call("echo", text="hello")

    assert at_first == again == "hello"
    assert "not known" in refused.value.message and refused.value.retryable
