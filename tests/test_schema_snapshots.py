"""Each tool has a snapshot of its definition. An agent reads it like an API, so a change must be seen in review."""

import json
import os
from pathlib import Path

import pytest

from dogubako.app import build
from dogubako.settings import Sources

ROOT = Path(__file__).parent.parent
SNAPSHOTS = Path(__file__).parent / "snapshots"
REWRITE = "UPDATE_SNAPSHOTS=1 make test"


def _definitions() -> dict[str, str]:
    sources = Sources(overrides={"tools": (ROOT / "examples" / "workbench.py",)}, environ={}, env_file=None)
    entries = build(sources).registry.list()
    return {one.name: json.dumps(one.definition, indent=2, ensure_ascii=False) + "\n" for one in entries}


DEFINITIONS = _definitions()

if os.environ.get("UPDATE_SNAPSHOTS"):
    SNAPSHOTS.mkdir(exist_ok=True)
    for old in SNAPSHOTS.glob("*.json"):
        old.unlink()
    for name, text in DEFINITIONS.items():
        (SNAPSHOTS / f"{name}.json").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_definition_is_as_it_was_reviewed(name: str) -> None:
    snapshot = SNAPSHOTS / f"{name}.json"

    assert snapshot.exists(), f"{name} has no snapshot; {REWRITE} writes it"
    assert snapshot.read_text(encoding="utf-8") == DEFINITIONS[name], f"{name} changed; if it should, {REWRITE}"


def test_no_snapshot_is_left_of_a_tool_that_is_gone() -> None:
    assert {path.stem for path in SNAPSHOTS.glob("*.json")} == set(DEFINITIONS)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_every_argument_is_described(name: str) -> None:
    properties = json.loads(DEFINITIONS[name])["inputSchema"]["properties"]

    assert not [key for key, schema in properties.items() if not schema.get("description")]


@pytest.mark.parametrize("name", DEFINITIONS)
def test_no_definition_needs_a_reference_to_be_followed(name: str) -> None:
    assert "$ref" not in DEFINITIONS[name]
    assert len(name) <= 30
