"""What `doctor` and `/readyz` hear of the gate; looking changes nothing."""

from pathlib import Path

import pytest

from .sheds import key_in, shed_in


async def test_looking_does_not_begin_the_audit_log(tmp_path: Path) -> None:
    folder = tmp_path / "not there yet"
    (finding,) = await shed_in(folder).gate.check()

    assert finding.ok and finding.message.endswith("audit.jsonl begins with the first call")
    assert not folder.exists()


async def test_keys_that_cannot_be_read_are_a_finding(tmp_path: Path) -> None:
    key_in(tmp_path, "ann", "read")
    (tmp_path / "keys.json").write_text("{")
    keys, _ = await shed_in(tmp_path, auth="keys").gate.check()

    assert not keys.ok and keys.severity == "error"
    assert keys.message == f"{tmp_path / 'keys.json'} is damaged: it is not a list of keys."
    assert "backup" in (keys.advice or "")


@pytest.mark.parametrize("scope", ["read", "admin"])
async def test_a_key_that_opens_is_counted(tmp_path: Path, scope: str) -> None:
    key_in(tmp_path, "ann", scope)
    keys, _ = await shed_in(tmp_path, auth="keys").gate.check()

    assert keys.ok and keys.message == "1 active"
