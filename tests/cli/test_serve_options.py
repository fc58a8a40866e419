"""`dogubako serve`: options that a running server obeys."""

from pathlib import Path

import httpx2
import pytest

from tests.doors.processes import PATIENCE, WORKBENCH, serving


@pytest.mark.slow
def test_names_on_the_command_line_are_allowed_and_win_over_the_environment(tmp_path: Path) -> None:
    words = ["--allowed-hosts", "box.example, tools.example"]
    settings = {"DOGUBAKO_ALLOWED_HOSTS": "old.example"}
    with serving(WORKBENCH, folder=tmp_path, words=words, settings=settings) as server:
        statuses = {
            host: httpx2.get(server.url(), headers={"host": host}, timeout=PATIENCE).status_code
            for host in ("127.0.0.1", "box.example", "tools.example", "old.example", "evil.example")
        }

    assert statuses == {
        "127.0.0.1": 200,
        "box.example": 200,
        "tools.example": 200,
        "old.example": 403,
        "evil.example": 403,
    }
