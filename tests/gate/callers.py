"""Kinds of callers, and what each of them may do: written out, not computed by the code under test."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final, Literal

from dogubako.gate.api_keys import KeyStore

_READS: Final = frozenset({"echo", "read_redmine", "read_n8n"})
_WRITES: Final = _READS | {"write_redmine", "write_n8n", "ask_colour"}
_ALL: Final = _WRITES | {"destroy_redmine", "destroy_n8n"}
_BOTH: Final = frozenset({"redmine", "n8n"})

ONE_OF_TWO: Final = "Send one: as a bearer token, or in the header X-API-Key."

TASK_TOOLS: Final = frozenset({"start_task", "task_status", "task_result", "cancel_task"})
CORE_TOOLS: Final = TASK_TOOLS | {"read_more", "search_tools", "describe_tool", "call_tool"}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A caller by its only scope: the tools it may call, and the packs whose resources and prompts it may read."""

    scope: str
    tools: frozenset[str]
    packs: frozenset[str]
    header: Literal["authorization", "x-api-key"]

    def credentials(self, secret: str) -> dict[str, str]:
        """A key or a token, in the header that this caller uses."""
        return {self.header: secret if self.header == "x-api-key" else f"Bearer {secret}"}

    @property
    def sees(self) -> frozenset[str]:
        """What lists hold for it. Tools about tools belong to everybody who may do anything."""
        return self.tools | CORE_TOOLS if self.scope != NONE_OF_OURS else frozenset()

    def may(self, tool: str) -> bool:
        return tool in self.sees

    @property
    def scopes(self) -> list[str]:
        return [] if self.scope == NONE_OF_OURS else [self.scope]


NONE_OF_OURS: Final = "none of ours"

READER: Final = Kind(scope="read", tools=_READS, packs=_BOTH, header="authorization")
ADMINISTRATOR: Final = Kind(scope="admin", tools=_ALL, packs=_BOTH, header="x-api-key")

# Both headers, with strong and with weak callers.
KINDS: Final = (
    READER,
    Kind(scope="write", tools=_WRITES, packs=_BOTH, header="x-api-key"),
    Kind(scope="destroy", tools=_ALL, packs=_BOTH, header="authorization"),
    ADMINISTRATOR,
    Kind(scope="redmine:read", tools=frozenset({"read_redmine"}), packs=frozenset({"redmine"}), header="authorization"),
    Kind(scope="n8n:write", tools=frozenset({"read_n8n", "write_n8n"}), packs=frozenset({"n8n"}), header="x-api-key"),
    Kind(scope="tool:echo", tools=frozenset({"echo"}), packs=frozenset(), header="x-api-key"),
    Kind(scope=NONE_OF_OURS, tools=frozenset(), packs=frozenset(), header="authorization"),
)
_BY_SCOPE: Final = {kind.scope: kind for kind in KINDS}

# The smallest scope that would do, as a refusal names it.
NEEDED: Final = {
    "echo": "bench:read",
    "ask_colour": "bench:write",
    "read_redmine": "redmine:read",
    "write_redmine": "redmine:write",
    "destroy_redmine": "redmine:destroy",
    "read_n8n": "n8n:read",
    "write_n8n": "n8n:write",
    "destroy_n8n": "n8n:destroy",
    **dict.fromkeys(CORE_TOOLS, "core:read"),
}


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Credentials that open nothing, and what is said about them."""

    headers: dict[str, str]
    error: str
    hint: str | None


_HOW: Final = "Send it as a bearer token, or in the header X-API-Key. `dogubako keys create` makes one."
_NEW: Final = "Ask the operator for a new one."

REFUSED: Final = (
    "no key",
    "unknown key",
    "wrong secret",
    "expired key",
    "revoked key",
    "empty key",
    "two keys",
    "other scheme",
)


@dataclass(frozen=True, kw_only=True)
class Keyring:
    """The keys of all kinds of callers."""

    folder: Path
    keys: dict[str, str]
    expired: str
    revoked: str

    def header(self, kind: Kind | str) -> dict[str, str]:
        """What a caller of this kind, or with this scope, sends."""
        known = _BY_SCOPE[kind] if isinstance(kind, str) else kind
        return known.credentials(self.keys[known.scope])

    def refusal(self, which: str) -> Refusal:
        good = self.keys["admin"]
        changed = good[:-1] + ("A" if good[-1] != "A" else "B")
        table = {
            "no key": ({}, "An API key is required.", _HOW),
            "unknown key": ({"x-api-key": "dgb_00000000_" + "A" * 43}, "The API key is not valid.", _HOW),
            "wrong secret": ({"authorization": f"Bearer {changed}"}, "The API key is not valid.", _HOW),
            "expired key": ({"authorization": f"Bearer {self.expired}"}, "The API key is expired.", _NEW),
            "revoked key": ({"x-api-key": self.revoked}, "The API key is revoked.", _NEW),
            "empty key": ({"authorization": "Bearer "}, "An API key is required.", _HOW),
            "two keys": (
                {"authorization": f"Bearer {good}", "x-api-key": self.keys["read"]},
                "The request brings two different credentials.",
                ONE_OF_TWO,
            ),
            "other scheme": (
                {"authorization": f"Basic {good}"},
                "Only the scheme Bearer is understood here.",
                ONE_OF_TWO,
            ),
        }
        headers, error, hint = table[which]
        return Refusal(headers=headers, error=error, hint=hint)


def keys_for_everybody(folder: Path) -> Keyring:
    store = KeyStore(folder)
    keys = {kind.scope: store.create(f"a caller with {kind.scope}", kind.scopes)[0] for kind in KINDS}
    expired, _ = store.create("an expired one", ["admin"], timedelta(0))
    revoked, key = store.create("a revoked one", ["admin"])
    store.revoke(key.id)
    return Keyring(folder=folder, keys=keys, expired=expired, revoked=revoked)
