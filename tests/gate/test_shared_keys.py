"""API keys that processes share: every process follows them, nobody can plant one, and none comes back."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final, cast

import pytest
import structlog.testing

from dogubako.contract.call import Caller
from dogubako.contract.credentials import Credential
from dogubako.contract.errors import AuthenticationError, BusyError
from dogubako.gate.api_keys import KeysError
from dogubako.gate.authentication import KeyAuthentication
from dogubako.gate.credential_vault import CredentialVault
from dogubako.gate.shared_keys import SharedKeys
from dogubako.outbound.redis_cache import Unavailable
from tests.shared_redis import KEY, MemoryClient, MemoryRedis

NEW: Final = "another key of all processes, 32+"
HASH: Final = "test:keys"


class Process:
    """One of the processes, with its copy of the keys."""

    def __init__(self, client: MemoryClient, *secrets: str) -> None:
        self.redis = MemoryRedis(client, *secrets)
        self.vault = CredentialVault(*(lambda key=key: key.secret for key in self.redis.ring.keys))
        self.keys = SharedKeys(cast("Any", self.redis), lambda: self.vault)
        self.keys.follow()
        self.gate = KeyAuthentication(self.keys, self.vault.open)

    def caller(self, secret: str) -> Caller:
        return self.gate.authenticate_cached([(b"x-api-key", secret.encode())])

    async def create(self, name: str = "ann", scopes: Sequence[str] = ("read",)) -> str:
        return (await self.keys.create(name, scopes, None))[0]

    def names(self) -> list[str]:
        return [key.name for key in self.keys.all()]


async def two() -> tuple[MemoryClient, Process, Process]:
    client = MemoryClient()
    one, other = Process(client), Process(client)
    for process in (one, other):
        await process.keys.refresh()
    return client, one, other


async def test_a_key_of_one_process_opens_the_other_with_its_next_look() -> None:
    _, one, other = await two()

    secret = await one.create("ann", ["write", "read"])
    with pytest.raises(AuthenticationError, match="not valid"):
        other.caller(secret)
    await other.keys.refresh()

    assert other.caller(secret) == one.caller(secret)
    assert (other.caller(secret).name, sorted(other.caller(secret).scopes)) == ("ann", ["read", "write"])
    assert secret not in repr(one.keys._hash.fields) and b"ann" not in b"".join(one.keys._hash.fields.values())


async def test_a_revoked_key_stops_where_it_was_just_used() -> None:
    _, one, other = await two()
    secret = await one.create()
    await other.keys.refresh()
    assert other.caller(secret).name == "ann"

    await one.keys.revoke("ann")
    await other.keys.refresh()

    for process in (one, other):
        with pytest.raises(AuthenticationError, match="revoked"):
            process.caller(secret)


async def test_an_expired_key_stops_without_a_look() -> None:
    _, one, _ = await two()

    secret, _ = await one.keys.create("ann", ["read"], timedelta(seconds=-1))

    with pytest.raises(AuthenticationError, match="expired"):
        one.caller(secret)


async def test_while_redis_is_away_known_keys_work_and_none_is_changed() -> None:
    _, one, _ = await two()
    secret = await one.create()

    one.redis.away = True
    with pytest.raises(Unavailable):
        await one.keys.refresh()

    assert one.caller(secret).name == "ann" and [key.name for key in await one.keys.all_keys()] == ["ann"]
    for change in (one.create("bob"), one.keys.revoke("ann"), one.keys.set_credential("ann", "redmine", None)):
        with pytest.raises(BusyError, match="no key was changed"):
            await change


async def test_a_process_that_has_never_read_the_keys_lets_nobody_in() -> None:
    client, one, _ = await two()
    secret = await one.create()
    late = Process(client)

    with pytest.raises(AuthenticationError, match="cannot be checked now"), structlog.testing.capture_logs():
        late.caller(secret)
    [finding] = await late.gate.check()
    await late.keys.refresh()

    assert not finding.ok and "have not been read" in finding.message
    assert late.caller(secret).name == "ann"


async def test_an_emptied_redis_gets_the_keys_back_and_keeps_a_new_one() -> None:
    client, one, other = await two()
    secret = await one.create("ann")
    await one.keys.revoke((await one.keys.meant("ann")).id)
    await one.create("bob")
    await other.keys.refresh()

    client.hashes.clear()
    fresh = Process(client)
    await fresh.keys.refresh()
    nobody = fresh.names()
    await fresh.create("cyd")
    for process in (other, one, fresh):
        await process.keys.refresh()

    assert nobody == []
    assert [sorted(process.names()) for process in (one, other, fresh)] == [["ann", "bob", "cyd"]] * 3
    with pytest.raises(AuthenticationError, match="revoked"):
        fresh.caller(secret)


async def test_two_processes_cannot_give_one_name_to_two_keys() -> None:
    _, one, other = await two()
    await one.create("ann")

    with pytest.raises(KeysError, match="active key called 'ann' already"):
        await other.create("ann")

    assert other.names() == ["ann"]


async def test_who_writes_into_redis_cannot_make_a_key_or_move_one() -> None:
    client, one, other = await two()
    secret = await one.create("ann", ["read"])
    await one.create("root", ["admin"])
    foreign = Process(MemoryClient(), NEW)
    planted, _ = await foreign.keys.create("planted", ["admin"], None)
    [(field, record)] = foreign.keys._hash.fields.items()
    ann, root = (next(key.id.encode() for key in one.keys.all() if key.name == name) for name in ("ann", "root"))

    # A key of another server, and the rights of root for ann.
    client.hashes[HASH] |= {field: record, ann: client.hashes[HASH][root], b"#": b"9"}
    structlog.reset_defaults()
    with structlog.testing.capture_logs() as logs:
        await other.keys.refresh()

    for stolen in (planted, secret):
        with pytest.raises(AuthenticationError, match="not valid"):
            other.caller(stolen)
    assert [line["event"] for line in logs] == ["API keys in the shared Redis cannot be opened"]
    [finding] = await other.gate.check()
    assert not finding.ok and "Sealed with a key that this process does not have: 2." in finding.message


async def test_a_record_from_before_a_key_was_revoked_does_not_bring_it_back() -> None:
    client, one, other = await two()
    secret = await one.create()
    before = dict(client.hashes[HASH])
    await one.keys.revoke("ann")
    await other.keys.refresh()

    client.hashes[HASH] = {**before, b"#": b"9"}
    structlog.reset_defaults()
    with structlog.testing.capture_logs() as logs:
        await other.keys.refresh()

    assert [line["event"] for line in logs] == [
        "A revoked API key came back in the shared Redis, and stays revoked here"
    ]
    with pytest.raises(AuthenticationError, match="revoked"):
        other.caller(secret)


async def test_a_process_with_another_key_makes_none_but_may_still_revoke_what_it_knows() -> None:
    client, one, _ = await two()
    await one.create("ann")
    odd = Process(client, NEW)
    with structlog.testing.capture_logs():
        await odd.keys.refresh()

    with pytest.raises(KeysError, match="sealed with a key that this process does not have: no key was changed"):
        await odd.create("bob")
    with pytest.raises(KeysError, match="no such key"):
        await odd.keys.revoke("ann")


async def test_records_and_credentials_are_sealed_again_once_nobody_seals_with_the_old_key() -> None:
    client = MemoryClient()
    before, after = Process(client, KEY, NEW), Process(client, NEW, KEY)
    await before.keys.refresh()
    secret = await before.create()
    await before.keys.set_credential("ann", "redmine", lambda key: _sealed(before, key.id))
    stored = dict(client.hashes[HASH])

    # Both are in use while processes change from one to the other.
    after.redis.sealing_ids = frozenset(after.redis.ring.ids)
    await after.keys.refresh()
    untouched = client.hashes[HASH] == stored
    [meanwhile] = await after.gate.check()
    after.redis.sealing_ids = frozenset({after.redis.ring.sealing.id})
    with structlog.testing.capture_logs():
        await after.keys.refresh()
    [later] = await after.gate.check()
    last = Process(client, NEW)
    await last.keys.refresh()

    assert untouched and not meanwhile.ok and "Still sealed with an old key: 1." in meanwhile.message
    assert later.ok and later.message == "1 active"
    assert dict(last.caller(secret).credentials) == {"redmine": Credential(key="of ann")}
    # The first process still understands what the others write.
    await before.keys.refresh()
    assert before.caller(secret).name == "ann"


def _sealed(process: Process, key_id: str) -> str:
    return process.vault.seal(key_id, "redmine", Credential(key="of ann"))


async def test_keys_of_a_data_folder_are_added_once_and_a_revocation_counts_wherever_it_was_made() -> None:
    _, one, other = await two()
    folder = Process(MemoryClient())
    await folder.create("ann")
    await folder.create("bob")

    first = await one.keys.add_all(folder.keys.all())
    again = await other.keys.add_all(folder.keys.all())
    await folder.keys.revoke("ann")
    await other.keys.revoke("bob")
    third = await one.keys.add_all(folder.keys.all())

    assert ([key.name for key in first], again, [key.name for key in third]) == (["ann", "bob"], [], ["ann"])
    assert all(key.revoked for key in one.keys.all())
