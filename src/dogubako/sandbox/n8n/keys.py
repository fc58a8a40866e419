"""Who may do what: two keys, one for everything and one that only looks at workflows."""

from collections.abc import Mapping
from typing import Final

from dogubako.sandbox.n8n.asking import RefusedError

SANDBOX_KEY: Final = "sandbox-key"
NO_SCOPE_KEY: Final = "no-scope-key"

# Endpoints that every key may use.
ANY: Final = ""

_ALL: Final = (
    "credential:create",
    "credential:list",
    "execution:delete",
    "execution:list",
    "execution:read",
    "tag:create",
    "tag:list",
    "user:list",
    "workflow:create",
    "workflow:delete",
    "workflow:list",
    "workflow:read",
    "workflow:update",
    "workflowTags:update",
    "workflowTags:list",
    "workflow:activate",
    "workflow:deactivate",
    "execution:retry",
    "execution:stop",
)
_SCOPES: Final[Mapping[str, tuple[str, ...]]] = {SANDBOX_KEY: _ALL, NO_SCOPE_KEY: ("workflow:list", "workflow:read")}


def scopes_of(key: str) -> tuple[str, ...]:
    if key not in _SCOPES:
        raise RefusedError(401, "Unauthorized")
    return _SCOPES[key]


def check_scope(key: str, scope: str) -> None:
    if scope not in (*scopes_of(key), ANY):
        raise RefusedError(403, "Forbidden")
