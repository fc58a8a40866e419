"""A session of the console counts on every machine that shares a Redis, and ends on all of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dogubako.contract.call import Caller
from tests.gate.sheds import shed_in
from tests.redis_server import INSTALLED, RedisProcess
from tests.shared_redis import KEY, PATIENT

from .browser import browsing, text_of

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs redis-server")

ROOT = Caller(name="root", scopes=frozenset({"admin"}), id="root")


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisProcess]:
    (tmp_path / "redis").mkdir()
    with RedisProcess(tmp_path / "redis") as process:
        yield process


@pytest.mark.parametrize("away", [False, True], ids=["with redis", "redis goes away"])
async def test_a_session_is_continued_on_another_machine_and_signed_out_on_both(
    redis: RedisProcess, tmp_path: Path, away: bool
) -> None:
    settings = {"shared": redis.url + PATIENT, "request_state_key": KEY, "auth": "keys", "audit": False}
    one, other = (shed_in(tmp_path / name, **settings) for name in ("one", "other"))
    async with browsing(one) as here, browsing(other) as there:
        secret, _ = await one.keys.create("ann", ["admin"], None, caller=ROOT, door="console")
        # The other machine reads the key before it is used there.
        await other.keys.list(ROOT)
        await here.sign_in(secret)
        there.cookies = dict(here.cookies)
        continued = await there.get("/console")
        await here.get("/console")
        if away:
            redis.kill()
        left = await here.post("/console/sign-out")
        copied = await there.get("/console/keys")

    assert continued.status == 200 and "ann" in continued.body.decode()
    if away:
        # What cannot be told to others is said, and reading goes on.
        assert "may still work at other processes" in text_of(left) and copied.status == 200
    else:
        assert (left.status, copied.status) == (303, 401)
        assert "Sign in again: this session was signed out." in text_of(copied)
