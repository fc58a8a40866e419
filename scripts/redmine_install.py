"""Install Debian's Redmine when it is missing, and fill one with each of our seeds, once, in the user's cache."""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from platformdirs import user_cache_path

from scripts.redmine_instance import Instance

_HERE: Final = Path(__file__).resolve().parent


@dataclass(frozen=True, kw_only=True)
class Seed:
    """A script that fills an empty Redmine, and the language of Redmine's own default data below it."""

    script: Path
    language: str


SEED: Final = Seed(script=_HERE / "redmine_seed.rb", language="en")
# user_format, the language and the time zone are settings of a whole Redmine, so they need a world of their own.
SEED_JA: Final = Seed(script=_HERE / "redmine_seed_ja.rb", language="ja")
PACKAGES: Final = ("redmine", "redmine-sqlite", "puma")
# Debian's package asks these questions; nobody is there to answer them.
ANSWERS: Final = """\
redmine redmine/instances/default/dbconfig-install boolean true
redmine redmine/instances/default/database-type select sqlite3
redmine redmine/default-language select en
"""
INSTALL_SECONDS: Final = 900
SEED_SECONDS: Final = 300

Say = Callable[[str], None]


class InstallError(Exception):
    """Redmine cannot be installed or filled here; the message says what a person can do."""


@dataclass(frozen=True, kw_only=True)
class Seeded:
    """The seeded database and its files. Nobody changes them: a server runs on a copy."""

    home: Path

    @property
    def database(self) -> Path:
        return self.home / "seeded.sqlite3"

    @property
    def files(self) -> Path:
        return self.home / "files"

    def told(self) -> dict[str, Any]:
        """What the seed says of itself: `version`, `keys` by login, and `ids` by kind and name."""
        told: dict[str, Any] = json.loads((self.home / "seed.json").read_text())
        return told


def seeded(say: Say, seed: Seed = SEED) -> Seeded:
    """A seeded world. The first call takes a minute or two; whoever calls meanwhile waits for it."""
    cache = user_cache_path("dogubako")
    cache.mkdir(parents=True, exist_ok=True)
    with _only_one(cache / "redmine.lock", say):
        _install_packages(say)
        home = cache / f"redmine-{_fingerprint(seed.script.read_bytes(), _version('redmine'))}"
        if not home.exists():
            _seed(home, seed, say)
    return Seeded(home=home)


def _fingerprint(seed: bytes, version: str) -> str:
    """Another seed or another Redmine is another world."""
    return hashlib.sha256(seed + b"\0" + version.encode()).hexdigest()[:16]


@contextmanager
def _only_one(path: Path, say: Say) -> Iterator[None]:
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another process prepares Redmine; waiting for it.")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _version(package: str) -> str:
    """The installed version of a Debian package; nothing when it is not installed."""
    command = ["dpkg-query", "-W", "-f=${db:Status-Status} ${Version}", package]
    answer = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    status, _, version = answer.partition(" ")
    return version if status == "installed" else ""


def _install_packages(say: Say) -> None:
    if not all(shutil.which(name) for name in ("dpkg-query", "apt-get")):
        raise InstallError("The real Redmine is Debian's package, and this is no Debian: dpkg and apt-get are missing.")
    missing = [name for name in PACKAGES if not _version(name)]
    if not missing:
        return
    if os.geteuid() != 0:
        command = f"apt-get install --no-install-recommends {' '.join(missing)}"
        raise InstallError(f"{' and '.join(missing)} not installed, and only root may do it: {command}")
    say(f"Installing {', '.join(missing)}: this takes a minute or two.")
    _as_root(["debconf-set-selections"], ANSWERS)
    # Another installation may be under way on this machine.
    wait = ("-o", f"DPkg::Lock::Timeout={INSTALL_SECONDS // 2}")
    _as_root(["apt-get", *wait, "update", "-qq"])
    # With what it recommends, a whole web server would come along.
    _as_root(["apt-get", *wait, "install", "-y", "-qq", "--no-upgrade", "--no-install-recommends", *missing])


def _as_root(command: list[str], text: str = "") -> None:
    quiet: Mapping[str, str] = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        command,
        input=text,
        env=quiet,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise InstallError(f"{' '.join(command)} failed ({done.returncode}):\n{done.stdout[-4000:]}")


def _seed(home: Path, seed: Seed, say: Say) -> None:
    """Migrate, load Redmine's own default data, and run the seed. What is half done never gets its final name."""
    say("Seeding Redmine: this takes a minute.")
    with TemporaryDirectory(prefix="dogubako-redmine-") as folder, TemporaryDirectory(dir=home.parent) as fresh:
        instance = Instance(folder=Path(folder))
        instance.prepare()
        script = shutil.copy(seed.script, instance.folder)
        told = instance.folder / "seed.json"
        instance.hand_over()
        _redmine(instance, "rake", "-s", "db:migrate")
        _redmine(instance, "rake", "-s", "redmine:load_default_data", REDMINE_LANG=seed.language)
        _redmine(instance, "rails", "runner", str(script), SEED_OUT=str(told))
        shutil.copy(instance.database, Path(fresh) / "seeded.sqlite3")
        shutil.copy(told, fresh)
        shutil.copytree(instance.files, Path(fresh) / "files")
        shutil.copytree(fresh, home)


def _redmine(instance: Instance, *command: str, **more: str) -> None:
    log = instance.folder / f"{command[0]}.log"
    code = instance.run(["bundle", "exec", *command], log, SEED_SECONDS, **more)
    if code != 0:
        # Ruby says first what is wrong, and then for a hundred lines where.
        start = log.read_text(errors="replace")[:4000]
        raise InstallError(f"{' '.join(command[:3])} failed ({code}):\n{start}")
