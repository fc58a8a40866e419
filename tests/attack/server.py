"""A real server to attack, with a tool that tells how the event loop and the memory are."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx2

from tests.doors.processes import PATIENCE, ROOT, WORKBENCH, Command, serving
from tests.heartbeat import MOST_SECONDS, TRIES

from .conftest import Tally

HEARTBEAT: Final = Path(__file__).with_name("heartbeat_pack.py")


class Target:
    """One running server, and a client of it."""

    def __init__(self, command: Command) -> None:
        self.command = command
        self.url = command.url()
        self.http = httpx2.Client(base_url=self.url, timeout=PATIENCE, trust_env=False)

    def call(self, name: str, **parameters: object) -> httpx2.Response:
        return self.http.post("/v1/tools/call", json={"name": name, "parameters": parameters})

    def heartbeat(self) -> tuple[float, float]:
        """The longest stall since the last look in seconds, and the resident memory in megabytes."""
        measured = self.call("heartbeat").json()["result"]["data"]
        return measured["stall_ms"] / 1000, measured["rss_mb"]

    def check_loop(self, tally: Tally, what: str, again: Callable[[], object]) -> None:
        """Count a failure if the loop stood still since the last look, and each time that it is tried again.

        `again` repeats what was done. See `tests.heartbeat.TRIES` for the reason.
        """
        stall, _ = self.heartbeat()
        for _ in range(TRIES - 1):
            if stall <= MOST_SECONDS:
                break
            again()
            stall = min(stall, self.heartbeat()[0])
        tally.check_stall(stall, what)


@contextmanager
def target(
    *tools: Path,
    folder: Path,
    words: Sequence[str] = ("--sandbox",),
    settings: Mapping[str, str] | None = None,
    open_files: int | None = None,
) -> Iterator[Target]:
    """`dogubako serve` with the workbench, the heartbeat and these tools."""
    own = {"PYTHONPATH": str(ROOT), **(settings or {})}
    with serving(
        WORKBENCH, HEARTBEAT, *tools, folder=folder, words=words, settings=own, open_files=open_files
    ) as command:
        aim = Target(command)
        with aim.http:
            yield aim
