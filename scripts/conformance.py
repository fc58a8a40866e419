"""Run the official MCP conformance suite and the MCP inspector against our server. Nothing less than all is a pass.

What the suite and our servers said is kept in build/conformance/. With `--url`, the suite runs against a server that
somebody else started with the tools of the suite, or against several behind one address.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from platformdirs import user_cache_path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
LOCKED = ROOT / "scripts" / "node_tools"
OUT = ROOT / "build" / "conformance"
GIVEN = OUT / "given"
SUITE_PACK = ROOT / "tests" / "conformance" / "pack.py"
LEGACY_ONLY = ROOT / "tests" / "conformance" / "legacy_only.py"
CLIENT = ROOT / "scripts" / "conformance_client.py"
WORKBENCH = ROOT / "examples" / "workbench.py"

# How many scenarios each revision scores. A suite that runs fewer proves less.
REQUIRED = {"2025-11-25": 30, "2026-07-28": 37}
REQUIRED_OF_CLIENTS = 32
MODERN = "2026-07-28"
# The scenarios of the tasks extension, which no revision scores. The suite itself skips `tasks-status-notifications`;
# tests/tasks has a test for that.
TASKS = (
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
    "tasks-required-task-error",
    "tasks-mrtr-composition",
)

# What the inspector is asked in each era of the protocol, and what its answer must hold.
ERAS = ("legacy", "modern")
QUESTIONS = {
    "tools/list --strict": [f'"name":"{name}"' for name in ("ask", "big", "echo", "fail", "picture", "slow")],
    "tools/call --tool-name echo --tool-arg text=道具箱": ['{"type":"text","text":"道具箱"}'],
}

PATH = f"{BIN}{os.pathsep}{os.environ['PATH']}"
RUN_SECONDS = 600
CLIENT_SECONDS = 500
START_SECONDS = 30
STOP_SECONDS = 30

SCENARIO = re.compile(r"^[✓✗] (\S+): \d+ passed, \d+ failed(?:, \d+ warnings?)?$", re.MULTILINE)
NOT_SCORED = re.compile(r"^  [✓✗] (\S+) \(\S+\)$", re.MULTILINE)


class Score:
    """What held and what did not; a failure is told at once, with its reason."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0

    def add(self, subject: str, problems: Mapping[str, str | None]) -> None:
        """Count checks by name; the ones without a problem have passed."""
        bad = {name: problem for name, problem in problems.items() if problem is not None}
        self.failed += len(bad)
        self.passed += len(problems) - len(bad)
        for name, problem in bad.items():
            print(f"FAILED {subject}: {name}: {problem}")
        print(f"{subject}: {len(problems) - len(bad)}/{len(problems)} passed", flush=True)


def main() -> int:
    """Run everything, even after a failure: one run should show all that is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="a server that runs already, such as http://localhost:3000/mcp")
    if (url := parser.parse_args().url) is not None:
        return check_given(url)
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    score = Score()
    tools = install_node_tools()
    with server(SUITE_PACK, score) as url:
        for revision, required in REQUIRED.items():
            score.add(f"conformance {revision}", run_suite(tools, url, revision, required))
        score.add("conformance of the tasks extension", run_tasks(tools, url))
    for revision, required in REQUIRED.items():
        with gateway(revision, score) as url:
            problems = run_suite(tools, url, revision, required, OUT / f"gateway-{revision}")
            score.add(f"conformance {revision} through the gateway", problems)
    score.add("conformance of the client, 2026-07-28", run_client_suite(tools, "2026-07-28"))
    with server(WORKBENCH, score) as url:
        score.add("inspector over HTTP", inspect(tools, ["--", url]))
    # The log of a server on stdio is on the inspector's stderr, where we look for complaints.
    started = ["-e", "LOG_LEVEL=warn", "--", str(BIN / "dogubako"), "stdio", "--tools", str(WORKBENCH)]
    score.add("inspector over stdio", inspect(tools, started))
    print(f"{score.passed} passed, {score.failed} failed")
    return 1 if score.failed else 0


def check_given(url: str) -> int:
    """Run the suite of every revision against a server that runs already."""
    score = Score()
    shutil.rmtree(GIVEN, ignore_errors=True)
    GIVEN.mkdir(parents=True)
    tools = install_node_tools()
    for revision, required in REQUIRED.items():
        score.add(f"conformance {revision}", run_suite(tools, url, revision, required, GIVEN / revision))
    print(f"{score.passed} passed, {score.failed} failed")
    return 1 if score.failed else 0


def install_node_tools() -> Path:
    """The programs of the locked Node packages, installed once per lock file, outside the checkout."""
    if not (BIN / "npm").exists():
        sys.exit("npm is missing from .venv/bin. It comes with requirements-dev.lock: run `make conformance`.")
    digest = hashlib.sha256((LOCKED / "package-lock.json").read_bytes()).hexdigest()[:16]
    home = user_cache_path("dogubako") / f"node-{digest}"
    installed = home / "installed"
    if not installed.exists():
        print(f"Installing Node packages into {home}", flush=True)
        home.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(LOCKED / name, home)
        done = run_node("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=home)
        if done.returncode:
            sys.exit(f"The Node packages could not be installed.\n{done.stderr}")
        installed.touch()
    return home / "node_modules" / ".bin"


def run_node(*command: str, cwd: Path = OUT) -> "subprocess.CompletedProcess[str]":
    """Run a program with the Node of this virtual environment; the machine's own may be too old."""
    full = [str(BIN / command[0]), *command[1:]]
    environment = {**os.environ, "PATH": PATH, "MCP_STORAGE_DIR": str(OUT / "inspector")}
    return subprocess.run(
        full, cwd=cwd, env=environment, capture_output=True, text=True, timeout=RUN_SECONDS, check=False
    )


@contextmanager
def server(pack: Path, score: Score) -> Iterator[str]:
    """Our server with one file of tools."""
    with running(["--tools", str(pack)], OUT, f"server with {pack.name}", score) as url:
        yield url


@contextmanager
def gateway(revision: str, score: Score) -> Iterator[str]:
    """Our server before another one that speaks this revision: our own, with the tools of the suite."""
    folder = OUT / f"behind-{revision}"
    folder.mkdir()
    behind = [str(BIN / "dogubako"), "stdio", "--tools", str(SUITE_PACK)]
    if revision < MODERN:
        behind = [sys.executable, str(LEGACY_ONLY), *behind]
    # A folder of its own: in this one it would find the settings of the gateway.
    own = folder / "behind"
    own.mkdir()
    table = {"command": behind[0], "args": behind[1:], "pinning": "off", "cwd": str(own), "env": {"LOG_DIR": str(own)}}
    (folder / "dogubako.toml").write_text(f"[servers]\nsuite = {toml_of(table)}\n")
    with running([], folder, f"gateway for {revision}", score) as url:
        wait_for_tools(url)
        yield url


def toml_of(table: Mapping[str, object]) -> str:
    """An inline table of TOML. JSON writes its strings and lists in the same way."""
    pairs = [f"{key} = {toml_of(one) if isinstance(one, Mapping) else json.dumps(one)}" for key, one in table.items()]
    return f"{{{', '.join(pairs)}}}"


@contextmanager
def running(words: list[str], folder: Path, name: str, score: Score) -> Iterator[str]:
    """A server of ours. However the checks end, it is stopped, and it must stop well."""
    port = free_port()
    command = [str(BIN / "dogubako"), "serve", *words, "--port", str(port)]
    # Neither the environment nor a settings file of the person who runs this may change what is measured.
    environment = {"PATH": PATH, "LOG_DIR": str(OUT / "logs"), "DOGUBAKO_DATA_DIR": str(folder / "data")}
    with (OUT / f"{name.replace(' ', '-')}.log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        wait_until_healthy(process, port)
        yield f"http://localhost:{port}/mcp"
    finally:
        score.add(name, {"stops when asked to": stop(process)})


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def wait_until_healthy(process: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=1):
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.1)
    raise SystemExit(f"The server did not start; its log is in {OUT}.")


def wait_for_tools(url: str) -> None:
    """Wait until the tools of the server behind ours are served."""
    address = url.replace("/mcp", "/v1/tools/test_simple_text")
    deadline = time.monotonic() + RUN_SECONDS
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.1)
    raise SystemExit(f"The server behind ours did not start; the log is in {OUT}.")


def stop(process: "subprocess.Popen[bytes]") -> str | None:
    """End the server with SIGTERM. What was wrong with that, if anything."""
    process.terminate()
    try:
        code = process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return f"it still ran {STOP_SECONDS} s after SIGTERM"
    return f"exit code {code}" if code else None


def run_suite(tools: Path, url: str, revision: str, required: int, folder: Path | None = None) -> dict[str, str | None]:
    """The scenarios that one revision scores, and what was wrong with each."""
    folder = folder or OUT / revision
    return scored_by(tools, folder, ["server", "--url", url, "--requirements", revision], required, "server-")


def run_tasks(tools: Path, url: str) -> dict[str, str | None]:
    """The scenarios of the tasks extension, one by one."""
    folder = OUT / "tasks"
    problems = {}
    for name in TASKS:
        words = ["server", "--url", url, "--spec-version", MODERN, "--force", "--scenario", name, "-o", str(folder)]
        done = run_node("node", str(tools / "conformance"), *words)
        (OUT / f"{name}.txt").write_text(done.stdout + done.stderr)
        problems[name] = problem_in(folder, f"server-{name}")
    return problems


def run_client_suite(tools: Path, revision: str) -> dict[str, str | None]:
    """The scenarios for clients, on our connection to other servers."""
    client = f"{sys.executable} {CLIENT}"
    words = ["client", "--command", client, "--requirements", revision, "--timeout", str(CLIENT_SECONDS * 1000)]
    return scored_by(tools, OUT / f"client-{revision}", words, REQUIRED_OF_CLIENTS, "")


def scored_by(tools: Path, folder: Path, words: list[str], required: int, prefix: str) -> dict[str, str | None]:
    """Run the suite, and read what was wrong with each scenario that it scored."""
    done = run_node("node", str(tools / "conformance"), *words, "-o", str(folder))
    folder.mkdir(exist_ok=True)
    (folder / "output.txt").write_text(done.stdout + done.stderr)
    scored = [name for name in SCENARIO.findall(done.stdout) if name not in NOT_SCORED.findall(done.stdout)]
    problems = {name: problem_in(folder, f"{prefix}{name}") for name in scored}
    if len(scored) != required or (done.returncode and not any(problems.values())):
        problems["the run"] = f"{len(scored)} of {required} scenarios were scored, exit code {done.returncode}"
    return problems


def problem_in(folder: Path, scenario: str) -> str | None:
    """What the suite's own record of a scenario complains of. The suite lets warnings pass; we do not."""
    records = list(folder.glob(f"{scenario}-20??-??-??T*/checks.json"))
    checks = [check for record in records for check in json.loads(record.read_text())]
    wrong = [one for one in checks if one["status"] in ("FAILURE", "WARNING")]
    if folder.name.startswith("gateway-") or folder.parent == GIVEN:
        # The suite says that a list changed when it did not; a gateway compares, and tells nobody. Behind one address,
        # a tool of the suite comes and goes in one of several processes, and who listens at another one is not told.
        wrong = [one for one in wrong if not (one["status"] == "WARNING" and "list-changed" in one["id"])]
    bad = [f"{one['id']}: {one.get('errorMessage')}" for one in wrong]
    if not any(one["status"] == "SUCCESS" for one in checks):
        bad.append("nothing succeeded")
    return "; ".join(bad) or None


def inspect(tools: Path, target: list[str]) -> dict[str, str | None]:
    """The inspector lists our tools and calls one; a word on stderr is a complaint."""
    problems: dict[str, str | None] = {}
    for era in ERAS:
        for question, wanted in QUESTIONS.items():
            how = ["--cli", "--format", "json", "--protocol-era", era, "--method", *question.split()]
            done = run_node("node", str(tools / "mcp-inspector"), *how, *target)
            good = not done.returncode and not done.stderr.strip() and all(part in done.stdout for part in wanted)
            answer = f"exit code {done.returncode}: {done.stderr}{done.stdout[:500]}"
            problems[f"{question} ({era})"] = None if good else answer
    return problems


if __name__ == "__main__":
    sys.exit(main())
