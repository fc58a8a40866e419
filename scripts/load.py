"""`make load`: many clients at once on this machine, some of which vanish; then a stop in the middle.

Nothing may fail that was not asked to fail, memory must stay flat, and every answered call must be in the audit log.
Linux only: how much memory the server has is read from /proc.
"""

import argparse
import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dogubako.gate.api_keys import KeyStore
from dogubako.gate.audit import read_line
from scripts.load_visitors import Tally, Visitor

ROOT: Final = Path(__file__).resolve().parent.parent
_KEYS: Final = 8
_START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 30.0
_FLAT: Final = 0.10
_LISTENING = re.compile(r"Listening url=http://127\.0\.0\.1:(\d+)")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How many, how long, how fast."""

    connections: int = 256
    seconds: float = 60.0
    warm_up: float = 20.0
    # What two cores bear that also run the clients; beyond that the server says, as it should, that it is busy.
    rate: float = 150.0
    vanishing: float = 0.05

    @property
    def pause(self) -> float:
        return self.connections / self.rate


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What was seen, and what of it must not be."""

    tally: Tally
    memory: list[int]
    # Nothing, if the server did not stop in time.
    exit_code: int | None
    recorded: Counter[tuple[str, str]]
    damaged: int

    @property
    def growth(self) -> float:
        """How much more memory the last quarter has than the first, after the warm-up."""
        quarter = max(1, len(self.memory) // 4)
        return median(self.memory[-quarter:]) / median(self.memory[:quarter]) - 1

    def percentile(self, share: float) -> float:
        """Milliseconds."""
        ordered = sorted(self.tally.seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000

    def failures(self) -> list[str]:
        found = [f"not asked for: {what} ({count} times)" for what, count in self.tally.surprises.items()]
        if abs(self.growth) > _FLAT:
            found.append(f"memory is not flat: {self.growth:+.0%}")
        if self.exit_code is None:
            found.append(f"the server did not stop within {_STOP_SECONDS:g} s")
        elif self.exit_code != 0:
            found.append(f"the server ended with code {self.exit_code}")
        missing = {key: count - self.recorded[key] for key, count in self.tally.answered.items()}
        found += [
            f"{count} answered calls of {key} are not in the audit log" for key, count in missing.items() if count > 0
        ]
        # What vanished or got no answer was recorded too, as finished or as cancelled, unless it never arrived.
        extra = self.recorded.total() - self.tally.answered.total()
        if extra > self.tally.vanished + self.tally.unanswered or self.damaged:
            found.append(f"{extra} lines too many, {self.damaged} damaged")
        return found


async def measure(plan: Plan) -> Outcome:
    """One server under load, stopped while the load goes on."""
    with TemporaryDirectory(prefix="dogubako-load-") as name, serving(Path(name)) as (process, port, keys):
        tally, memory = Tally(), list[int]()
        until = time.monotonic() + plan.seconds + 10
        visitors = [Visitor(port, keys[number % _KEYS], number, tally) for number in range(plan.connections)]
        running = [asyncio.create_task(one.run(until, plan.pause, plan.vanishing)) for one in visitors]
        await asyncio.sleep(plan.warm_up)
        tally.seconds.clear()
        for _ in range(max(1, int(plan.seconds - plan.warm_up))):
            await asyncio.sleep(1)
            memory.append(resident_bytes(process.pid))
        tally.stopping = True
        process.send_signal(signal.SIGTERM)
        await asyncio.gather(*running)
        exit_code = await asyncio.to_thread(exit_code_of, process)
        recorded, damaged = read_audit(Path(name) / "data" / "audit.jsonl")
        return Outcome(tally=tally, memory=memory, exit_code=exit_code, recorded=recorded, damaged=damaged)


@contextmanager
def serving(folder: Path) -> Iterator[tuple["subprocess.Popen[bytes]", int, list[str]]]:
    """Our server with keys, an audit log and the sandbox's services, its port, and some keys."""
    store = KeyStore(folder / "data")
    keys = [store.create(f"caller {number}", ["admin"])[0] for number in range(_KEYS)]
    own = {"DOGUBAKO_AUTH": "keys", "DOGUBAKO_DATA_DIR": str(folder / "data"), "LOG_DIR": str(folder / "logs")}
    words = [sys.executable, "-m", "dogubako", "serve", "--port", "0", "--sandbox"]
    words += ["--tools", str(ROOT / "examples/workbench.py")]
    with (folder / "stderr").open("wb") as errors:
        kept = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME")}
        process = subprocess.Popen(words, cwd=folder, env={**kept, **own}, stdout=errors, stderr=errors)
        try:
            yield process, _port(process, folder / "stderr"), keys
        finally:
            process.kill()
            process.wait()


def _port(process: "subprocess.Popen[bytes]", said: Path) -> int:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if (found := _LISTENING.search(said.read_text(errors="replace"))) is not None:
            return int(found[1])
        time.sleep(0.05)
    sys.exit(f"the server did not start:\n{said.read_text(errors='replace')}")


def exit_code_of(process: "subprocess.Popen[bytes]", seconds: float = _STOP_SECONDS) -> int | None:
    """How it ended; nothing, if it does not end in time."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def resident_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


def read_audit(path: Path) -> tuple[Counter[tuple[str, str]], int]:
    recorded: Counter[tuple[str, str]] = Counter()
    damaged = 0
    for raw in path.read_bytes().splitlines():
        line = read_line(raw)
        if line is None:
            damaged += 1
        elif not line.started:
            recorded[line.tool, line.code] += 1
    return recorded, damaged


def planned(words: Sequence[str]) -> Plan:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=Plan.connections)
    parser.add_argument("--seconds", type=float, default=Plan.seconds)
    parser.add_argument("--warm-up", type=float, default=Plan.warm_up)
    parser.add_argument("--rate", type=float, default=Plan.rate, help="calls per second of all together")
    plan = Plan(**vars(parser.parse_args(words)))
    if plan.warm_up >= plan.seconds:
        parser.error("--warm-up must be shorter than --seconds")
    return plan


def main() -> None:
    plan = planned(sys.argv[1:])
    outcome = asyncio.run(measure(plan))
    tally, calls = outcome.tally, outcome.tally.answered.total()
    print(f"{plan.connections} connections, {plan.seconds:g} s: {calls:,} calls answered, {tally.vanished:,} vanished")
    print(f"p50 {outcome.percentile(0.5):.1f} ms, p99 {outcome.percentile(0.99):.1f} ms (after the warm-up)")
    print(f"memory {median(outcome.memory) / 1e6:.1f} MB, {outcome.growth:+.1%} from first to last quarter")
    for (name, code), count in sorted(tally.answered.items()):
        print(f"  {name} {code}: {count:,}")
    print(f"audit lines: {outcome.recorded.total():,}; unanswered at the stop: {tally.unanswered}")
    if failures := outcome.failures():
        sys.exit("\n".join(failures))
    print("ok")


if __name__ == "__main__":
    main()
