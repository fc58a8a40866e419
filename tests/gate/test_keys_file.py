"""The file that keys are kept in: written whole or not at all, and believed only where nobody else can write it."""

import os
import shlex
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from dogubako.gate.api_keys import KeysError, KeyStore


def _asks(store: KeyStore) -> list[Callable[[], object]]:
    return [store.all, lambda: store.create("another", ["read"]), lambda: store.revoke("agent")]


def _refusal(act: Callable[[], object]) -> KeysError | None:
    try:
        act()
    except KeysError as error:
        return error
    return None


def _chmod(file: Path, mode: int) -> None:
    """Seen by its time of change, which many systems write down only every few milliseconds."""
    before = file.stat().st_ctime_ns
    while file.stat().st_ctime_ns == before:
        file.chmod(mode)


def test_a_link_that_waits_where_the_file_is_written_is_not_followed(tmp_path: Path) -> None:
    store, bystander = KeyStore(tmp_path), tmp_path / "bystander"
    store.create("first", ["read"])
    bystander.write_text("not ours")
    (tmp_path / "keys.part").symlink_to(bystander)

    store.create("second", ["read"])

    assert bystander.read_text() == "not ours"
    assert not (tmp_path / "keys.json").is_symlink() and len(store.all()) == 2


def test_a_link_in_the_place_of_the_lock_is_refused_and_its_file_stays(tmp_path: Path) -> None:
    bystander, lock = tmp_path / "bystander", tmp_path / "keys.json.lock"
    bystander.write_text("not ours")
    lock.symlink_to(bystander)

    with pytest.raises(KeysError) as raised:
        KeyStore(tmp_path).create("agent", ["read"])

    assert raised.value.message == f"{lock} is a symbolic link, which is not followed."
    assert bystander.read_text() == "not ours" and not (tmp_path / "keys.json").exists()


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_disk_that_fails_leaves_the_old_keys_and_nothing_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    store = KeyStore(tmp_path)
    store.create("agent", ["read"])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as failing:
        failing.setattr("dogubako.gate.api_keys.os.fsync" if step == "fsync" else "pathlib.Path.replace", fail)
        with pytest.raises(KeysError, match=r"keys\.json cannot be written: Input/output error"):
            store.create("another", ["read"])

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_file_is_on_the_disk_before_it_has_its_name_and_the_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    sync, replace = os.fsync, Path.replace

    def noted_sync(handle: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        sync(handle)

    def noted_replace(path: Path, target: Path) -> Path:
        done.append("name")
        return replace(path, target)

    monkeypatch.setattr("dogubako.gate.api_keys.os.fsync", noted_sync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    KeyStore(tmp_path).create("agent", ["read"])

    assert done == ["file", "name", "folder"]


@pytest.mark.parametrize(("number", "made"), [(22, True), (95, True), (5, False)], ids=["EINVAL", "ENOTSUP", "EIO"])
def test_a_folder_that_cannot_be_synced_is_no_trouble_unless_its_disk_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, made: bool
) -> None:
    sync = os.fsync

    def files_only(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(number, os.strerror(number))
        sync(handle)

    monkeypatch.setattr("dogubako.gate.api_keys.os.fsync", files_only)
    said = _refusal(lambda: KeyStore(tmp_path).create("agent", ["read"]))

    assert (said is None) is made


@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602, 0o664], ids=oct)
def test_a_file_that_others_can_write_is_refused_until_they_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    monkeypatch.setattr("dogubako.gate.api_keys._LOOK_AGAIN_SECONDS", 0.0)
    store, file = KeyStore(tmp_path / "da ta"), tmp_path / "da ta" / "keys.json"
    secret, key = store.create("agent", ["read"])
    assert store.find(secret) == key

    _chmod(file, mode)
    refusals = [_refusal(ask) for ask in (lambda: store.find(secret), *_asks(store))]
    _chmod(file, 0o600)

    assert store.find(secret) == key and store.all() == [key]
    for refusal in refusals:
        assert refusal is not None and refusal.hint is not None
        assert refusal.message == f"{file} can be written by others than its owner."
        assert f"chmod 600 {shlex.quote(str(file))} " in refusal.hint


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o440, 0o644, 0o444], ids=oct)
def test_a_file_that_others_can_only_read_will_do(tmp_path: Path, mode: int) -> None:
    secret, key = KeyStore(tmp_path).create("agent", ["read"])

    (tmp_path / "keys.json").chmod(mode)

    assert KeyStore(tmp_path).find(secret) == key


# Who we are and who root is, if the file belongs to 0.
OWNERS = [
    pytest.param(0, 7, True, id="ours"),
    pytest.param(7, 0, True, id="root's"),
    pytest.param(7, 8, False, id="somebody else's"),
]


@pytest.mark.parametrize(("us", "root", "taken"), OWNERS)
def test_a_file_is_taken_from_us_or_root_and_from_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, us: int, root: int, taken: bool
) -> None:
    store, owner = KeyStore(tmp_path), os.geteuid()
    store.create("agent", ["read"])
    monkeypatch.setattr("dogubako.gate.api_keys.os.geteuid", lambda: owner + us)
    monkeypatch.setattr("dogubako.gate.api_keys._ROOT", owner + root)

    refusals = [_refusal(ask) for ask in _asks(store)]

    for refusal in refusals:
        assert (refusal is None) is taken
        if refusal is not None:
            assert refusal.message == f"{tmp_path / 'keys.json'} belongs to another user (id {owner})."
            assert refusal.hint is not None and f"chown {owner + us} {tmp_path / 'keys.json'}" in refusal.hint


def test_a_file_of_roots_that_a_group_can_write_must_stay_readable_for_the_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, owner = KeyStore(tmp_path), os.geteuid()
    store.create("agent", ["read"])
    (tmp_path / "keys.json").chmod(0o660)
    monkeypatch.setattr("dogubako.gate.api_keys._ROOT", owner)
    monkeypatch.setattr("dogubako.gate.api_keys.os.geteuid", lambda: owner + 7)

    refusal = _refusal(store.all)

    assert refusal is not None and refusal.hint is not None and "chmod go-w " in refusal.hint


def test_a_link_in_the_place_of_the_file_is_neither_read_nor_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dogubako.gate.api_keys._LOOK_AGAIN_SECONDS", 0.0)
    store, elsewhere, file = KeyStore(tmp_path), tmp_path / "elsewhere.json", tmp_path / "keys.json"
    secret, key = store.create("agent", ["read"])
    assert store.find(secret) == key
    file.rename(elsewhere)
    file.symlink_to(elsewhere)

    refusals = [_refusal(ask) for ask in (lambda: store.find(secret), *_asks(store))]

    said = f"{file} is a symbolic link, which is not followed."
    assert [refusal and refusal.message for refusal in refusals] == [said] * 4
    assert file.is_symlink()


def test_a_data_folder_that_is_a_link_will_do(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "data").symlink_to(tmp_path / "real")

    secret, key = KeyStore(tmp_path / "data").create("agent", ["read"])

    assert KeyStore(tmp_path / "data").find(secret) == key
    assert (tmp_path / "real" / "keys.json").is_file()


def test_a_pipe_in_the_place_of_the_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "keys.json", 0o600)

    with pytest.raises(KeysError, match="is not a file"):
        KeyStore(tmp_path).all()
