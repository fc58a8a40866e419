"""Run a real Redmine on loopback, for tests: Debian's package, our seed. Started as a program it serves until stopped.

python scripts/real_redmine.py [--port 3300] [--world ja]     prints {"url", "pid", "keys"} as one line of JSON
"""

import argparse
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import httpx2

# Run as a file, Python looks beside it, not where `scripts` is.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.real_server import Patience, StartError, free_ports, leave_on_signals, ready, say, tell_and_wait
from scripts.redmine_install import SEED, SEED_JA, InstallError, Seed, Seeded, seeded
from scripts.redmine_instance import APP, Instance

PATIENCE: Final = Patience(start=90, stop=15)
REQUEST_SECONDS: Final = 30


@dataclass(frozen=True, kw_only=True)
class RealRedmine:
    """A running Redmine. Keys are by login, ids by kind and name: `ids["issues"]["umlauts"]`."""

    url: str
    pid: int
    keys: Mapping[str, str]
    ids: Mapping[str, Mapping[str, int]]
    instance: Instance
    seed: Seeded

    def reset(self, seed: Seeded | None = None) -> None:
        """Bring back the seeded data and files, of this world or of another one. The server goes on running."""
        world = seed or self.seed
        self.instance.fill(world.database, world.files)

    def set_setting(self, name: str, value: str) -> None:
        """Change a setting that has no place in the API, for example `rest_api_enabled`; the next request sees it."""
        with closing(sqlite3.connect(self.instance.database, timeout=REQUEST_SECONDS)) as database, database:
            database.execute("DELETE FROM settings WHERE name = ?", (name,))
            database.execute(
                "INSERT INTO settings (name, value, updated_on) VALUES (?, ?, strftime('%Y-%m-%d %H:%M:%f', 'now'))",
                (name, value),
            )


@contextmanager
def running_redmine(port: int | None = None, world: Seed = SEED) -> Iterator[RealRedmine]:
    """A started Redmine with a seeded world, on a free port unless one is given."""
    seed = seeded(say, world)
    with TemporaryDirectory(prefix="dogubako-redmine-") as folder:
        instance = Instance(folder=Path(folder))
        instance.prepare()
        instance.fill(seed.database, seed.files)
        told = seed.told()
        keys = told["keys"]
        url = f"http://127.0.0.1:{port or free_ports(1)[0]}"
        log = instance.folder / "puma.log"
        process = instance.start(_server(url), log)
        with ready("Redmine", process, log, lambda: _is_ready(url, keys["admin"]), PATIENCE):
            yield RealRedmine(url=url, pid=process.pid, keys=keys, ids=told["ids"], instance=instance, seed=seed)


def _server(url: str) -> list[str]:
    # One thread: with more of them, SQLite refuses writes that come at the same time.
    return ["puma", "-b", url.replace("http", "tcp"), "-e", "production", "-t", "1:1", str(APP / "config.ru")]


def _is_ready(url: str, key: str) -> bool:
    """Ask who we are: other questions are answered to strangers too, before the key is known to work."""
    try:
        headers = {"X-Redmine-API-Key": key}
        return httpx2.get(f"{url}/users/current.json", headers=headers, timeout=REQUEST_SECONDS).is_success
    except httpx2.TransportError:
        return False


def main() -> int:
    parser = argparse.ArgumentParser(description="Run a real Redmine on loopback until Ctrl-C.")
    parser.add_argument("--port", type=int, help="a free one when not given")
    parser.add_argument("--world", choices=("en", "ja"), default="en", help="which seed")
    asked = parser.parse_args()
    leave_on_signals()
    try:
        with running_redmine(asked.port, SEED_JA if asked.world == "ja" else SEED) as redmine:
            tell_and_wait("Redmine", redmine.pid, {"url": redmine.url, "pid": redmine.pid, "keys": redmine.keys})
    except (InstallError, StartError) as error:
        say(str(error))
    return 1


if __name__ == "__main__":
    sys.exit(main())
