"""The short way answers exactly as the SDK would: every request goes both ways, and the answers are compared."""

from typing import Any

import pytest

from dogubako.app import Toolbox
from dogubako.transports.http.app import HttpApp

from .asgi import Client, Visit, opened
from .mutations import Attempt, attempts

_EACH = 1_600
# References and times differ from call to call.
_OWN_TO_EACH = ("errorId", "executionTime", "timestamp")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("modern", "least_taken"), [pytest.param(True, 400, id="2026"), pytest.param(False, 400, id="2025")]
)
async def test_mutated_calls_get_the_same_answer_on_both_ways(
    box: Toolbox, monkeypatch: pytest.MonkeyPatch, modern: bool, least_taken: int
) -> None:
    short, long = HttpApp(box), HttpApp(box)
    monkeypatch.setattr(long.mcp.fast_path, "match", lambda *_args, **_kwargs: None)

    async with opened(short) as one, opened(long) as other:
        sessions = await one.open_session(), await other.open_session()
        for attempt in attempts(_EACH, seed=20260728, modern=modern):
            first = await _send(one, attempt, sessions[0])
            second = await _send(other, attempt, sessions[1])
            assert _seen(first) == _seen(second), f"{attempt.headers}\n{attempt.body()!r}"

    assert short.mcp.fast_path.taken >= least_taken
    assert long.mcp.fast_path.taken == 0


async def _send(client: Client, attempt: Attempt, session: str) -> Visit:
    return await client.request("POST", "/mcp", headers=attempt.headers_in(session), body=attempt.body())


def _seen(visit: Visit) -> dict[str, Any]:
    """What a client can tell apart; how the answer was carried is the server's choice in both eras."""
    speaks_json = visit.headers.get("content-type", "").startswith(("application/json", "text/event-stream"))
    body = _without_ids(visit.response) if visit.body and speaks_json else visit.body
    return {"status": visit.status, "body": body, "session": "mcp-session-id" in visit.headers}


def _without_ids(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: "given" if key in _OWN_TO_EACH else _without_ids(value) for key, value in node.items()}
    return [_without_ids(one) for one in node] if isinstance(node, list) else node
