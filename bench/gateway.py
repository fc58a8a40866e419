"""What a call of another server's tool costs through ours: our processor time, beside that of the server itself."""

import json
import sys
import time
from typing import Any, Final

from bench.contenders import Contender, ours_over_stdio
from bench.machine import ROOT, ContenderError, Machine, say
from bench.processes import Process, cpu_per_call, cpu_seconds, piped
from bench.results import Measure

BEHIND: Final = ROOT / "tests" / "gateway" / "fake_server.py"
_CALLS: Final = 1_000
_START_SECONDS: Final = 60.0
_META: Final = "io.modelcontextprotocol/"
_ABILITIES: Final = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {"listChanged": True}}
MOST_MS: Final = 1.0
# The clients that are measured: the revision, and whether it hears progress and can be asked.
CLIENTS: Final = (
    ("a client of 2026-07-28 that hears nothing", "2026-07-28", False),
    ("a client of 2026-07-28 that takes progress and answers questions", "2026-07-28", True),
    ("a client of 2025-11-25 that takes progress and answers questions", "2025-11-25", True),
)


def measure(machine: Machine, rounds: int) -> list[Measure]:
    """Milliseconds of our processor time for each call. The server behind ours uses its own, as without us."""
    found = []
    for client, revision, talks in CLIENTS:
        with piped(machine, _gateway(machine)) as process:
            calls = Calls(process, revision, talks=talks)
            calls.wait_for_tools()
            values = tuple(calls.milliseconds() for _ in range(rounds))
        what = f"a call to a fast stdio server through ours by {client}, processor time that it costs more than direct"
        found.append(Measure(what=what, unit="ms", values=values, at_most=MOST_MS))
        say(f"{found[-1].what}: {found[-1].value:.2f} {found[-1].unit}")
    return found


def _gateway(machine: Machine) -> Contender:
    folder = machine.new_folder("gateway")
    args = json.dumps(["-I", "-S", str(BEHIND), "modern"])
    table = f'[servers.behind]\ncommand = {json.dumps(sys.executable)}\nargs = {args}\npinning = "off"\n'
    (folder / "dogubako.toml").write_text(table)
    ours = ours_over_stdio(machine)
    environment = {**ours.environment, "DOGUBAKO_DATA_DIR": str(folder / "data"), "DOGUBAKO_PACKS": "core"}
    return Contender(name="gateway", command=ours.command[:2], folder=folder, environment=environment)


class Calls:
    """One conversation over stdio."""

    tool = "echo"

    def __init__(self, process: Process, revision: str, *, talks: bool) -> None:
        self._process = process
        self._next_id = 0
        self._talks = talks
        self._meta: dict[str, Any] = {}
        client = {"name": "bench", "version": "1"}
        abilities = _ABILITIES if talks else {}
        if revision == "2026-07-28":
            self._meta = {
                f"{_META}protocolVersion": revision,
                f"{_META}clientInfo": client,
                f"{_META}clientCapabilities": abilities,
            }
            return
        params = {"protocolVersion": revision, "capabilities": abilities, "clientInfo": client}
        if "result" not in self.ask("initialize", params):
            raise ContenderError("the gateway refused the handshake")
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def wait_for_tools(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not self._is_echoed():
            if time.monotonic() > deadline:
                raise ContenderError("the server behind the gateway did not start")
            time.sleep(0.1)

    def milliseconds(self, calls: int = _CALLS) -> float:
        before = cpu_seconds(self._process)
        for _ in range(calls):
            if not self._is_echoed():
                raise ContenderError("the gateway answered something else")
        used = cpu_per_call(self._process, before, calls)
        return 0.0 if used is None else used / 1000

    def _is_echoed(self) -> bool:
        answer = self.ask("tools/call", {"name": self.tool, "arguments": {"text": "hello"}})
        content = answer.get("result", {}).get("content") or [{}]
        return bool(content[0].get("text") == "hello")

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._next_id += 1
        meta = {**self._meta, **({"progressToken": self._next_id} if self._talks and method == "tools/call" else {})}
        sent = {**params, "_meta": meta} if meta else params
        self._send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": sent})
        return self._receive(self._next_id)

    def _receive(self, request: int) -> dict[str, Any]:
        assert self._process.stdout is not None
        while True:
            if not (line := self._process.stdout.readline()):
                raise ContenderError("the gateway ended")
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == request and "method" not in answer:
                return answer

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
