"""`dogubako doctor`: whether callers can come in, and whether what they do can be recorded."""

from pathlib import Path

import pytest

from dogubako.gate.keys import KeyStore
from tests.doors.shell import Said, dogubako


def examined(folder: Path, *words: str, **settings: str) -> Said:
    own = {"DOGUBAKO_DATA_DIR": str(folder / "data"), **settings}
    return dogubako("doctor", *words, folder=folder, tools=(), settings=own)


def about_the_gate(said: Said) -> list[str]:
    return [line for line in said.out.splitlines() if line[8:].startswith(("API keys", "audit log", "OAuth"))]


def test_where_nobody_is_asked_who_he_is_nothing_is_said_of_keys(tmp_path: Path) -> None:
    assert about_the_gate(examined(tmp_path)) == []


@pytest.mark.parametrize(
    ("names", "finding"),
    [
        pytest.param((), "warning API keys: No key is active, so nobody can come in. `dogubako keys", id="no key"),
        pytest.param(("ann", "bob"), "ok      API keys: 2 active", id="two keys"),
    ],
)
def test_it_says_whether_anybody_has_a_key(tmp_path: Path, names: tuple[str, ...], finding: str) -> None:
    for name in names:
        KeyStore(tmp_path / "data").create(name, ["read"])
    said = examined(tmp_path, DOGUBAKO_AUTH="keys")

    keys, audit = about_the_gate(said)
    assert said.code == 0 and keys.startswith(finding)
    log = tmp_path / "data" / "audit.jsonl"
    assert audit == f"ok      audit log: {log} begins with the first call" and not log.exists()


def test_keys_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "keys.json").write_text("[{")
    said = examined(tmp_path, DOGUBAKO_AUTH="keys")

    assert said.code == 1
    assert about_the_gate(said)[0].startswith(f"error   API keys: {tmp_path / 'data' / 'keys.json'} is damaged")


def test_a_log_that_cannot_be_written_is_said_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "data" / "audit.jsonl").mkdir(parents=True)
    found = examined(tmp_path, "--json", DOGUBAKO_AUDIT="true").json

    (audit,) = (one for one in found if one["subject"] == "audit log")
    assert (audit["ok"], audit["severity"]) == (False, "warning")
    assert "cannot be written" in audit["message"] and "DOGUBAKO_DATA_DIR" in audit["advice"]
