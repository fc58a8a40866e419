"""Run a real search server on loopback, for tests: Debian's searx, with one engine that asks a small server of ours.

python3 scripts/real_searx.py     prints {"url", "pid"} as one line of JSON and serves until stopped
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import socket
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, Final
from urllib.error import URLError
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

# Debian's searx needs Debian's Python, whatever runs this file.
PYTHON: Final = "/usr/bin/python3"
START_SECONDS: Final = 60
STOP_SECONDS: Final = 10
REQUEST_SECONDS: Final = 10

# What the engine finds for a query and a page: a status, and results as `{"url", "title", "content"}`.
Finds = Callable[[str, int], tuple[int, list[dict[str, str]]]]


class SearxError(Exception):
    """searx is not installed, or does not start; the message says which."""


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
        raise SearxError("searx is not installed. Debian: apt-get install --no-install-recommends searx")
    with TemporaryDirectory(prefix="dogubako-searx-") as folder, _engine(finds) as engine_port:
        port, home = _free_port(), Path(folder)
        settings, log = home / "settings.yml", home / "searx.log"
        # JSON is YAML too.
        settings.write_text(json.dumps(_settings(port, engine_port)))
        process = _start(program, home, settings, log)
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_until_ready(process, url, log)
            yield RealSearx(url=url, pid=process.pid)
        finally:
            _stop(process)


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


def _free_port() -> int:
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _start(program: str, home: Path, settings: Path, log: Path) -> "subprocess.Popen[bytes]":
    # Only this: a proxy or a path of the person's own environment must not change a test.
    environment: Mapping[str, str] = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(home),
        "SEARX_SETTINGS_PATH": str(settings),
    }
    with log.open("wb") as output:
        return subprocess.Popen(
            [PYTHON, program],
            cwd=home,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def _wait_until_ready(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urlopen(url, timeout=REQUEST_SECONDS):
                return
        except (URLError, OSError):
            time.sleep(0.1)
    end = log.read_text(errors="replace")[-4000:]
    raise SearxError(f"searx did not start (exit code {process.poll()}). The end of its log:\n{end}")


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _ten_a_page(query: str, page: int) -> tuple[int, list[dict[str, str]]]:
    numbers = range(page * 10 - 9, page * 10 + 1)
    return 200, [{"url": f"http://site{n}.invalid/", "title": f"{query} {n}", "content": f"Text {n}"} for n in numbers]


def main() -> int:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    try:
        with running(_ten_a_page) as searx:
            print(json.dumps({"url": searx.url, "pid": searx.pid}), flush=True)
            # Wait for its end without taking note of it: that is done where it is stopped.
            os.waitid(os.P_PID, searx.pid, os.WEXITED | os.WNOWAIT)
            print("searx ended by itself.", file=sys.stderr)
    except SearxError as error:
        print(error, file=sys.stderr)
    return 1


def _leave(number: int, frame: FrameType | None) -> None:
    # A second signal must not interrupt the stopping.
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)
    sys.exit(0)


if __name__ == "__main__":
    sys.exit(main())
