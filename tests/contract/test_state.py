"""The in-process state: a cache that forgets, and switches that remember."""

from types import SimpleNamespace

import pytest

from dogubako.contract.storage import LocalSwitches, MemoryCache, NoCache


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr("dogubako.contract.storage.time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


async def test_an_answer_is_remembered_until_its_time_is_up(clock: list[float]) -> None:
    cache = MemoryCache(ttl_seconds=300)
    await cache.put("a", b"answer")

    clock[0] += 299
    assert await cache.get("a") == b"answer"
    clock[0] += 2
    assert await cache.get("a") is None
    clock[0] -= 100
    assert await cache.get("a") is None, "what was forgotten does not come back"


async def test_a_full_cache_forgets_what_was_used_longest_ago() -> None:
    cache = MemoryCache(max_bytes=30)
    for key in "abc":
        await cache.put(key, b"x" * 10)

    await cache.get("a")
    await cache.put("d", b"x" * 10)

    assert [key for key in "abcd" if await cache.get(key) is not None] == ["a", "c", "d"]


async def test_a_value_larger_than_the_cache_is_not_kept_and_drives_nothing_out() -> None:
    cache = MemoryCache(max_bytes=10)
    await cache.put("small", b"x")

    await cache.put("large", b"x" * 11)

    assert await cache.get("large") is None
    assert await cache.get("small") == b"x"


async def test_a_value_put_again_is_counted_once() -> None:
    cache = MemoryCache(max_bytes=20)
    for _ in range(5):
        await cache.put("same", b"x" * 10)
    await cache.put("other", b"x" * 10)

    assert await cache.get("same") is not None
    assert await cache.get("other") is not None


async def test_no_cache_remembers_nothing() -> None:
    cache = NoCache()
    await cache.put("a", b"answer")

    assert await cache.get("a") is None


def test_switches_are_kept_by_name_and_version() -> None:
    switches = LocalSwitches()
    switches.set("echo", "1.0.0", False)

    assert switches.get("echo", "1.0.0") is False
    assert switches.get("echo", "2.0.0") is None
    switches.forget("echo", "1.0.0")
    switches.forget("echo", "1.0.0")
    assert switches.get("echo", "1.0.0") is None
