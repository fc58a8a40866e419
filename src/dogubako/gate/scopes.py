"""Scopes: `read`, `redmine:write`, `tool:list_*`, `admin`."""

import re
from collections.abc import Collection
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from dogubako.contract.call import Caller
from dogubako.contract.errors import AuthorizationError
from dogubako.contract.metadata import Effect, ToolMetadata
from dogubako.engine.registration import ToolRegistryEntry

ADMIN: Final = "admin"
# For a server that collects numbers: it opens `/metrics` and no tool of a pack.
METRICS: Final = "metrics"

# Each level includes those before it.
LEVELS: Final = ("read", "write", "destroy", ADMIN)
_HEIGHT: Final = {level: height for height, level in enumerate(LEVELS, start=1)}
_NEEDED: Final = {Effect.DELEGATE: "read", Effect.READ: "read", Effect.WRITE: "write", Effect.DESTROY: "destroy"}

_TOOL: Final = "tool:"
_SCOPE = re.compile(r"(?:[A-Za-z][A-Za-z0-9_-]{0,63}:)?(?:read|write|destroy)|admin|metrics|tool:[A-Za-z0-9_*?-]{1,64}")

# Every authenticated caller may use the tools about tools.
_FOR_EVERYBODY: Final = "core"


def is_scope(text: str) -> bool:
    """Whether this text is a valid scope."""
    return _SCOPE.fullmatch(text) is not None


def known_scopes(texts: Collection[str]) -> frozenset[str]:
    """The scopes that Dogubako defines; a foreign token may hold others."""
    return frozenset(text for text in texts if is_scope(text))


def allows(scopes: frozenset[str], metadata: ToolMetadata, pack: str) -> bool:
    """Whether one of the scopes allows this tool."""
    return _allows(scopes, metadata.name, _NEEDED[metadata.effect], pack)


def may_read_metrics(scopes: frozenset[str]) -> bool:
    """Whether one of the scopes opens `/metrics`."""
    return bool(scopes & {ADMIN, METRICS})


def needed_for(metadata: ToolMetadata, pack: str) -> str:
    """The smallest pack scope that allows this tool. (A scope for the tool itself would, too.)"""
    return _of_pack(pack, _NEEDED[metadata.effect]) or f"{_TOOL}{metadata.name}"


def needed_to_read(pack: str) -> str:
    """The scope for a pack's resources and prompts."""
    return _of_pack(pack, "read") or "read"


def _of_pack(pack: str, level: str) -> str | None:
    """The scope, or None: the pack of a file may have a name that no scope can express."""
    scope = f"{pack}:{level}"
    return scope if is_scope(scope) and not scope.startswith(_TOOL) else None


def allows_reading(scopes: frozenset[str], pack: str) -> bool:
    """Whether the scopes allow reading the pack's resources and prompts."""
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


class CallerScopes:
    """Compares the scopes of a caller with those that a tool or a pack needs."""

    def missing(self, entry: ToolRegistryEntry, caller: Caller) -> AuthorizationError | None:
        if allows(caller.scopes, entry.metadata, entry.pack):
            return None
        return _missing(entry.name, needed_for(entry.metadata, entry.pack), caller)

    def missing_to_read(self, pack: str, caller: Caller) -> AuthorizationError | None:
        return None if allows_reading(caller.scopes, pack) else _missing("This", needed_to_read(pack), caller)

    def missing_to_switch(self, caller: Caller) -> AuthorizationError | None:
        return None if ADMIN in caller.scopes else _missing("Switching tools", ADMIN, caller)

    def missing_to_administer(self, caller: Caller) -> AuthorizationError | None:
        return None if ADMIN in caller.scopes else _missing("Looking after servers", ADMIN, caller)


def _missing(what: str, scope: str, caller: Caller) -> AuthorizationError:
    held = ", ".join(sorted(caller.scopes)) or "none"
    hint = (
        f"'{caller.name}' has: {held}. An operator can give it to a key (`dogubako keys create --scope {scope}`), "
        "or an authorization server to a token."
    )
    return AuthorizationError(f"{what} needs the scope {scope}.", scope=scope, hint=hint)
