"""What a start imports: `rich` is not imported where it is installed, and stays usable for everybody."""

import json
import subprocess
import sys
from typing import Any


def _in_a_new_process(code: str) -> Any:
    """What the code prints last, as JSON."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout.splitlines()[-1])


def test_a_start_does_not_import_rich_and_others_still_can() -> None:
    code = """
import json, sys
import dogubako.app, dogubako.cli.main
before = [name for name in sys.modules if name.split(".")[0] == "rich"]
from rich.table import Table
print(json.dumps([before, Table.__name__]))
"""
    assert _in_a_new_process(code) == [[], "Table"]


def test_a_process_that_has_rich_already_keeps_it_in_structlog() -> None:
    code = """
import json, rich
import dogubako, structlog
print(json.dumps(structlog.dev.rich is rich))
"""
    assert _in_a_new_process(code) is True
