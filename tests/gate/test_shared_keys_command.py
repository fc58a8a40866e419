"""`dogubako keys` and the administration of a server change the same keys, in a real Redis; streams end everywhere."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
import redis as redis_client
from click.testing import CliRunner, Result

from dogubako.app import Toolbox
from dogubako.cli.main import app
from dogubako.contract.call import Caller
from dogubako.contract.credentials import Credential
from dogubako.contract.errors import AuthenticationError, BusyError
from dogubako.gate.api_keys import KeyStore
from tests.doors.processes import HERE, WORKBENCH, serving
from tests.doors.waiting import until
from tests.redis_server import INSTALLED, RedisProcess
from tests.shared_redis import KEY, PATIENT

from .open_streams import Listener, connected, listening
from .sheds import shed_in

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs redis-server")

ROOT = Caller(name="root", scopes=frozenset({"admin"}), id="root")


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisProcess]:
    (tmp_path / "redis").mkdir()
    with RedisProcess(tmp_path / "redis") as process:
        yield process


def run_in(folder: Path, redis: RedisProcess, *words: str, stdin: str = "", **more: str) -> Result:
    environ = {
        "DOGUBAKO_SHARED": redis.url + PATIENT,
        "DOGUBAKO_REQUEST_STATE_KEY": KEY,
        "DOGUBAKO_DATA_DIR": str(folder),
        **more,
    }
    return CliRunner().invoke(app, ["keys", *words], input=stdin, env=environ)


@pytest.fixture
def run(redis: RedisProcess, tmp_path: Path) -> Callable[..., Any]:
    """Runs a command in a thread, as on a machine without a server."""

    async def runs(*words: str, folder: str = "operator", **more: str) -> Result:
        return await anyio.to_thread.run_sync(lambda: run_in(tmp_path / folder, redis, *words, **more))

    return runs


def box_at(redis: RedisProcess, folder: Path, **settings: Any) -> Toolbox:
    chosen = {"shared": redis.url + PATIENT, "request_state_key": KEY, "auth": "keys", "audit": False, **settings}
    return shed_in(folder, **chosen)


async def caller(box: Toolbox, secret: str) -> Caller:
    return await box.authenticator.authenticate([(b"x-api-key", secret.encode())])


async def refused(box: Toolbox, secret: str) -> str:
    """Why a key is refused, once it is."""
    for _ in range(6_000):
        try:
            await caller(box, secret)
        except AuthenticationError as error:
            return error.message
        await anyio.sleep(0.01)
    raise AssertionError("the key still works")


async def test_a_key_that_a_command_made_opens_running_servers_until_a_command_revokes_it(
    redis: RedisProcess, tmp_path: Path, run: Callable[..., Any]
) -> None:
    async with box_at(redis, tmp_path / "one").running() as one, box_at(redis, tmp_path / "two").running() as two:
        made = await run("create", "--name", "ann", "--scope", "read", "--json")
        secret = json.loads(made.stdout)["key"]
        for box in (one, two):
            await until(lambda box=box: bool(box.gate.authenticator._keys.all()), "the key is known")  # type: ignore[misc]
        known = [(await caller(box, secret)).name for box in (one, two)]
        listed = await run("list")
        await run("revoke", "ann")
        reasons = [await refused(box, secret) for box in (one, two)]

    assert made.exit_code == 0 and known == ["ann", "ann"]
    assert "ann" in listed.stdout and not (tmp_path / "operator" / "keys.json").exists()
    assert reasons == ["The API key is revoked."] * 2


async def test_administrators_and_commands_see_the_same_keys(
    redis: RedisProcess, tmp_path: Path, run: Callable[..., Any]
) -> None:
    async with box_at(redis, tmp_path / "one").running() as one, box_at(redis, tmp_path / "two").running() as two:
        secret, key = await one.keys.create("ann", ["read"], None, caller=ROOT, door="console")
        twice = await run("create", "--name", "ann", "--scope", "read")
        listed = [one.name for one in await two.keys.list(ROOT)]
        await two.keys.revoke(key.id, caller=ROOT, door="console")
        reason = await refused(one, secret)
        again = await run("revoke", key.id)

    assert twice.exit_code != 0 and "There is an active key called 'ann' already." in twice.stderr
    assert (listed, reason) == (["ann"], "The API key is revoked.")
    assert "is revoked already" in again.stderr


async def test_keys_of_a_data_folder_are_copied_with_credentials_that_no_single_machine_can_open_alone(
    redis: RedisProcess, tmp_path: Path, run: Callable[..., Any]
) -> None:
    folder = tmp_path / "old"
    secret, _ = KeyStore(folder).create("ann", ["read"])
    await anyio.to_thread.run_sync(
        lambda: CliRunner().invoke(
            app,
            ["keys", "credential", "ann", "shed"],
            input="s3cr3t-of-ann\n",
            env={"DOGUBAKO_DATA_DIR": str(folder)},
        )
    )
    async with box_at(redis, tmp_path / "one").running() as one:
        [before] = [found for found in await one.check() if found.subject == "API keys"]
        first, again = await run("share", folder="old"), await run("share", folder="old")
        await until(lambda: bool(one.gate.authenticator._keys.all()), "the key is known")  # type: ignore[attr-defined]
        ann = await caller(one, secret)
        [after] = [found for found in await one.check() if found.subject == "API keys"]

    assert not before.ok and "`dogubako keys share`" in str(before.advice)
    assert first.stdout == "1 of 1 keys were copied; the others were there already.\n"
    assert again.stdout.startswith("0 of 1 keys")
    assert dict(ann.credentials) == {"shed": Credential(key="s3cr3t-of-ann")}
    assert after.ok and after.message == "1 active"


async def test_a_credential_that_a_command_stores_is_used_by_every_server(
    redis: RedisProcess, tmp_path: Path, run: Callable[..., Any]
) -> None:
    made = await run("create", "--name", "ann", "--scope", "read", "--json")
    stored = await run("credential", "ann", "shed", stdin="s3cr3t-of-ann\n")
    async with box_at(redis, tmp_path / "one").running() as one:
        ann = await caller(one, json.loads(made.stdout)["key"])
    with redis_client.from_url(redis.url) as client:
        everything = repr([client.hgetall(name) for name in client.keys("*:keys")])

    assert stored.exit_code == 0 and dict(ann.credentials) == {"shed": Credential(key="s3cr3t-of-ann")}
    assert "s3cr3t" not in everything and "ann" not in everything


async def test_commands_say_that_redis_is_away_and_change_nothing(
    redis: RedisProcess, tmp_path: Path, run: Callable[..., Any]
) -> None:
    redis.kill()
    made, listed = await run("create", "--name", "ann", "--scope", "read"), await run("list")

    assert made.exit_code != 0 and "does not answer: no key was changed" in made.stderr and made.stdout == ""
    assert listed.exit_code != 0 and "have not been read" in listed.stderr


async def test_sharing_needs_somebody_to_share_with(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["keys", "share"], env={"DOGUBAKO_DATA_DIR": str(tmp_path)})

    assert done.exit_code != 0 and "DOGUBAKO_SHARED is not set" in done.stderr


async def test_a_server_without_redis_goes_on_with_the_keys_that_it_knows(redis: RedisProcess, tmp_path: Path) -> None:
    async with box_at(redis, tmp_path / "one").running() as one:
        secret, _ = await one.keys.create("ann", ["read"], None, caller=ROOT, door="console")
        redis.kill()
        known = await caller(one, secret)
        with pytest.raises(BusyError, match="no key was changed"):
            await one.keys.create("bob", ["read"], None, caller=ROOT, door="console")
        async with box_at(redis, tmp_path / "late").running() as late:
            with pytest.raises(AuthenticationError, match="cannot be checked now"):
                await caller(late, secret)
            redis.start()
            # Only the first server knows the key; Redis came back empty.
            await until(lambda: late.gate.authenticator._keys._hash.fields != {}, "the key came back")  # type: ignore[attr-defined]
            again = await caller(late, secret)

    assert (known.name, again.name) == ("ann", "ann")


async def test_the_key_of_all_processes_is_changed_step_by_step_and_callers_notice_nothing(
    redis: RedisProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = "another key of all processes, 32+"
    monkeypatch.setattr("dogubako.outbound.shared_redis._IN_USE_SECONDS", 1.0)
    monkeypatch.setattr("dogubako.outbound.shared_redis._SAY_SECONDS", 0.1)
    second = {"request_state_key": new, "request_state_keys_old": [KEY]}
    async with box_at(redis, tmp_path / "two", **second).running() as two:
        async with box_at(redis, tmp_path / "one", request_state_keys_old=[new]).running() as one:
            secret, _ = await one.keys.create("ann", ["read"], None, caller=ROOT, door="console")
            await two.keys.list(ROOT)
            during = [(await caller(box, secret)).name for box in (one, two)]
        # Nobody seals with the old key any more.
        await until(lambda: two.gate.authenticator._keys.trouble() is None, "the record is sealed again")  # type: ignore[attr-defined]
    async with box_at(redis, tmp_path / "three", request_state_key=new).running() as three:
        after = await caller(three, secret)

    assert (during, after.name) == (["ann", "ann"], "ann")


@pytest.mark.slow
async def test_streams_of_a_revoked_key_end_in_every_process(redis: RedisProcess, tmp_path: Path) -> None:
    made = await anyio.to_thread.run_sync(
        lambda: run_in(tmp_path, redis, "create", "--name", "ann", "--scope", "admin", "--json")
    )
    secret = json.loads(made.stdout)["key"]
    environ = {"DOGUBAKO_SHARED": redis.url + PATIENT, "DOGUBAKO_REQUEST_STATE_KEY": KEY, "DOGUBAKO_AUTH": "keys"}
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    one, two = [{**environ, "DOGUBAKO_DATA_DIR": str(folder / "data")} for folder in folders]
    with (
        serving(WORKBENCH, HERE / "odd_tools.py", folder=folders[0], settings=one) as first,
        serving(WORKBENCH, HERE / "odd_tools.py", folder=folders[1], settings=two) as second,
    ):
        async with connected(first.url()) as here, connected(second.url()) as there:
            listeners = [await Listener(web, secret, "2026").open() for web in (here, there)]
            async with listening(*listeners) as streams:
                await anyio.to_thread.run_sync(lambda: run_in(tmp_path, redis, "revoke", "ann"))
                for stream in streams:
                    await stream.ends(30.0)
            answers = [await listener.ask("tools/list") for listener in listeners]

    assert [stream.broken for stream in streams] == ["", ""]
    assert [answer.status_code for answer in answers] == [401, 401]
