"""Sheds to test with: toolboxes in this process, and what their audit log says."""

import json
import time
from pathlib import Path
from typing import Any, Final

from dogubako import BaseTool, ToolPack
from dogubako.app import Toolbox, build
from dogubako.gate.keys import KeyStore
from dogubako.packs.core.pack import CORE
from dogubako.settings import Sources
from tests.doors.processes import PATIENCE

from .shed_pack import PACK

SHED: Final = Path(__file__).parent / "shed_pack.py"

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
    """All lines, once there are so many: those of calls that read are written a moment later. Each must be whole."""
    log, deadline = log_in(folder), time.monotonic() + PATIENCE
    while lines and (not log.exists() or log.read_bytes().count(b"\n") < lines):
        assert time.monotonic() < deadline, f"there are not {lines} lines in time"
        time.sleep(0.01)
    text = log.read_text(encoding="utf-8")
    assert text == "" or text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]
