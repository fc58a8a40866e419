"""What a caller may do, written as scopes: `read`, `redmine:write`, `tool:list_*`, `admin`."""

import re
from collections.abc import Collection
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from dogubako.contract.metadata import Effect, ToolMetadata

ADMIN: Final = "admin"

# Each level holds those before it: who may write may read.
LEVELS: Final = ("read", "write", "destroy", ADMIN)
_HEIGHT: Final = {level: height for height, level in enumerate(LEVELS, start=1)}
_NEEDED: Final = {Effect.DELEGATE: "read", Effect.READ: "read", Effect.WRITE: "write", Effect.DESTROY: "destroy"}

_TOOL: Final = "tool:"
_SCOPE = re.compile(r"(?:[A-Za-z][A-Za-z0-9_-]{0,63}:)?(?:read|write|destroy)|admin|tool:[a-z0-9_*?-]{1,64}")

# Tools about tools belong to everybody who may come in.
_FOR_EVERYBODY: Final = "core"


def is_scope(text: str) -> bool:
    """Whether this can be a scope of ours."""
    return _SCOPE.fullmatch(text) is not None


def known_scopes(texts: Collection[str]) -> frozenset[str]:
    """Those that mean something here; a token of others may hold many more."""
    return frozenset(text for text in texts if is_scope(text))


def allows(scopes: frozenset[str], metadata: ToolMetadata, pack: str) -> bool:
    """Whether one of the scopes is enough for this tool."""
    return _allows(scopes, metadata.name, _NEEDED[metadata.effect], pack)


def needed_for(metadata: ToolMetadata, pack: str) -> str:
    """The level of this pack that would do. (A scope that names the tool would, too.)"""
    return _of_pack(pack, _NEEDED[metadata.effect]) or f"{_TOOL}{metadata.name}"


def needed_to_read(pack: str) -> str:
    """The scope for a pack's resources and prompts."""
    return _of_pack(pack, "read") or "read"


def _of_pack(pack: str, level: str) -> str | None:
    """A pack that was a file may have a name that no scope can say."""
    scope = f"{pack}:{level}"
    return scope if is_scope(scope) and not scope.startswith(_TOOL) else None


def allows_reading(scopes: frozenset[str], pack: str) -> bool:
    """Whether the pack's resources and prompts may be read."""
    return _allows(scopes, "", "read", pack)


@lru_cache(maxsize=10_000)
def _allows(scopes: frozenset[str], tool: str, needed: str, pack: str) -> bool:
    if pack == _FOR_EVERYBODY and needed == "read":
        return bool(scopes)
    return any(_grants(scope, tool, needed, pack) for scope in scopes)


def _grants(scope: str, tool: str, needed: str, pack: str) -> bool:
    if scope.startswith(_TOOL):
        return bool(tool) and fnmatchcase(tool, scope.removeprefix(_TOOL))
    home, _, level = scope.rpartition(":")
    return home in ("", pack) and _HEIGHT.get(level, 0) >= _HEIGHT[needed]
