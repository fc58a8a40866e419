"""Keys and files that could be taken for each other are not."""

import json
import secrets
from pathlib import Path

import pytest

from dogubako.gate.api_keys import KeysError, KeyStore


def test_an_id_ends_its_own_key_wherever_in_the_file_its_namesake_stands(tmp_path: Path) -> None:
    store, file = KeyStore(tmp_path), tmp_path / "keys.json"
    _, key = store.create("agent", ["read"])
    store.create(key.id, ["admin"])
    file.write_text(json.dumps(list(reversed(json.loads(file.read_text())))))

    assert store.revoke(key.id).name == "agent"


def test_a_file_that_waits_where_the_keys_are_written_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "token_hex", lambda size: "0" * 2 * size)
    waiting = tmp_path / f"keys.json.{'0' * 16}.part"
    waiting.write_text("not ours")

    with pytest.raises(KeysError, match="File exists"):
        KeyStore(tmp_path).create("agent", ["read"])
    assert not (tmp_path / "keys.json").exists()


def test_an_id_that_is_given_twice_ends_no_other_key(tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    _, key = store.create("agent", ["read"])
    store.create(key.id, ["admin"])
    ended = store.revoke(key.id)

    with pytest.raises(KeysError) as raised:
        store.revoke(key.id)

    assert raised.value.message == f"'agent' ({key.id}) is revoked already, since {ended.revoked:%Y-%m-%d %H:%M} UTC."
    assert {one.name: one.revoked for one in store.all()} == {"agent": ended.revoked, key.id: None}


def test_a_key_that_is_called_like_the_id_of_another_ends_by_its_own_id(tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    _, key = store.create("agent", ["read"])
    _, namesake = store.create(key.id, ["admin"])

    assert store.revoke(namesake.id).name == key.id
    assert [one.name for one in store.all() if one.revoked is None] == ["agent"]
