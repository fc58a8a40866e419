"""The small authorization server on a real socket, for servers that are processes of their own."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import urlencode

from .authorization_server import AUDIENCE, AuthorizationServer

_DESCRIPTION: Final = "/.well-known/oauth-authorization-server"


class IssuerService(AuthorizationServer):
    """Shows its keys at `keys_at`, and nothing at any other address. `document` replaces them, as it is."""

    def __init__(self, origin: str) -> None:
        super().__init__()
        self.origin = origin
        self.document: bytes | None = None
        self.move_to("/keys")

    def move_to(self, path: str) -> None:
        self.keys_at = path
        self.description = {
            "issuer": self.origin,
            "jwks_uri": f"{self.origin}{path}",
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": f"{self.origin}/token",
        }

    def token(self, **claims: Any) -> str:
        return super().token(**{"iss": self.origin, **claims})

    def bearer(self, **claims: Any) -> dict[str, str]:
        """The header of a caller with a good token."""
        return {"authorization": f"Bearer {self.token(**claims)}"}

    def settings(self) -> dict[str, str]:
        """For a server that takes tokens of this one."""
        return {
            "DOGUBAKO_AUTH": "oauth",
            "DOGUBAKO_OAUTH_ISSUER": self.origin,
            "DOGUBAKO_OAUTH_AUDIENCE": AUDIENCE,
        }

    def answer(self, path: str) -> bytes | None:
        self.asked[path] += 1
        if path == _DESCRIPTION:
            return json.dumps(self.description).encode()
        if path == self.keys_at:
            return self.document or json.dumps(self.jwks()).encode()
        return None


class _Handler(BaseHTTPRequestHandler):
    issuer: IssuerService

    def do_GET(self) -> None:
        if self.path.startswith("/authorize?"):
            # A person who is signed in already and agrees at once.
            answer = self.issuer.approve(self.path)
            self.send_response(302)
            target = self.issuer.codes[answer["code"]]["redirect_uri"]
            self.send_header("Location", f"{target}?{urlencode(answer)}")
            self.end_headers()
            return
        body = self.issuer.answer(self.path)
        self._send(404 if body is None else 200, body or b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        status, document = self.issuer.redeem(body, self.headers.get("authorization", ""))
        self._send(status, json.dumps(document).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        return None


@contextmanager
def issuing(host: str = "127.0.0.1") -> Iterator[IssuerService]:
    """`localhost` as the host makes it another site than servers at 127.0.0.1."""

    class Handler(_Handler):
        pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Handler.issuer = issuer = IssuerService(f"http://{host}:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield issuer
        server.shutdown()
        thread.join(10)
