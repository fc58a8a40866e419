"""A service on loopback that answers as broken services do."""

import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar, Final

SLOW_SECONDS: Final = 4.0
_HTML: Final = "<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please sign in</body></html>"


_JSON: Final = "application/json"
# What a path answers: status, content type, body.
_ANSWERS: Final[Mapping[str, tuple[int, str, str]]] = {
    "html": (200, "text/html", _HTML),
    "list": (200, _JSON, "[]"),
    "graphql": (200, _JSON, '{"errors": [{"message": "Field user is not permitted"}], "data": null}'),
    "soft": (200, _JSON, '{"success": false, "error": "monthly quota exceeded"}'),
    "text": (200, "text/plain", "OK"),
    "xml": (200, "application/xml", "<order><id>7</id></order>"),
    "empty": (204, _JSON, ""),
    "broken": (200, _JSON, '{"id": 1, "rows": [{"a": 1}, {"a"'),
    "orders": (200, _JSON, '[{"id": 1, "buyer": {"mail": "a@b.c"}}, {"id": 2, "buyer": null}]'),
    "token": (200, _JSON, '{"token_type": "bearer", "expires_in": 60}'),
    "profile": (200, _JSON, '{"user": {"name": "Ito", "roles": []}}'),
    "nothing": (200, _JSON, '{"count": 0, "results": [], "next": null}'),
    "limit": (429, _JSON, '{"message": "slow down", "retry_after": 30}'),
    "csv": (200, "text/csv", "name;ort\n Ito ;Kyoto\n"),
    "preise": (200, _JSON, '[{"preis": 9.5}, {"preis": "12.00"}]'),
    "fehler": (200, _JSON, '{"status": "error", "message": "在庫サービス停止中"}'),
    "expired": (401, _JSON, '{"message": "token expired"}'),
}

# What `/say/422/stock` says: bodies of refusals.
_SAID: Final[Mapping[str, str]] = {
    "exists": '{"message": "A contact with this email already exists", "code": "DUPLICATE"}',
    "unknown": '{"error": "Unknown field phone_number"}',
    "limit": '{"errors": [{"param": "limit", "message": "limit must be at most 100"}]}',
    "scope": '{"error": "insufficient_scope", "error_description": "The token has no scope reports:read"}',
    "range": '{"errors": {"end": ["must be after start"]}}',
    "stock": '{"message": "SKU A-1 is out of stock"}',
    "priority": '{"error": "priority must be one of low, normal, high"}',
    "absent": '{"success": true, "found": false, "message": "no such record"}',
    "fine": '{"status": "done", "error": null, "errors": [], "message": "all good"}',
    "currency": '{"error": {"code": "invalid_currency", "param": "currency", "message": "Invalid currency: EURO"}}',
    "consent": '{"errors": {"consent": ["must be accepted"]}}',
    "to": '{"errors": [{"field": "to", "message": "is required"}]}',
    "paged": '{"rows": [{"id": 1}], "next": "/paged?page=2"}',
    "phone": '{"error": "phone must begin with +"}',
    "team": '{"error": "team name is reserved"}',
}


class _Handler(BaseHTTPRequestHandler):
    """`/status/503` answers with that status, `/slow` late, `/flaky/x` well the second time, others as listed."""

    tries: ClassVar[Counter[str]] = Counter()

    def do_GET(self) -> None:
        parts = self.path.strip("/").split("?")[0].split("/")
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        if parts[0] == "status":
            self._answer(int(parts[1]), _JSON, '{"message": "refused by the service"}')
        elif parts[0] == "say":
            self._answer(int(parts[1]), _JSON, _SAID[parts[2]])
        elif parts[0] == "redirect":
            self._answer(302, _JSON, "{}", location="/redirect")
        elif parts[0] == "slow":
            time.sleep(SLOW_SECONDS)
            self._answer(200, _JSON, "{}")
        elif parts[0] == "flaky":
            self.tries[self.path] += 1
            self._answer(503 if self.tries[self.path] % 2 else 200, _JSON, '{"id": 1, "total": 12}')
        elif parts[0] == "secure":
            good = (self.headers.get("Authorization") or "").endswith("good")
            self._answer(200 if good else 401, _JSON, '{"message": "who are you"}')
        elif parts[0] == "create":
            good = '"email":"' in sent.replace(" ", "")
            self._answer(200 if good else 422, _JSON, '{"message": "email is required"}')
        elif parts[0] == "dated":
            good = re.search(r'"datum":\s*"\d{4}-\d\d-\d\d"', sent) is not None
            self._answer(
                200 if good else 400, _JSON, '{"errors": [{"field": "datum", "message": "must be an ISO date"}]}'
            )
        elif parts[0] == "users" and not parts[-1].isdecimal():
            self._answer(404, _JSON, '{"message": "no such user"}')
        else:
            self._answer(*_ANSWERS.get(parts[0], (200, _JSON, '{"id": 1, "total": 12, "rows": []}')))

    do_POST = do_GET
    do_DELETE = do_GET

    def _answer(self, status: int, kind: str, body: str, location: str = "") -> None:
        data = body.encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            if location:
                self.send_header("Location", location)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            # The caller's timeout was shorter.
            return

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Nothing: the output belongs to the score."""


@contextmanager
def broken_service() -> Iterator[str]:
    """The address of the service, for as long as it runs."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
