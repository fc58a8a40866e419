"""Scopes that open nothing here. They may be meant for packs that are loaded elsewhere, so they are only doubted."""

from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from dogubako.app import build
from dogubako.engine.admission import RegistrationError
from dogubako.settings import SettingsError, Sources

# All packs, also those that are not served; and nothing that takes long, since only names are asked for.
_NAMES_ONLY: Final = {"packs": "", "semantic_model": "off", "auth": "off", "audit": False, "cache": "off"}
_OWN_TOOLS: Final = "If a file of yours has it, name the file with --tools."


def doubts(scopes: Sequence[str], config: Path | None, tools: Sequence[Path] = ()) -> list[str]:
    """A sentence for each scope of a pack or a tool that this installation does not know."""
    named = [scope for scope in scopes if ":" in scope]
    if not named:
        return []
    overrides = _NAMES_ONLY | ({"tools": tuple(tools)} if tools else {})
    try:
        box = build(Sources(overrides=overrides, config_file=config))
    except (SettingsError, RegistrationError, ImportError, AttributeError) as error:
        # A pack that cannot be loaded is no reason to make no key; `doctor` tells what is wrong with it.
        # Only who named a file here waits for an answer about it.
        return [f"Nobody can tell whether {', '.join(named)} opens anything here: {error}"] if tools else []
    return list(_doubts(named, box.packs.keys(), [entry.name for entry in box.registry.list()]))


def _doubts(scopes: Sequence[str], packs: Collection[str], tools: Collection[str]) -> Iterator[str]:
    for scope in scopes:
        home, _, rest = scope.partition(":")
        if home == "tool":
            if not any(fnmatchcase(name, rest) for name in tools):
                near = [f"tool:{name}" for name in get_close_matches(rest, tools, n=1)]
                yield _sentence(scope, f"no tool fits '{rest}'", near, "`dogubako tools list` has the names.")
        elif home not in packs:
            near = [f"{name}:{rest}" for name in get_close_matches(home, packs, n=1)]
            yield _sentence(scope, f"no pack is called '{home}'", near, f"Known packs: {', '.join(sorted(packs))}.")


def _sentence(scope: str, reason: str, near: Sequence[str], otherwise: str) -> str:
    return f"{scope} opens nothing here: {reason}. {f'Did you mean {near[0]}?' if near else otherwise} {_OWN_TOOLS}"
