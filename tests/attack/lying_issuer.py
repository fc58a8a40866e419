"""An issuer that is honest at first, and then redirects, dawdles, floods or lies about itself."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import jwt

from tests.gate.authorization_server import private_key
from tests.gate.issuer_service import IssuerService

_STRANGER: Final = "/stranger"


class LyingIssuer(IssuerService):
    """`lie` is one of LIES, or nothing while it is honest."""

    def __init__(self, origin: str) -> None:
        super().__init__(origin)
        self.lie = ""
        self.lied = 0

    def strange_keys(self) -> bytes:
        """Keys of an attacker under the id of the honest key."""
        key = jwt.algorithms.RSAAlgorithm.to_jwk(private_key("RS256", "a stranger's").public_key(), as_dict=True)
        return json.dumps({"keys": [{**key, "kid": "strange", "alg": "RS256", "use": "sig"}]}).encode()

    def strange_token(self) -> str:
        claims = jwt.decode(self.token(scope="admin"), options={"verify_signature": False})
        return jwt.encode(claims, private_key("RS256", "a stranger's"), algorithm="RS256", headers={"kid": "strange"})


class _Handler(BaseHTTPRequestHandler):
    issuer: LyingIssuer

    def do_GET(self) -> None:
        issuer = self.issuer
        if self.path.startswith(_STRANGER):
            self.say(issuer.strange_keys())
        elif not issuer.lie:
            body = issuer.answer(self.path)
            self.say(body or b"", 404 if body is None else 200)
        else:
            issuer.lied += 1
            try:
                LIES[issuer.lie](self)
            except OSError:
                # The server had heard enough.
                return

    def say(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def describe(self, **changes: Any) -> None:
        self.say(json.dumps({**self.issuer.description, **changes}).encode())

    def dribble(self, seconds: float) -> None:
        """A byte now and then, for as long as somebody reads."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        until = time.monotonic() + 60
        while time.monotonic() < until:
            self.wfile.write(b" ")
            time.sleep(seconds)

    def pour(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        for _ in range(1_000):
            self.wfile.write(b'{"keys":[' + b" " * 1_000_000)

    def log_message(self, *_: Any) -> None:
        return None


LIES: Final[dict[str, Callable[[_Handler], None]]] = {
    "redirects to itself": lambda one: one.say(b"", 302, Location=one.path),
    "redirects to a stranger": lambda one: one.say(
        b"", 302, Location=one.issuer.origin.replace("127.0.0.1", "localhost") + _STRANGER
    ),
    "dawdles": lambda one: one.dribble(0.5),
    "pours": _Handler.pour,
    "says nothing": lambda one: time.sleep(30),
    "describes another issuer": lambda one: one.describe(
        issuer="https://evil.example", jwks_uri=f"{one.issuer.origin}{_STRANGER}"
    ),
    "has its keys in a file": lambda one: one.describe(jwks_uri="file:///etc/passwd"),
    "has its keys in the clear elsewhere": lambda one: one.describe(jwks_uri="http://192.0.2.1/keys"),
    "answers with a status of 500": lambda one: one.say(one.issuer.strange_keys(), 500),
}


@contextmanager
def lying() -> Iterator[LyingIssuer]:
    class Handler(_Handler):
        pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        Handler.issuer = issuer = LyingIssuer(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield issuer
        server.shutdown()
        thread.join(10)
