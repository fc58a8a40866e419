"""API keys: made, shown once, kept as hashes, ended; and what a running server notices of it."""

import json
import stat
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from dogubako.contract.errors import AuthenticationError
from dogubako.gate.api_keys import KeysError, KeyStore
from dogubako.gate.authentication import KeyAuthentication


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """The store's clock, which stands still until it is moved on."""
    now = time.monotonic()

    def move_on(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr("dogubako.gate.api_keys.time", SimpleNamespace(monotonic=lambda: now))
    return move_on


def test_a_key_opens_and_its_file_holds_nothing_of_it(tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    secret, key = store.create("agent", ["read", "read", "redmine:write"])
    kept = (tmp_path / "keys.json").read_text()

    found = store.find(secret)

    assert found == key and key.scopes == ("read", "redmine:write")
    assert secret not in kept and secret.split("_", 2)[2] not in kept
    assert key.id in kept and key.hash in kept


def test_only_the_owner_can_read_the_file_and_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    KeyStore(folder).create("agent", ["read"])

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "keys.json")}

    assert modes == {"data": 0o700, "keys.json": 0o600}
    assert not list(folder.glob("*.part"))


@pytest.mark.parametrize("name", ["anonymous", "Anonymous", "ANONYMOUS", " anonymous "])
def test_no_key_is_called_like_those_who_need_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(KeysError) as raised:
        KeyStore(tmp_path).create(name, ["read"])

    assert raised.value.message == f"No key can be called '{name}': the audit log calls those so who need no key."
    assert KeyStore(tmp_path).all() == []


def test_no_two_keys_are_alike(tmp_path: Path) -> None:
    store = KeyStore(tmp_path)

    secrets = {store.create(f"agent {number}", ["read"])[0] for number in range(50)}

    assert len({secret.split("_", 2)[2] for secret in secrets}) == len({secret[:12] for secret in secrets}) == 50


def test_a_key_ends_when_it_was_to_end(tmp_path: Path) -> None:
    _, key = KeyStore(tmp_path).create("agent", ["read"], timedelta(hours=1))
    assert key.expires is not None

    states = [key.state(key.expires + timedelta(microseconds=step)) for step in (-1, 0, 1)]

    assert states == ["active", "expired", "expired"]


def test_a_key_for_no_time_at_all_is_not_a_key_for_ever(tmp_path: Path) -> None:
    _, key = KeyStore(tmp_path).create("agent", ["read"], timedelta(0))

    assert key.state(datetime.now(UTC)) == "expired"


def test_a_running_server_notices_a_new_key_and_a_revoked_one_within_a_second(
    tmp_path: Path, clock: Callable[[float], None]
) -> None:
    running, command = KeyAuthentication(KeyStore(tmp_path)), KeyStore(tmp_path)
    secret, key = command.create("agent", ["read"])
    assert _opens(running, secret) == "agent"
    command.revoke(key.id)
    late, _ = command.create("another", ["read"])

    before = _opens(running, secret), _opens(running, late)
    clock(1.0)
    after = _opens(running, secret), _opens(running, late)

    assert before == ("agent", "The API key is not valid.")
    assert after == ("The API key is revoked.", "another")


def test_scopes_that_were_changed_in_the_file_count_within_a_second(
    tmp_path: Path, clock: Callable[[float], None]
) -> None:
    store = KeyStore(tmp_path)
    running, (secret, _) = KeyAuthentication(store), store.create("agent", ["admin"])
    assert running.authenticate_cached([(b"x-api-key", secret.encode())]).scopes == {"admin"}
    file = tmp_path / "keys.json"
    file.write_text(file.read_text().replace('"admin"', '"read"'))

    clock(1.0)

    assert running.authenticate_cached([(b"x-api-key", secret.encode())]).scopes == {"read"}


def test_a_file_that_is_gone_lets_nobody_in(tmp_path: Path, clock: Callable[[float], None]) -> None:
    store = KeyStore(tmp_path)
    running, (secret, _) = KeyAuthentication(store), store.create("agent", ["read"])
    assert _opens(running, secret) == "agent"
    (tmp_path / "keys.json").unlink()

    clock(1.0)

    assert _opens(running, secret) == "The API key is not valid."


def test_the_key_that_still_opens_is_the_one_that_a_name_ends(tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    store.create("agent", ["read"], timedelta(0))
    secret, key = store.create("agent", ["read"])

    ended = store.revoke("agent")

    assert ended.id == key.id
    assert _opens(KeyAuthentication(store), secret) == "The API key is revoked."


def test_an_id_ends_its_own_key_also_where_another_is_called_like_it(tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    _, key = store.create("agent", ["read"])
    store.create(key.id, ["read"])

    assert store.revoke(key.id).name == "agent"


def test_a_name_is_given_twice_only_when_the_first_has_ended(tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    store.create("agent", ["read"])
    with pytest.raises(KeysError, match="active key called 'agent' already"):
        store.create("agent", ["read"])

    store.revoke("agent")
    store.create("agent", ["read"])

    assert [key.state(datetime.now(UTC)) for key in store.all()] == ["revoked", "active"]


def test_what_is_revoked_cannot_be_revoked_again(tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    store.create("agent", ["read"])
    store.revoke("agent")

    with pytest.raises(KeysError, match="no such key that is not revoked"):
        store.revoke("agent")


DAMAGES = [
    pytest.param(b"", id="empty"),
    pytest.param(b"[{", id="half"),
    pytest.param(b"{}", id="no list"),
    pytest.param(b'[{"id": "a"}]', id="half a key"),
    pytest.param(b"\xff\xfe", id="no text"),
    pytest.param(
        b'[{"id": "a", "name": "a", "hash": "a", "scopes": [], "created": "2026-01-01T00:00:00"}]', id="no time zone"
    ),
]


@pytest.mark.parametrize("content", DAMAGES)
def test_a_damaged_file_is_one_sentence_and_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "keys.json").touch(0o600)
    (tmp_path / "keys.json").write_bytes(content)
    store = KeyStore(tmp_path)
    sentence = f"{tmp_path / 'keys.json'} is damaged: it is not a list of keys."

    for ask in (store.all, lambda: store.create("agent", ["read"]), lambda: store.revoke("agent")):
        with pytest.raises(KeysError) as raised:
            ask()
        assert raised.value.message == sentence and raised.value.hint

    assert (tmp_path / "keys.json").read_bytes() == content


@pytest.mark.parametrize("content", DAMAGES)
def test_a_server_whose_keys_are_damaged_lets_nobody_in_until_they_are_repaired(
    tmp_path: Path, clock: Callable[[float], None], content: bytes
) -> None:
    store = KeyStore(tmp_path)
    running, (secret, _) = KeyAuthentication(store), store.create("agent", ["read"])
    assert _opens(running, secret) == "agent"
    file = tmp_path / "keys.json"
    good = file.read_bytes()

    file.write_bytes(content)
    clock(1.0)
    damaged = [_opens(running, secret) for _ in range(3)]
    file.write_bytes(good)
    clock(1.0)

    # Where the file is, a stranger need not know.
    assert damaged == ["API keys cannot be checked now."] * 3
    assert _opens(running, secret) == "agent"


def test_secrets_are_compared_in_constant_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[str, str]] = []

    def compare(one: str, other: str) -> bool:
        compared.append((one, other))
        return False

    store = KeyStore(tmp_path)
    secret, key = store.create("agent", ["read"])
    monkeypatch.setattr("dogubako.gate.api_keys.hmac", SimpleNamespace(compare_digest=compare))

    # Nothing but this comparison lets anybody in.
    for candidate in (secret, secret[:-1] + "!", "dgb_00000000_x", "nothing like a key", ""):
        assert store.find(candidate) is None

    # Each time, also where no key has this id; and never the secrets themselves.
    assert len(compared) == 5 and compared[0] == (key.hash, key.hash)


def test_the_file_can_be_read_by_people(tmp_path: Path) -> None:
    KeyStore(tmp_path).create("agent", ["read"], timedelta(days=1))

    (kept,) = json.loads((tmp_path / "keys.json").read_text())

    assert set(kept) == {"id", "name", "hash", "scopes", "created", "expires", "revoked", "credentials"}
    assert len(kept["hash"]) == 64


def _opens(gate: KeyAuthentication, secret: str) -> str:
    """Who gets in with this, or why nobody does."""
    try:
        return gate.authenticate_cached([(b"x-api-key", secret.encode())]).name
    except AuthenticationError as error:
        return error.message
