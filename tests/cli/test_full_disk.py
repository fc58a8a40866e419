"""What a command prints may meet a full disk; that is one sentence, and what the command did is done."""

import subprocess
import sys
from pathlib import Path

import pytest

from dogubako.gate.api_keys import KeyStore
from tests.doors.processes import PATIENCE, environment

COMMANDS = [
    pytest.param(["keys", "list"], id="keys list"),
    pytest.param(["keys", "revoke", "agent"], id="keys revoke"),
    pytest.param(["tools", "list"], id="tools list"),
    pytest.param(["config"], id="config"),
]


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS)
def test_a_full_disk_is_one_sentence(tmp_path: Path, words: list[str]) -> None:
    KeyStore(tmp_path).create("agent", ["read"])
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "dogubako", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=environment(tmp_path, {"DOGUBAKO_DATA_DIR": str(tmp_path)}),
            timeout=PATIENCE,
            check=False,
            text=True,
        )

    assert (ended.returncode, ended.stderr) == (
        1,
        "dogubako: The output could not be written: no space is left. What the command changed is changed.\n",
    )
    assert (KeyStore(tmp_path).all()[0].revoked is not None) is ("revoke" in words)
