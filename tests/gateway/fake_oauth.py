"""An MCP server over HTTP that wants OAuth, with an authorization server at the same address."""

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from .fake_http import Answer, FakeHttp


@dataclass
class FakeOAuth:
    """An ASGI app. Tokens are `access-N`; the newest one counts."""

    era: str = "modern"
    number: int = 0
    lifetime: int = 3600
    # The status of the next refreshes; 0 lets them pass.
    refuse_refresh: int = 0
    refreshes: int = 0
    # Whether the tokens before the newest one still count, because they are of other people.
    keeps_tokens: bool = False
    # Refresh tokens that were used. Each counts once.
    refresh_tokens: list[str] = field(default_factory=list)
    server: FakeHttp = field(init=False)

    def __post_init__(self) -> None:
        self.server = FakeHttp(self.era, token="nobody has this")

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path, answer = scope["path"], Answer(send, receive)
        base = f"http://{dict(scope['headers'])[b'host'].decode()}"
        if path.startswith("/.well-known/oauth-protected-resource"):
            await answer.json({"resource": f"{base}/mcp", "authorization_servers": [base]})
        elif path.startswith("/.well-known/"):
            endpoints = {f"{name}_endpoint": f"{base}/{name}" for name in ("authorization", "token", "registration")}
            more = {"response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"]}
            await answer.json({"issuer": base, **endpoints, **more})
        elif path == "/registration":
            client = json.loads(await self._body(receive))
            await answer.json({**client, "client_id": "client-1"})
        elif path == "/authorization":
            query = {name: values[0] for name, values in parse_qs(scope["query_string"].decode()).items()}
            target = f"{query['redirect_uri']}?code=the-code&state={query['state']}"
            await answer.plain(302, {"location": target})
        elif path == "/token":
            await self._token(parse_qs((await self._body(receive)).decode()), answer)
        else:
            await self.server(scope, receive, send)

    async def _token(self, form: dict[str, list[str]], answer: Answer) -> None:
        if form["grant_type"] == ["refresh_token"]:
            self.refreshes += 1
            [sent] = form["refresh_token"]
            if self.refuse_refresh or sent in self.refresh_tokens:
                await answer.plain(self.refuse_refresh or 400)
                return
            self.refresh_tokens.append(sent)
        self.number += 1
        if self.keeps_tokens:
            self.server.tokens.add(self.server.token)
        self.server.token = f"access-{self.number}"
        token = {"access_token": self.server.token, "refresh_token": f"refresh-{self.number}", "token_type": "Bearer"}
        await answer.json({**token, "expires_in": self.lifetime})

    async def _body(self, receive: Any) -> bytes:
        body: bytes = b""
        while True:
            event = await receive()
            body += event["body"]
            if not event.get("more_body"):
                return body
