"""Where the measuring happens: two cores, a scratch folder, a clean environment."""

import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "bench"
PEERS = SHARED / "peers"
VENV_BIN = Path(sys.executable).parent


class MissingError(Exception):
    """Something that a person can install is not there; the message says what and how."""


class ContenderError(Exception):
    """A contender did not start, or did not answer as it should."""


def say(text: str) -> None:
    """A progress line for whoever waits; stdout is for the result."""
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A core for servers and one for load, and a folder for logs and scripts that is gone afterwards."""

    scratch: Path
    cores: tuple[int, int] | None

    def on_server_core(self, command: Sequence[str]) -> list[str]:
        return ["taskset", "-c", str(self.cores[0]), *command] if self.cores else list(command)

    def on_load_core(self, command: Sequence[str]) -> list[str]:
        return ["taskset", "-c", str(self.cores[1]), *command] if self.cores else list(command)

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """The same few variables for everybody: a setting of the person who measures must not help or hinder."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "LC_ALL") if name in os.environ}
        # Nobody writes next to the peers, and everybody reads bytecode that a discarded run has written.
        kept["PYTHONPYCACHEPREFIX"] = str(self.scratch / "bytecode")
        return kept | dict(extra or {})

    def new_folder(self, purpose: str) -> Path:
        return Path(tempfile.mkdtemp(prefix=f"{purpose}-", dir=self.scratch))


@contextmanager
def prepared() -> Iterator[Machine]:
    """Load must not take time from the server that it measures, where the system allows to keep them apart."""
    allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    pinned = len(allowed) >= 2 and shutil.which("taskset") is not None
    if not pinned:
        say("Not pinned: that takes two cores and taskset (Debian: util-linux). Ratios will be noisier.")
    with tempfile.TemporaryDirectory(prefix="dogubako-bench-") as scratch:
        yield Machine(scratch=Path(scratch), cores=(allowed[0], allowed[1]) if pinned else None)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
