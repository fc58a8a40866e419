"""Run a real search server on loopback, for tests: Debian's searx, with one engine that asks a small server of ours.

python3 scripts/real_searx.py     prints {"url", "pid"} as one line of JSON and serves until stopped
"""

import json
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

# Run as a file, Python looks beside it, not where `scripts` is.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.real_server import Patience, StartError, free_ports, leave_on_signals, ready, say, start, tell_and_wait

# Debian's searx needs Debian's Python, whatever runs this file.
PYTHON: Final = "/usr/bin/python3"
PATIENCE: Final = Patience(start=60, stop=10)
REQUEST_SECONDS: Final = 10

# What the engine finds for a query and a page: a status, and results as `{"url", "title", "content"}`.
Finds = Callable[[str, int], tuple[int, list[dict[str, str]]]]


class InstallError(Exception):
    """searx is not installed here; the message says what a person can do."""


@dataclass(frozen=True, kw_only=True)
class RealSearx:
    """A running searx."""

    url: str
    pid: int


@contextmanager
def running(finds: Finds) -> Iterator[RealSearx]:
    """A started searx whose only engine finds what `finds` says."""
    program = shutil.which("searx-run")
    if program is None:
        raise InstallError("searx is not installed. Debian: apt-get install --no-install-recommends searx")
    with TemporaryDirectory(prefix="dogubako-searx-") as folder, _engine(finds) as engine_port:
        [port], home = free_ports(1), Path(folder)
        url = f"http://127.0.0.1:{port}"
        settings, log = home / "settings.yml", home / "searx.log"
        # JSON is YAML too.
        settings.write_text(json.dumps(_settings(port, engine_port)))
        process = start([PYTHON, program], folder=home, environment=_environment(home, settings), log=log)
        with ready("searx", process, log, lambda: _is_ready(url), PATIENCE):
            yield RealSearx(url=url, pid=process.pid)


def _settings(port: int, engine_port: int) -> dict[str, Any]:
    """Everything searx wants to be told; it does not start without most of it."""
    shared = "/usr/share/python3-searx"
    return {
        "use_default_settings": False,
        "general": {"debug": False, "instance_name": "test"},
        "search": {
            "safe_search": 0,
            # An engine that failed once is asked again at once, else one test would silence the next.
            "ban_time_on_fail": 0,
            "max_ban_time_on_fail": 0,
            "prefer_configured_language": False,
            "autocomplete": "",
            "default_lang": "",
            "formats": ["html", "json"],
        },
        "server": {
            "port": port,
            "bind_address": "127.0.0.1",
            "secret_key": "only-for-tests",
            "base_url": False,
            "image_proxy": False,
            "http_protocol_version": "1.0",
            "method": "GET",
            "default_http_headers": {},
        },
        "ui": {
            "static_path": f"{shared}/static",
            "templates_path": f"{shared}/templates",
            "default_theme": "oscar",
            "default_locale": "",
        },
        "outgoing": {"request_timeout": 3.0, "useragent_suffix": ""},
        "engines": [_local_engine(engine_port)],
        "doi_resolvers": {"none": "http://127.0.0.1/"},
        "default_doi_resolver": "none",
        "locales": {"en": "English"},
    }


def _local_engine(port: int) -> dict[str, Any]:
    return {
        "name": "local",
        "engine": "json_engine",
        "shortcut": "lo",
        "categories": "general",
        "paging": True,
        "search_url": f"http://127.0.0.1:{port}/?q={{query}}&p={{pageno}}",
        "results_query": "results",
        "url_query": "url",
        "title_query": "title",
        "content_query": "content",
        "timeout": 3.0,
        "enable_http": True,
        "disabled": False,
    }


@contextmanager
def _engine(finds: Finds) -> Iterator[int]:
    """Our own index behind searx, in a thread; yields its port."""

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = parse_qs(urlsplit(self.path).query)
            status, results = finds(asked.get("q", [""])[0], int(asked.get("p", ["1"])[0]))
            body = json.dumps({"results": results}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _environment(home: Path, settings: Path) -> dict[str, str]:
    """Only this: a proxy or a path of the person's own environment must not change a test."""
    return {"PATH": "/usr/bin:/bin", "HOME": str(home), "SEARX_SETTINGS_PATH": str(settings)}


def _is_ready(url: str) -> bool:
    try:
        with urlopen(url, timeout=REQUEST_SECONDS):
            return True
    except OSError:
        return False


def _ten_a_page(query: str, page: int) -> tuple[int, list[dict[str, str]]]:
    numbers = range(page * 10 - 9, page * 10 + 1)
    return 200, [{"url": f"http://site{n}.invalid/", "title": f"{query} {n}", "content": f"Text {n}"} for n in numbers]


def main() -> int:
    leave_on_signals()
    try:
        with running(_ten_a_page) as searx:
            tell_and_wait("searx", searx.pid, {"url": searx.url, "pid": searx.pid})
    except (InstallError, StartError) as error:
        say(str(error))
    return 1


if __name__ == "__main__":
    sys.exit(main())
