"""The words in which the tests of the sandbox's n8n are written."""

from typing import Any

import httpx2

from dogubako_sandbox.n8n.replay import seed_id
from dogubako_sandbox.n8n.workflow_parts import JsonObject
from dogubako_sandbox.n8n.workflows import WORKFLOWS


class N8n:
    """Asks as a client would, and finds what the sandbox starts with by its name."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self.client = client

    async def ask(self, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, Any]:
        """Status and decoded body; a path that begins with a word belongs to the public API."""
        url = path if path.startswith("/") else f"/api/v1/{path}"
        if body is not None:
            more["json"] = body
        response = await self.client.request(method, url, **more)
        is_json = response.headers.get("content-type", "").startswith("application/json")
        return response.status_code, response.json() if is_json else response.text

    async def told(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """The body of an answer that has to be a success."""
        status, answer = await self.ask(method, path, body, **more)
        assert status in (200, 201), answer
        return answer

    async def message(self, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, str]:
        """Status and reason of a refusal."""
        status, answer = await self.ask(method, path, body, **more)
        assert set(answer) == {"message"}, answer
        return status, answer["message"]

    async def newest(self, status: str, **query: str) -> str:
        """The id of the newest execution with this status."""
        page = await self.told("GET", "executions", params={"status": status, **query})
        return str(page["data"][0]["id"])


def workflow_id(key: str) -> str:
    return seed_id(WORKFLOWS[key].name)


def body_of(key: str, **changes: Any) -> JsonObject:
    """A definition as it is posted, with changes; a change to None takes the key out."""
    merged = {**WORKFLOWS[key].body, **changes}
    return {name: value for name, value in merged.items() if value is not None}
