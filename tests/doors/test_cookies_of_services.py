"""A service sets cookies, also in what it says: they reach no log at any level, and no answer."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from .processes import PATIENCE, serving
from .waiting import until

_COOKIE: Final = "Zc0okieValue"
_SAID: Final = f'{{"message": "Refused. Cookie: session={_COOKIE}; theme=\\"{_COOKIE}\\""}}'.encode()


class _SettingCookies(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(403)
        self.send_header("Content-Type", "application/json")
        self.send_header("Set-Cookie", f"session={_COOKIE}; Path=/; HttpOnly")
        self.send_header("SET-COOKIE", f'theme="it\'s {_COOKIE}"; Path=/')
        self.send_header("Content-Length", str(len(_SAID)))
        self.end_headers()
        self.wfile.write(_SAID)

    def log_message(self, *_: Any) -> None:
        return None


@contextmanager
def _service() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _SettingCookies) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join(PATIENCE)


@pytest.mark.slow
@pytest.mark.parametrize("level", ["info", "debug", "trace"])
async def test_cookies_of_a_service_reach_no_log_and_no_answer(tmp_path: Path, level: str) -> None:
    with _service() as url:
        settings = {"N8N_URL": url, "N8N_API_KEY": "key-of-the-service", "LOG_LEVEL": level}
        with serving(folder=tmp_path, settings=settings) as server:
            body = {"name": "list_workflows", "parameters": {}}
            answer = httpx2.post(f"{server.url()}/v1/tools/call", json=body, timeout=PATIENCE)
            await until(lambda: "Tool completed" in server.log_file, "the call is in the log")

        logged = server.stderr.text() + server.log_file
    assert (answer.status_code, answer.json()["code"]) == (502, "API_ERROR")
    assert _COOKIE not in answer.text
    assert _COOKIE not in logged
    assert level == "info" or "Set-Cookie" in logged, "what libraries say is in the log"
