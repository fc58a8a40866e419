"""The stored definitions of the built-in packs say what their tools say, whatever the settings are."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dogubako.app import Toolbox, build
from dogubako.contract.call import TRUSTED, Caller
from dogubako.contract.stored_tool import StoredTool
from dogubako.packs import PACKS
from dogubako.settings import Sources
from dogubako.transports.mcp import lists
from scripts.stored_definitions import STORED, stored_definitions, tool_classes

ROOT = Path(__file__).parents[2]
N8N = {"N8N_URL": "http://n8n.test", "N8N_API_KEY": "key"}
REDMINE = {"REDMINE_URL": "http://redmine.test", "REDMINE_API_KEY": "key", "REDMINE_RULES": "Write in Japanese."}
TWO = """
[redmine.hq]
url = "http://hq.test"
api_key = "one"

[redmine.client]
url = "http://client.test"
api_key = "two"

[n8n]
url = "http://n8n.test"
api_key = "three"

[n8n.staging]
url = "http://staging.test"
api_key = "four"
"""
OWN_KEYS = {
    **REDMINE,
    **N8N,
    "REDMINE_CREDENTIALS": "own-or-shared",
    "REDMINE_CREDENTIAL_HEADER": "X-Redmine-API-Key",
    "N8N_CREDENTIALS": "own",
    "N8N_CREDENTIAL_HEADER": "X-N8N-API-KEY",
}


@pytest.mark.parametrize("path", stored_definitions())
def test_a_file_says_what_the_tools_say(path: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == stored_definitions()[path], "make docs writes it"


def test_every_tool_of_these_packs_comes_from_the_file() -> None:
    stored = [pack for pack in PACKS if pack.name in STORED]

    assert all(isinstance(tool, StoredTool) for pack in stored for tool in pack.tools)
    assert [[tool.name for tool in pack.tools] for pack in stored] == [
        [tool.name for tool in tool_classes(pack.name)] for pack in stored
    ]


@pytest.mark.parametrize("discovery", ["auto", "full", "light", "search"])
@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize(
    ("environ", "file", "overrides"),
    [
        pytest.param({}, "", {}, id="nothing is configured"),
        pytest.param({**N8N, **REDMINE}, "", {}, id="everything is configured"),
        pytest.param({**N8N, **REDMINE}, "", {"read_only": True}, id="read only"),
        pytest.param({}, "", {"sandbox": True}, id="sandbox"),
        pytest.param({}, TWO, {}, id="several instances"),
        pytest.param(OWN_KEYS, "", {}, id="keys of callers"),
        pytest.param({**REDMINE, "WEB_PROVIDERS": "brave"}, "", {"packs": "redmine,web"}, id="some packs"),
    ],
)
def test_lists_are_the_same_byte_for_byte(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    environ: Mapping[str, str],
    file: str,
    overrides: Mapping[str, Any],
    language: str,
    discovery: str,
) -> None:
    config = tmp_path / "dogubako.toml"
    config.write_text(file)
    environ = {**environ, "DOGUBAKO_DISCOVERY": discovery, "DOGUBAKO_LANG": language}

    def box() -> Toolbox:
        return build(Sources(overrides=dict(overrides), environ=environ, env_file=None, config_file=config))

    stored = _shown(box())
    for pack in PACKS:
        if pack.name in STORED:
            monkeypatch.setattr(type(pack), "tools", tool_classes(pack.name))

    assert stored == _shown(box())


def _shown(box: Toolbox) -> list[bytes]:
    """Everything that is known of tools before a call."""
    reader = Caller(name="reader", scopes=frozenset({"redmine:read"}))
    entries = [
        {
            "definition": entry.definition,
            "tokens": entry.definition_tokens,
            "status": [entry.status.enabled, entry.status.reason],
            "metadata": [repr(entry.metadata), entry.metadata.keywords, repr(entry.metadata.parameters)],
            "rules": [entry.implementation.talks, entry.implementation.caches, entry.implementation.keeps_answers],
            "limits": [entry.implementation.timeout, entry.implementation.retry, entry.implementation.instances],
            "kind": [entry.implementation.foreign, entry.implementation.wraps_output, entry.passes_on],
            "asks": entry.implementation.checked_schema(),
            "mirrored": entry.mirrored_in_headers,
        }
        for entry in box.registry.list()
    ]
    lists_of = [show(box, caller) for caller in (TRUSTED, reader) for show in (lists.tools, lists.instructions)]
    return [msgspec.json.encode(one) for one in [*entries, *lists_of]]
