"""A Redmine of our own beside Debian's: one folder with configuration, database and files, and commands run in it."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypedDict

APP: Final = Path("/usr/share/redmine")

# Root starts nothing of Redmine as root.
SERVICE_USER: Final = "www-data"


class AsWhom(TypedDict, total=False):
    user: str
    group: str
    extra_groups: list[str]


@dataclass(frozen=True, kw_only=True)
class Instance:
    """A folder in which Redmine finds everything that it reads and writes; Debian's own folders stay untouched."""

    folder: Path

    @property
    def database(self) -> Path:
        return self.folder / "redmine.sqlite3"

    @property
    def files(self) -> Path:
        return self.folder / "files"

    def prepare(self) -> None:
        for part in ("config", "log", "files", "tmp", "public/plugin_assets"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        (self.folder / "config" / "database.yml").write_text(
            f"production:\n  adapter: sqlite3\n  database: {self.database}\n  encoding: utf8\n  timeout: 10000\n"
        )
        (self.folder / "config" / "secret_key.txt").write_text("only-for-tests-" * 4)
        self.hand_over()

    def hand_over(self) -> None:
        """Give the folder to the user that Redmine runs as."""
        if os.geteuid() == 0:
            for path in (self.folder, *self.folder.rglob("*")):
                shutil.chown(path, SERVICE_USER, SERVICE_USER)

    def fill(self, database: Path, files: Path) -> None:
        """Take over another database and its files. A server that runs on this instance may go on running."""
        with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(self.database)) as target:
            source.backup(target)
            # Redmine reads its settings again when one of them is newer than what it remembers.
            target.execute("UPDATE settings SET updated_on = strftime('%Y-%m-%d %H:%M:%f', 'now')")
            target.commit()
        shutil.rmtree(self.files, ignore_errors=True)
        shutil.copytree(files, self.files)
        self.hand_over()

    def run(self, command: Sequence[str], log: Path, seconds: float, **more: str) -> int:
        """Run one of Redmine's own commands to its end, and return its exit code."""
        with log.open("ab") as output:
            environment = {**self._environment(), **more}
            return subprocess.run(
                command,
                cwd=APP,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=seconds,
                check=False,
                **_as_whom(),
            ).returncode

    def start(self, command: Sequence[str], log: Path) -> "subprocess.Popen[bytes]":
        with log.open("ab") as output:
            # A session of its own: Ctrl-C in the terminal is for us, and we stop the server in good order.
            return subprocess.Popen(
                command,
                cwd=APP,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                **_as_whom(),
            )

    def _environment(self) -> Mapping[str, str]:
        """Everything Redmine gets to see. What the person's own environment says must not change a test."""
        return {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "RAILS_ENV": "production",
            "BUNDLE_GEMFILE": str(APP / "Gemfile"),
            # A migration writes down the schema, in a folder that is not ours.
            "SCHEMA": "/dev/null",
            # Debian takes this as a name under /usr/share/redmine/instances; the dots lead out of there.
            "REDMINE_INSTANCE": f"../../../..{self.folder}",
        }


def _as_whom() -> AsWhom:
    if os.geteuid() != 0:
        return {}
    return {"user": SERVICE_USER, "group": SERVICE_USER, "extra_groups": []}
