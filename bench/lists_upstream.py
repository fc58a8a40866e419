"""Stands for Redmine and n8n in a process of its own, with long lists. The argument is its port."""

import sys
from typing import Any, Final

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

ISSUES: Final = 100
EXECUTIONS: Final = 1_000
EXECUTIONS_PER_PAGE: Final = 250
_WORDS: Final = "The invoice of order 4711 has the wrong address after the customer moved; support was told twice. "
_STATUSES: Final = ("success", "success", "success", "error")


def issues() -> bytes:
    """A page of issues as Redmine writes it: a description of some lines, custom fields, times."""
    rows = [_issue(number) for number in range(1, ISSUES + 1)]
    return msgspec.json.encode({"issues": rows, "total_count": ISSUES * 12, "offset": 0, "limit": ISSUES})


def _issue(number: int) -> dict[str, Any]:
    return {
        "id": 9_000 + number,
        "project": {"id": 3, "name": "Web shop"},
        "tracker": {"id": 1, "name": "Bug"},
        "status": {"id": 2, "name": "In Progress", "is_closed": False},
        "priority": {"id": 4, "name": "Normal"},
        "author": {"id": number % 17 + 5, "name": f"Author Number {number % 17}"},
        "assigned_to": {"id": number % 9 + 30, "name": f"Developer Number {number % 9}"},
        "category": {"id": 6, "name": "Checkout"},
        "fixed_version": {"id": 12, "name": "Release 4.2"},
        "subject": f"Order {number}: the invoice shows the old address of the customer",
        "description": _WORDS * (4 + number % 12),
        "start_date": "2026-10-01",
        "due_date": "2026-11-30",
        "done_ratio": number % 11 * 10,
        "is_private": False,
        "estimated_hours": 3.5,
        "total_estimated_hours": 3.5,
        "spent_hours": 1.25,
        "total_spent_hours": 1.25,
        "custom_fields": [
            {"id": 1, "name": "Customer", "value": f"Customer {number}"},
            {"id": 2, "name": "Severity", "value": "major"},
            {"id": 3, "name": "Browsers", "multiple": True, "value": ["Firefox", "Chrome"]},
            {"id": 4, "name": "Reviewed", "value": "0"},
        ],
        "created_on": "2026-10-01T08:15:30Z",
        "updated_on": f"2026-11-{number % 16 + 1:02}T17:45:10Z",
        "closed_on": None,
    }


def executions(before: int) -> bytes:
    """The page that begins below this id, as n8n writes it."""
    first = max(0, before - EXECUTIONS_PER_PAGE)
    rows = [_execution(number) for number in range(before - 1, first - 1, -1)]
    return msgspec.json.encode({"data": rows, "nextCursor": f"c{first}" if first else None})


def _execution(number: int) -> dict[str, Any]:
    status = _STATUSES[number % 4]
    return {
        "id": str(100_000 + number),
        "finished": status == "success",
        "mode": "webhook",
        "retryOf": None,
        "retrySuccessId": None,
        "status": status,
        "createdAt": "2026-11-17T08:00:00.101Z",
        "startedAt": f"2026-11-17T08:{number % 60:02}:00.123Z",
        "stoppedAt": f"2026-11-17T08:{number % 60:02}:03.456Z",
        "deletedAt": None,
        "workflowId": f"bFqp5KICynapnI{number % 7}k",
        "waitTill": None,
        "storedAt": "db",
    }


def upstream_bytes() -> dict[str, int]:
    """The bytes of JSON behind one look at each list."""
    pages = range(EXECUTIONS, 0, -EXECUTIONS_PER_PAGE)
    return {"redmine": len(issues()), "n8n": sum(len(executions(before)) for before in pages)}


def main(port: int) -> None:
    user = msgspec.json.encode({"user": {"id": 5, "login": "bench", "admin": True, "memberships": [], "groups": []}})
    bodies: dict[str, bytes] = {"issues": issues(), "none": msgspec.json.encode({"data": [], "nextCursor": None})}
    pages = {f"c{before}": executions(before) for before in range(EXECUTIONS, 0, -EXECUTIONS_PER_PAGE)}

    def answered(body: bytes) -> Response:
        return Response(body, headers={"Content-Type": "application/json; charset=utf-8"})

    async def list_executions(request: Request) -> Response:
        if request.query_params.get("status") == "running":
            return answered(bodies["none"])
        return answered(pages[request.query_params.get("cursor", f"c{EXECUTIONS}")])

    async def list_issues(request: Request) -> Response:
        return answered(bodies["issues"])

    async def current_user(request: Request) -> Response:
        return answered(user)

    routes = [
        Route("/api/v1/executions", list_executions),
        Route("/issues.json", list_issues),
        Route("/users/current.json", current_user),
    ]
    uvicorn.run(Starlette(routes=routes), port=port, log_level="error", access_log=False)


if __name__ == "__main__":
    main(int(sys.argv[1]))
