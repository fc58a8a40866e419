"""Run a real Redmine on loopback, for tests: Debian's package, our seed. Started as a program it serves until stopped.

python scripts/real_redmine.py [--port 3300]     prints {"url", "pid", "keys"} as one line of JSON
"""

import argparse
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Final

import httpx2

# Run as a file, Python looks beside it, not where `scripts` is.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.redmine_install import InstallError, Seeded, seeded
from scripts.redmine_instance import APP, Instance

START_SECONDS: Final = 90
STOP_SECONDS: Final = 15
REQUEST_SECONDS: Final = 30


class StartError(Exception):
    """Redmine is installed but does not start; the message holds the end of its log."""


@dataclass(frozen=True, kw_only=True)
class RealRedmine:
    """A running Redmine. Keys are by login, ids by kind and name: `ids["issues"]["umlauts"]`."""

    url: str
    pid: int
    keys: Mapping[str, str]
    ids: Mapping[str, Mapping[str, int]]
    instance: Instance
    seed: Seeded

    def reset(self) -> None:
        """Bring back the seeded data and files. The server goes on running."""
        self.instance.fill(self.seed.database, self.seed.files)

    def set_setting(self, name: str, value: str) -> None:
        """Change a setting that has no place in the API, for example `rest_api_enabled`; the next request sees it."""
        with closing(sqlite3.connect(self.instance.database, timeout=REQUEST_SECONDS)) as database, database:
            database.execute("DELETE FROM settings WHERE name = ?", (name,))
            database.execute(
                "INSERT INTO settings (name, value, updated_on) VALUES (?, ?, strftime('%Y-%m-%d %H:%M:%f', 'now'))",
                (name, value),
            )


@contextmanager
def running_redmine(port: int | None = None) -> Iterator[RealRedmine]:
    """A started Redmine with the seeded world, on a free port unless one is given."""
    seed = seeded(_say)
    with TemporaryDirectory(prefix="dogubako-redmine-") as folder:
        instance = Instance(folder=Path(folder))
        instance.prepare()
        instance.fill(seed.database, seed.files)
        told = seed.told()
        url = f"http://127.0.0.1:{port or _free_port()}"
        log = instance.folder / "puma.log"
        process = instance.start(_server(url), log)
        try:
            _wait_until_ready(process, url, told["keys"]["admin"], log)
            yield RealRedmine(
                url=url, pid=process.pid, keys=told["keys"], ids=told["ids"], instance=instance, seed=seed
            )
        finally:
            _stop(process)


def _free_port() -> int:
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _server(url: str) -> list[str]:
    # One thread: with more of them, SQLite refuses writes that come at the same time.
    return ["puma", "-b", url.replace("http", "tcp"), "-e", "production", "-t", "1:1", str(APP / "config.ru")]


def _wait_until_ready(process: "subprocess.Popen[bytes]", url: str, key: str, log: Path) -> None:
    """Ask who we are: other questions are answered to strangers too, before the key is known to work."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            headers = {"X-Redmine-API-Key": key}
            if httpx2.get(f"{url}/users/current.json", headers=headers, timeout=REQUEST_SECONDS).is_success:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.1)
    end = log.read_text(errors="replace")[-4000:]
    raise StartError(f"Redmine did not start (exit code {process.poll()}). The end of its log:\n{end}")


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description="Run a real Redmine on loopback until Ctrl-C.")
    parser.add_argument("--port", type=int, help="a free one when not given")
    port = parser.parse_args().port
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    try:
        with running_redmine(port) as redmine:
            print(json.dumps({"url": redmine.url, "pid": redmine.pid, "keys": redmine.keys}), flush=True)
            # Wait for its end without taking note of it: that is done where it is stopped.
            os.waitid(os.P_PID, redmine.pid, os.WEXITED | os.WNOWAIT)
            _say("Redmine ended by itself.")
    except (InstallError, StartError) as error:
        _say(str(error))
    return 1


def _leave(number: int, frame: FrameType | None) -> None:
    # A second signal must not interrupt the stopping.
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)
    sys.exit(0)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
