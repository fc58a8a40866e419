"""Run every workflow of the sandbox on a real n8n and keep what it answered, in src/dogubako_sandbox/n8n/recordings/.

A recording has the name of its workflow; where one workflow shows several states, more words follow. `o-no-trigger`
cannot run and has none; `q-sub` is among the children of `q-parent`.
"""

import json
import os
import re
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2

# Run as a file, Python looks beside it, not where `scripts` is.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dogubako_sandbox.n8n.workflows import MANUAL_TRIGGER, WORKFLOWS
from scripts.n8n_install import NODE_HOME, Installation, install
from scripts.real_n8n import RealN8n, running

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "src" / "dogubako_sandbox" / "n8n" / "recordings"
LARGEST_TOTAL = 700_000
WAIT_SECONDS = 60

# Not run to its end, in several states, or too large to keep: these have their own lines in `_record_states`.
SPECIAL = ("g-10000", "h-wait", "l-slow")
ENDED = frozenset({"success", "error", "canceled", "crashed"})
# Far below the 2 MB of `g-10000`, far above all others.
DISPLAY_LIMIT = {"EXECUTIONS_DATA_MAX_DISPLAY_SIZE": "1000000"}

Json = dict[str, Any]


class Api:
    """The public API of one n8n, as far as recording needs it. What goes wrong is raised."""

    def __init__(self, n8n: RealN8n) -> None:
        self.n8n = n8n
        self.http = httpx2.Client(base_url=n8n.url, timeout=WAIT_SECONDS)

    def ask(self, method: str, path: str, body: object = None, **query: str) -> Any:
        headers = {"X-N8N-API-KEY": self.n8n.api_key}
        answer = self.http.request(method, f"/api/v1{path}", json=body, params=query, headers=headers)
        if not answer.is_success:
            raise RuntimeError(f"{method} {path} answered {answer.status_code}: {answer.text[:500]}")
        return answer.json()

    def execution(self, execution_id: str, **query: str) -> Json:
        found: Json = self.ask("GET", f"/executions/{execution_id}", includeData="true", **query)
        return found

    def call_webhook(self, path: str) -> httpx2.Response:
        """Publishing ends before the webhook is there: a 404 is asked again for a while."""
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            answer = self.http.post(f"/webhook/{path}", json={"from": "dogubako"})
            if answer.status_code != httpx2.codes.NOT_FOUND or time.monotonic() > deadline:
                return answer
            time.sleep(0.1)

    def wait_for(self, execution_id: str, statuses: frozenset[str]) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while (status := self.ask("GET", f"/executions/{execution_id}")["status"]) not in statuses:
            if time.monotonic() > deadline:
                raise RuntimeError(f"Execution {execution_id} is still {status}")
            time.sleep(0.1)

    def newest(self, workflow_id: str, known: set[str]) -> str:
        """The id of an execution of this workflow that was not known before."""
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            # Without a status, n8n leaves out what still runs.
            for query in ({}, {"status": "running"}):
                found = self.ask("GET", "/executions", workflowId=workflow_id, **query)["data"]
                new = [one["id"] for one in found if one["id"] not in known]
                if new:
                    return str(new[0])
            time.sleep(0.1)
        raise RuntimeError(f"Workflow {workflow_id} has no new execution")


def seed(api: Api) -> dict[str, str]:
    """Create all workflows and publish those that can be; their ids by key."""
    ids: dict[str, str] = {}
    for key, workflow in WORKFLOWS.items():
        body = workflow.body_calling(ids[workflow.calls]) if workflow.calls else workflow.body
        ids[key] = api.ask("POST", "/workflows", body)["id"]
        if workflow.published:
            api.ask("POST", f"/workflows/{ids[key]}/publish", {})
    return ids


class Recorder:
    """Collects recordings from one n8n."""

    def __init__(self, api: Api, ids: Mapping[str, str]) -> None:
        self.api = api
        self.ids = ids
        self.known: set[str] = set()
        self.recordings: dict[str, Json] = {}

    def run(self, key: str, statuses: frozenset[str] = ENDED) -> tuple[Json, str]:
        """Call a workflow's webhook; what it answered, and the execution's id once that is in one of these states."""
        answer = self.api.call_webhook(key)
        execution_id = self.api.newest(self.ids[key], self.known)
        self.known.add(execution_id)
        self.api.wait_for(execution_id, statuses)
        return {"status": answer.status_code, "body": _body_of(answer)}, execution_id

    def keep(self, name: str, workflow: str, webhook: Json | None, execution_id: str, **query: str) -> None:
        execution = self.api.execution(execution_id, **query)
        children = [self.api.execution(child) for child in _children_of(execution)]
        self.recordings[name] = {
            "key": name,
            "workflow": workflow,
            "webhook": webhook,
            "execution": execution,
            "children": children,
        }
        _say(f"{name}: {execution['status']}")


def _body_of(answer: httpx2.Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        return answer.text


def _children_of(execution: Json) -> list[str]:
    runs = [run for runs in execution["data"]["resultData"]["runData"].values() for run in runs]
    calls = [run.get("metadata", {}).get("subExecution") for run in runs]
    return [call["executionId"] for call in calls if call]


def _record_runs(recorder: Recorder) -> None:
    """One run of each workflow that has a webhook and an end."""
    for key, workflow in WORKFLOWS.items():
        if workflow.webhook_path and key not in SPECIAL:
            recorder.keep(key, key, *recorder.run(key))


def _record_states(recorder: Recorder) -> None:
    api = recorder.api
    recorder.keep("a-success-100-redacted", "a-success-100", *recorder.run("a-success-100"), redactExecutionData="true")
    recorder.keep("h-wait", "h-wait", *recorder.run("h-wait", frozenset({"waiting"})))
    _record_canceled(recorder, "h-wait-canceled", "h-wait", "waiting")
    _record_resumed(recorder)
    _record_canceled(recorder, "l-slow-canceled", "l-slow", "running")
    recorder.keep("l-slow-running", "l-slow", *recorder.run("l-slow", frozenset({"running"})))
    failed = recorder.recordings["b1-http-econnrefused"]["execution"]["id"]
    retried = api.ask("POST", f"/executions/{failed}/retry", {"loadWorkflow": True})["id"]
    recorder.keep("b1-http-econnrefused-retried", "b1-http-econnrefused", None, str(retried))
    manual = api.n8n.run_manually(recorder.ids["r-manual"], MANUAL_TRIGGER)
    api.wait_for(manual, ENDED)
    recorder.keep("r-manual", "r-manual", None, manual)


def _record_canceled(recorder: Recorder, name: str, key: str, status: str) -> None:
    webhook, execution_id = recorder.run(key, frozenset({status}))
    recorder.api.ask("POST", f"/executions/{execution_id}/stop", {})
    recorder.api.wait_for(execution_id, frozenset({"canceled"}))
    recorder.keep(name, key, webhook, execution_id)


def _record_resumed(recorder: Recorder) -> None:
    webhook, execution_id = recorder.run("h-wait", frozenset({"waiting"}))
    wait = recorder.api.execution(execution_id)["data"]["resultData"]["runData"]["Wait"][0]
    recorder.api.http.get(wait["metadata"]["resumeUrl"]).raise_for_status()
    recorder.api.wait_for(execution_id, ENDED)
    recorder.keep("h-wait-resumed", "h-wait", webhook, execution_id)


def record(installation: Installation, folder: Path) -> dict[str, str]:
    """All recordings as text, by name. The server is killed once, because a crash cannot be asked for."""
    with running(installation, folder=folder) as n8n:
        api = Api(n8n)
        recorder = Recorder(api, seed(api))
        _record_runs(recorder)
        _record_states(recorder)
        too_large = recorder.run("g-10000")
        crashing = recorder.run("l-slow", frozenset({"running"}))
        os.kill(n8n.pid, signal.SIGKILL)
    with running(installation, folder=folder, settings=DISPLAY_LIMIT) as again:
        recorder.api = Api(again)
        recorder.api.wait_for(crashing[1], frozenset({"crashed"}))
        recorder.keep("l-slow-crashed", "l-slow", *crashing)
        recorder.keep("g-10000-oversized", "g-10000", *too_large)
    return {name: _without_places(one, installation, folder) for name, one in recorder.recordings.items()}


def _without_places(recording: Json, installation: Installation, folder: Path) -> str:
    """Compact JSON in which n8n lives where its own image has it, not on this machine."""
    text = json.dumps(recording, ensure_ascii=False, separators=(",", ":"))
    for place, neutral in ((installation.home, "/opt/n8n"), (NODE_HOME, "/opt/node"), (folder, "/var/lib/n8n")):
        text = text.replace(str(place), neutral)
    text = re.sub(r"127\.0\.0\.1:\d{4,5}", "127.0.0.1:5678", text)
    if str(ROOT) in text or str(Path.home()) in text:
        raise RuntimeError(f"A path of this machine is in the recording {recording['key']}")
    return text


def main() -> int:
    with TemporaryDirectory(prefix="dogubako-n8n-") as folder:
        recordings = record(install(_say), Path(folder))
    total = sum(len(text.encode()) for text in recordings.values())
    if total > LARGEST_TOTAL:
        _say(f"{total:,} bytes are too many to keep; nothing was written.")
        return 1
    OUT.mkdir(exist_ok=True)
    for old in OUT.glob("*.json"):
        old.unlink()
    for name, text in recordings.items():
        (OUT / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    _say(f"Wrote {len(recordings)} recordings, {total:,} bytes.")
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
