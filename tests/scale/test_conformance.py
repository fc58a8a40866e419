"""The official conformance suite, against three servers behind nginx in round robin."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.doors.processes import ROOT
from tests.redis_server import INSTALLED

from .replicas import NGINX, replicas

pytestmark = [
    pytest.mark.scale,
    pytest.mark.skipif(not (INSTALLED and NGINX), reason="needs redis-server and nginx"),
]

_SECONDS: Final = 900
_SUITE: Final = ROOT / "tests" / "conformance" / "pack.py"
# The suite brings no key, and looks for its tools in the list.
_SETTINGS: Final = {
    "DOGUBAKO_AUTH": "off",
    "DOGUBAKO_DISCOVERY": "full",
    "RATE_LIMIT_TOOL_MAX": "100000",
    "DOGUBAKO_CALLER_CONCURRENCY": "64",
}


def test_both_revisions_of_the_suite_pass_through_nginx(tmp_path: Path) -> None:
    with replicas(tmp_path, _SUITE, settings=_SETTINGS) as box:
        command = [sys.executable, str(ROOT / "scripts" / "conformance.py"), "--url", f"{box.url}/mcp"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)

    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "conformance 2025-11-25: 30/30 passed" in said and "conformance 2026-07-28: 37/37 passed" in said
