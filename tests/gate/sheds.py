"""Sheds to test with: toolboxes in this process, and what their audit log says."""

import json
from pathlib import Path
from typing import Any, Final

from dogubako.app import Toolbox, build
from dogubako.gate.keys import KeyStore
from dogubako.packs.core.pack import CORE
from dogubako.settings import Sources

from .shed_pack import PACK

SHED: Final = Path(__file__).parent / "shed_pack.py"

ALWAYS: Final = {"time", "caller", "door", "tool", "arguments", "hash", "code", "ms", "callId"}


def shed_in(folder: Path, **settings: Any) -> Toolbox:
    """A toolbox with its data in this folder; calls are recorded unless a test says otherwise."""
    chosen = {"data_dir": folder, "audit": True, **settings}
    return build(Sources(overrides=chosen, environ={}, env_file=None), packs=[CORE, PACK])


def key_in(folder: Path, name: str, *scopes: str) -> str:
    secret, _ = KeyStore(folder).create(name, scopes)
    return secret


def log_in(folder: Path) -> Path:
    return folder / "audit.jsonl"


def recorded_in(folder: Path) -> list[dict[str, Any]]:
    """All lines. Each must be whole."""
    text = log_in(folder).read_text(encoding="utf-8")
    assert text == "" or text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]
