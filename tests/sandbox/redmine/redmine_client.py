"""The words in which the tests of the sandbox's Redmine are written."""

from typing import Any, Final

import httpx2

KEYS: Final = {
    "admin": "a" * 40,
    "manager": "f" * 40,
    "dev": "c" * 40,
    "reporter": "b" * 40,
    "outsider": "d" * 40,
    "locked": "e" * 40,
    "wrong key": "9" * 40,
}
OCTETS: Final = {"Content-Type": "application/octet-stream"}


class Redmine:
    """Asks as one of the seeded people would; `nobody` has no key."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self.client = client

    async def answer(self, who: str, method: str, path: str, body: Any = None, **more: Any) -> httpx2.Response:
        headers = {**({"X-Redmine-API-Key": KEYS[who]} if who in KEYS else {}), **more.pop("headers", {})}
        if body is not None:
            more["json"] = body
        return await self.client.request(method, path, headers=headers, **more)

    async def ask(self, who: str, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, Any]:
        """Status and decoded body; None if there is no body at all."""
        response = await self.answer(who, method, path, body, **more)
        return response.status_code, response.json() if response.content else None

    async def told(self, who: str, path: str) -> Any:
        """What a GET that has to be a success says."""
        status, body = await self.ask(who, "GET", path)
        assert status == 200, (status, body)
        return body

    async def status(self, who: str, method: str, path: str, body: Any = None) -> int:
        """The status of an answer that has to be empty."""
        status, answer = await self.ask(who, method, path, body)
        assert answer is None, answer
        return status

    async def errors(self, who: str, method: str, path: str, body: Any = None) -> list[str]:
        """The sentences of a refusal by the validation."""
        status, answer = await self.ask(who, method, path, body)
        assert status == 422, (status, answer)
        return list(answer["errors"])

    async def upload(self, who: str, name: str, content: bytes = b"hello") -> str:
        """The token of a new file."""
        params = {"filename": name}
        status, answer = await self.ask(who, "POST", "/uploads.json", params=params, content=content, headers=OCTETS)
        assert status == 201, answer
        return str(answer["upload"]["token"])
