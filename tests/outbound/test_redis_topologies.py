"""What processes share works the same with one Redis, with a cluster, and with a master that Sentinel knows."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis.asyncio as redis_client
import structlog.testing

from dogubako.app import Toolbox
from dogubako.contract.call import TRUSTED, Caller, ToolCall
from dogubako.contract.errors import BusyError
from dogubako.contract.storage import NotDelivered
from dogubako.engine.catalog import CatalogChange
from dogubako.tools import ExecutionOptions, ToolResult
from tests.certificates import CertificateAuthority
from tests.doors.waiting import says, until
from tests.gate.sheds import shed_in
from tests.redis_server import INSTALLED, RedisProcess, free_port
from tests.redis_topologies import (
    PASSWORD,
    SENTINEL_PASSWORD,
    Cluster,
    Node,
    Watched,
    allow_only_documented_user,
    cluster,
    running,
    watched_by_sentinel,
)
from tests.shared_redis import KEY, PATIENT

pytestmark = [pytest.mark.skipif(not INSTALLED, reason="needs redis-server"), pytest.mark.slow]


@dataclass(frozen=True)
class Address:
    url: str


ANN = Caller(name="ann", scopes=frozenset({"admin"}), id="ann")


@pytest.fixture(scope="module")
def redis_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with watched_by_sentinel(tmp_path_factory.mktemp("sentinel")) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisProcess]:
    with RedisProcess(tmp_path_factory.mktemp("server")) as process:
        yield process


@pytest.fixture(scope="module")
def guarded_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    """A server whose only user has the rights of docs/scale.md."""
    with running(Node(tmp_path_factory.mktemp("guarded"))) as node:
        allow_only_documented_user([node], 0)
        yield Address(f"redis://dogubako:PASSWORD@127.0.0.1:{node.port}/0{PATIENT}")


@pytest.fixture(scope="module")
def guarded_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("guarded-cluster")) as found:
        allow_only_documented_user(found.nodes, 1)
        yield Cluster(found.nodes, user="dogubako:PASSWORD@")


@pytest.fixture(scope="module")
def encrypted_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    """A server that speaks TLS, with a certificate of an authority of its own."""
    folder = tmp_path_factory.mktemp("encrypted")
    authority, port = CertificateAuthority(folder), free_port()
    authority.tls_for("localhost")
    files = ("--tls-cert-file", f"{folder}/localhost.pem", "--tls-key-file", f"{folder}/localhost.pem")
    trust = ("--tls-ca-cert-file", str(authority.bundle), "--tls-auth-clients", "no")
    with running(Node(folder, "--tls-port", str(port), *files, *trust)):
        yield Address(f"rediss://localhost:{port}/0{PATIENT}&ssl_ca_certs={authority.bundle}")


@pytest.fixture(scope="module")
def encrypted_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    folder = tmp_path_factory.mktemp("encrypted-cluster")
    authority = CertificateAuthority(folder)
    with cluster(folder, authority) as found:
        yield Address(f"{found.url}{PATIENT}&ssl_ca_certs={authority.bundle}")


@pytest.fixture(scope="module")
def encrypted_watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    folder = tmp_path_factory.mktemp("encrypted-sentinel")
    authority = CertificateAuthority(folder)
    with watched_by_sentinel(folder, authority) as found:
        url = found.url.replace("redis+sentinel://", f"rediss+sentinel://:{PASSWORD}@")
        yield Address(f"{url}{PATIENT}&sentinel_password={SENTINEL_PASSWORD}&ssl_ca_certs={authority.bundle}")


KINDS = ["server", "redis_cluster", "watched", "guarded_server", "guarded_cluster", "encrypted_server"]
KINDS += ["encrypted_cluster", "encrypted_watched"]


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest) -> str:
    address = str(request.getfixturevalue(request.param).url)
    return address if "?" in address else address + PATIENT


def prefix_of(folder: Path) -> str:
    return f"dogubako.{folder.name}"[:64]


@asynccontextmanager
async def two(
    url: str, folder: Path, *, works: bool = False, **settings: Any
) -> AsyncIterator[tuple[Toolbox, Toolbox]]:
    """Two processes of a server of their own. The second one runs tasks, where `works` says so."""
    chosen = {"request_state_key": KEY, "audit": False, "shared_prefix": prefix_of(folder), **settings}
    async with AsyncExitStack() as stack:
        boxes = [shed_in(folder / name, shared=url, **chosen) for name in ("one", "other")]
        boxes[1].tasks.works = works
        one, other = [await stack.enter_async_context(box.running()) for box in boxes]
        yield one, other


async def call(box: Toolbox, name: str = "look", **parameters: Any) -> ToolResult:
    return await box.pipeline.handle(ToolCall(name=name, parameters=parameters, caller=ANN))


async def eventually(work: Callable[[], Awaitable[bool]], what: str) -> None:
    for _ in range(600):
        with suppress(BusyError, NotDelivered):
            if await work():
                return
        await asyncio.sleep(0.1)
    raise AssertionError(f"this did not happen: {what}")


async def test_switches_and_news_reach_the_other_process(url: str, tmp_path: Path) -> None:
    async with two(url, tmp_path) as (one, other):
        heard: list[CatalogChange] = []
        other.catalog.subscribe(heard.append)
        await one.registry.switch("look", False)
        await until(lambda: not other.registry.get("look").enabled, "the switch is heard")
        one.catalog.changed(CatalogChange(kind="updated", uri="shed://rake"))
        one.catalog.changed(CatalogChange(kind="prompts"))
        await until(lambda: len(heard) == 2, "the news are heard")

    assert heard == [CatalogChange(kind="updated", uri="shed://rake"), CatalogChange(kind="prompts")]


async def test_a_message_wakes_the_other_process_up_before_it_looks_by_itself(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with two(url, tmp_path) as (one, other):
        monkeypatch.setattr("dogubako.outbound.shared_redis._LOOK_SECONDS", 3600.0)
        woken = asyncio.Event()
        other._shared.redis.refresh_with(lambda: _set(woken))  # type: ignore[union-attr]
        # The last look with the usual pause, and the subscription, may still be under way.
        await eventually(lambda: _wakes(one, woken), "a message wakes it up")


async def _set(event: asyncio.Event) -> None:
    event.set()


async def _wakes(one: Toolbox, woken: asyncio.Event) -> bool:
    woken.clear()
    await one.registry.switch("put", False)
    with suppress(TimeoutError):
        async with asyncio.timeout(1):
            await woken.wait()
    return woken.is_set()


async def test_limits_places_and_used_answers_count_together(url: str, tmp_path: Path) -> None:
    async with two(url, tmp_path, rate_limit_max=6, auth="keys", caller_concurrency=2) as (one, other):
        marker = tmp_path / "marker"
        lingering = asyncio.create_task(call(one, "linger", marker=str(marker)))
        await says(marker, "started")
        codes = [(await call(box)).code for _ in range(4) for box in (one, other)]
        used = [await box.once.use("a", owner="ann", ttl=600) for box in (one, other)]
        lingering.cancel()
        await asyncio.gather(lingering, return_exceptions=True)

    assert codes == ["OK"] * 5 + ["RATE_LIMIT_EXCEEDED"] * 3
    assert used == [True, False]


async def test_values_locks_and_messages(url: str, tmp_path: Path) -> None:
    async with two(url, tmp_path) as (one, other):
        assert one.store is not None and other.store is not None
        assert one.messages is not None and other.messages is not None
        assert await one.store.put("report", b"value", ttl=60)
        assert (await other.store.take("report"), await one.store.take("report")) == (b"value", None)
        async with one.store.lock("workflow", wait=1):
            with pytest.raises(BusyError):
                async with other.store.lock("workflow", wait=0.2):
                    raise AssertionError("held twice")
        heard: list[bytes] = []

        async def shout(payload: bytes, sender: str) -> bytes:
            heard.append(payload)
            return payload.upper()

        for box in (one, other):
            assert box.messages is not None
            box.messages.handle("shout", shout)
        reply = await one.messages.request(other.messages.process, "shout", b"hello")
        await one.messages.broadcast("shout", b"all")
        await until(lambda: heard.count(b"all") == 2, "both hear what is sent to all")

    assert reply == b"HELLO"


async def _started(box: Toolbox, name: str, **arguments: Any) -> ToolResult:
    """Start a task as a client does: the queue is connected beside the start, and says "try again" until then."""
    async with asyncio.timeout(100):
        while isinstance((result := await box.call(name, arguments, ExecutionOptions(task=True))).error, BusyError):
            pass
    return result


async def test_a_task_is_started_by_one_process_and_run_by_another(url: str, tmp_path: Path) -> None:
    async with two(url, tmp_path, works=True) as (one, _):
        marker = tmp_path / "marker"
        begun = await _started(one, "linger", marker=str(marker))
        assert begun.task is not None, begun.text
        await says(marker, "started")
        quick = await _started(one, "look")
        assert quick.task is not None, quick.text
        assert (await one.tasks.of(TRUSTED).wait(quick.task.id, 60)).status == "completed"
        await one.tasks.of(TRUSTED).cancel(begun.task.id)
        await says(marker, "cancelled")


async def test_two_servers_with_two_prefixes_do_not_see_each_other(url: str, tmp_path: Path) -> None:
    async with (
        two(url, tmp_path, shared_prefix="dogubako.left") as (left, _),
        two(url, tmp_path, shared_prefix="dogubako.right") as (right, right_too),
    ):
        heard: list[CatalogChange] = []
        right.catalog.subscribe(heard.append)
        await left.registry.switch("look", False)
        left.catalog.changed(CatalogChange(kind="resources"))
        assert left.store is not None and right.store is not None and left.messages is not None
        await left.store.put("report", b"of the left", ttl=60)
        # What comes later in the right server says that everything earlier would have been heard.
        await right_too.registry.switch("put", False)
        right_too.catalog.changed(CatalogChange(kind="prompts"))
        await until(lambda: bool(heard) and not right.registry.get("put").enabled, "the right server hears its own")

        assert heard == [CatalogChange(kind="prompts")]
        assert right.registry.get("look").enabled and await right.store.get("report") is None
        assert right.messages is not None
        with pytest.raises(NotDelivered):
            await left.messages.send(right.messages.process, "shout", b"hello")
        assert await left.once.use("a", owner="ann", ttl=60) and await right.once.use("a", owner="ann", ttl=60)


async def test_a_server_whose_certificate_nobody_vouches_for_is_not_used(
    encrypted_server: Address, tmp_path: Path
) -> None:
    other = CertificateAuthority(tmp_path)
    url = encrypted_server.url.partition("&ssl_ca_certs=")[0] + f"&ssl_ca_certs={other.bundle}"
    with structlog.testing.capture_logs():
        async with two(url, tmp_path) as (one, _):
            finding = next(found for found in await one.check() if found.subject == "shared state")

    assert not finding.ok and "does not answer" in finding.message


async def test_the_documented_user_may_touch_nothing_outside_its_prefix(guarded_server: Address) -> None:
    async with redis_client.from_url(guarded_server.url) as client:
        for command in (client.get("another:key"), client.publish("another:news", "x"), client.flushall()):
            with pytest.raises(redis_client.ResponseError):
                await command


async def test_a_cluster_that_takes_longer_to_describe_itself_than_an_operation_may_is_used(
    redis_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described: list[Any] = []
    initialize = redis_client.RedisCluster.initialize

    async def slowly(client: Any, **more: Any) -> Any:
        if client not in described:
            await asyncio.sleep(0.5)
            await initialize(client, **more)
            described.append(client)
        return client

    monkeypatch.setattr(redis_client.RedisCluster, "initialize", slowly)
    monkeypatch.setattr("dogubako.outbound.shared_redis.operation_limit", lambda address: 0.2)
    with structlog.testing.capture_logs():
        async with two(redis_cluster.url + PATIENT, tmp_path) as (one, _):
            await eventually(lambda: _switched(one, "put"), "the cluster is used")


async def test_a_cluster_whose_node_goes_and_comes_back_needs_no_restart(
    redis_cluster: Cluster, tmp_path: Path
) -> None:
    owner = redis_cluster.owner_of(f"{{{prefix_of(tmp_path)}}}:switches")
    with structlog.testing.capture_logs():
        async with two(redis_cluster.url, tmp_path, rate_limit_max=10_000) as (one, other):
            await eventually(lambda: _switched(one, "put"), "the cluster answers within its usual timeout")
            await until(lambda: not other.registry.get("put").enabled, "the switch is heard")
            await asyncio.to_thread(owner.kill)
            away = await call(one), await call(other, "put", text="a")
            with pytest.raises(BusyError, match="nothing was switched"):
                await one.registry.switch("look", False)
            await asyncio.to_thread(owner.start)
            # Its node came back empty, and the processes know more.
            await eventually(lambda: _switched(one, "look"), "tools can be switched again")
            await until(lambda: not other.registry.get("look").enabled, "and the other process hears of it")
            still = await call(other, "put", text="a")

    assert [result.code for result in away] == ["OK", "TOOL_DISABLED"]
    assert still.code == "TOOL_DISABLED"


async def test_a_cluster_whose_node_hangs_is_left_alone_and_no_answer_is_taken_for_another(
    redis_cluster: Cluster, tmp_path: Path
) -> None:
    owner = redis_cluster.owner_of(f"{{{prefix_of(tmp_path)}}}:switches")
    with structlog.testing.capture_logs():
        async with two(redis_cluster.url, tmp_path, rate_limit_max=10_000) as (one, _):
            store = one.store
            assert store is not None
            await eventually(lambda: store.put("0", b"0", ttl=600), "the cluster answers")
            with owner.frozen():
                codes = {(await call(one)).code for _ in range(20)}
                lost = await asyncio.gather(*(store.put(f"hang {number}", b"x", ttl=600) for number in range(20)))
            for number in range(20):
                name = str(number)
                await eventually(lambda name=name: store.put(name, name.encode(), ttl=600), "it answers again")  # type: ignore[misc]
            found = [await store.get(str(number)) for number in range(20)]

    assert codes == {"OK"} and not any(lost)
    assert found == [str(number).encode() for number in range(20)]


async def _switched(box: Toolbox, name: str) -> bool:
    await box.registry.switch(name, False)
    return True


async def test_sentinel_makes_the_replica_the_master_and_nothing_has_to_be_restarted(
    watched: Watched, tmp_path: Path
) -> None:
    """The last test: what was the replica is the master afterwards."""
    with structlog.testing.capture_logs():
        async with two(watched.url, tmp_path, rate_limit_max=10_000) as (one, other):
            await eventually(lambda: _switched(one, "put"), "the master answers within its usual timeout")
            await until(lambda: not other.registry.get("put").enabled, "the switch is heard")
            with watched.master.frozen():
                away = await call(one), await call(other, "put", text="a")
                await eventually(lambda: _switched(one, "look"), "tools can be switched at the new master")
                await until(lambda: not other.registry.get("look").enabled, "the other process hears of it there")
            # The old master comes back, and follows the new one.
            await eventually(lambda: _is_replica(watched.master), "the old master is a replica")
            await eventually(lambda: _switched(other, "stumble"), "tools are switched at the new master")
            await until(lambda: not one.registry.get("stumble").enabled, "and all hear of it")
            assert one.messages is not None and other.messages is not None
            other.messages.handle("shout", _upper)
            reply = await _replied(one, other.messages.process)
            finding = next(one for one in await other.check() if one.subject == "shared state")
            role = await asyncio.to_thread(watched.replica.ask, "role")

    assert [result.code for result in away] == ["OK", "TOOL_DISABLED"]
    assert (reply, finding.ok, role.splitlines()[0]) == (b"HELLO", True, "master")


async def _is_replica(node: Node) -> bool:
    return (await asyncio.to_thread(node.ask, "role")).startswith("slave")


async def _upper(payload: bytes, sender: str) -> bytes:
    return payload.upper()


async def _replied(box: Toolbox, process: str) -> bytes:
    assert box.messages is not None
    for _ in range(600):
        with suppress(NotDelivered):
            return await box.messages.request(process, "shout", b"hello")
        await asyncio.sleep(0.1)
    raise AssertionError("no message reached the other process")
