"""What a client can tell of an answer, without what differs from one to the next."""

from typing import Any, Final

from tests.doors.asgi import Visit

_OWN_TO_EACH: Final = frozenset({"executionTime", "timestamp", "uptime", "score"})


def body_of(visit: Visit) -> Any:
    """The body; of tools only the names are left."""
    if not visit.headers.get("content-type", "").startswith("application/json"):
        return visit.headers.get("content-type") or visit.headers.get("location")
    return _plain(visit.json)


def _plain(node: Any) -> Any:
    if isinstance(node, list):
        return [_plain(one) for one in node]
    if not isinstance(node, dict):
        return node
    if "effect" in node:
        return node["name"]
    if "openapi" in node:
        return sorted(node)
    return {key: _plain(value) for key, value in node.items() if key not in _OWN_TO_EACH}


def refusal(error: str, code: str, hint: str | None = None) -> dict[str, Any]:
    """The body of a failure, as REST writes it."""
    facts = {"hint": hint} if hint is not None else {}
    return {"success": False, "error": error, "code": code, "retryable": False, **facts, "details": []}


def without_scope(tool: str, needed: str, caller: str, held: list[str]) -> dict[str, Any]:
    """The body for somebody who may not call this."""
    return refusal(f"{tool} needs the scope {needed}.", "AUTHORIZATION_ERROR", who_gives(caller, held, needed))


def who_gives(caller: str, held: list[str], needed: str) -> str:
    has = ", ".join(held) or "none"
    return (
        f"'{caller}' has: {has}. An operator can give it to a key (`dogubako keys create --scope {needed}`), "
        "or an authorization server to a token."
    )
