"""Sheds to test with: toolboxes in this process, and what their audit log says."""

import json
import time
from pathlib import Path
from typing import Any, Final

from dogubako.app import Toolbox, build
from dogubako.gate.api_keys import KeyStore
from dogubako.packs.core.pack import CORE
from dogubako.settings import Sources
from dogubako.tools import BaseTool, ToolPack
from tests.doors.processes import PATIENCE

from .shed_pack import PACK

SHED: Final = Path(__file__).parent / "shed_pack.py"
SLOW_CHANGES: Final = Path(__file__).parent / "slow_changes.py"

ALWAYS: Final = {"time", "caller", "door", "tool", "arguments", "hash", "code", "ms", "callId"}


def shed_in(folder: Path, *more: BaseTool[Any, Any], **settings: Any) -> Toolbox:
    """A toolbox with its data in this folder; calls are recorded unless a test says otherwise."""
    chosen = {"data_dir": folder, "audit": True, **settings}
    return build(
        Sources(overrides=chosen, environ={}, env_file=None),
        packs=[CORE, PACK, *([ToolPack("bench", more)] if more else [])],
    )


def key_in(folder: Path, name: str, *scopes: str) -> str:
    secret, _ = KeyStore(folder).create(name, scopes)
    return secret


def log_in(folder: Path) -> Path:
    return folder / "audit.jsonl"


def recorded_in(folder: Path, *, lines: int = 0) -> list[dict[str, Any]]:
    """How every call ended, once so many did: lines of calls that read are written a moment later."""
    deadline = time.monotonic() + PATIENCE
    while len(ended := _ends(all_lines_in(folder, wait=bool(lines)))) < lines:
        assert time.monotonic() < deadline, f"there are not {lines} lines in time"
        time.sleep(0.01)
    return ended


def _ends(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line for line in lines if line.get("code") != "STARTED"]


def all_lines_in(folder: Path, *, wait: bool = False) -> list[dict[str, Any]]:
    """All lines, also of calls that started. Each must be whole, unless somebody waits for the rest."""
    text = log_in(folder).read_text(encoding="utf-8") if log_in(folder).exists() or not wait else ""
    assert wait or text == "" or text.endswith("\n")
    return [json.loads(line) for line in text.rpartition("\n")[0].splitlines()]
