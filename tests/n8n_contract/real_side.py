"""A real n8n in which every kind of execution has happened."""

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from dogubako_sandbox.n8n.workflows import MANUAL_TRIGGER, WORKFLOWS
from scripts.n8n_install import install
from scripts.real_n8n import running
from scripts.record_n8n import DISPLAY_LIMIT, ENDED, SPECIAL, Api, Recorder, seed

WAITING, RUNNING, CANCELED, CRASHED = (frozenset({word}) for word in ("waiting", "running", "canceled", "crashed"))


@dataclass(frozen=True, kw_only=True)
class Server:
    """Where a real n8n is, and what is in it. One that somebody else gave us is only looked at."""

    url: str
    api_key: str
    workflows: Mapping[str, str]
    executions: Mapping[str, str]
    installation: str = ""
    mcp_token: str = ""


@contextmanager
def server_with_everything() -> Iterator[Server]:
    """Killed once, because a crash cannot be asked for; then with a display limit, to have something above it."""
    installation = install(_say)
    with TemporaryDirectory(prefix="dogubako-n8n-") as home:
        with running(installation, folder=Path(home)) as n8n:
            api = Api(n8n)
            with api.http:
                made = Making(api, seed(api))
                made.everything()
            os.kill(n8n.pid, signal.SIGKILL)
        with running(installation, folder=Path(home), settings=DISPLAY_LIMIT) as again:
            api = Api(again)
            with api.http:
                api.wait_for(made.executions["l-slow-crashed"], CRASHED)
            yield Server(
                url=again.url,
                api_key=again.api_key,
                workflows=made.recorder.ids,
                executions=dict(made.executions),
                installation=str(installation.home),
                mcp_token=again.mcp_token(),
            )


class Making:
    """Makes executions by running workflows, and remembers their ids by kind."""

    def __init__(self, api: Api, workflows: Mapping[str, str]) -> None:
        self.api = api
        self.recorder = Recorder(api, workflows)
        self.executions: dict[str, str] = {}

    def everything(self) -> None:
        for key, workflow in WORKFLOWS.items():
            if workflow.webhook_path and key not in SPECIAL:
                self._run(key, key)
        self._run("g-10000-oversized", "g-10000")
        self._run("h-wait", "h-wait", WAITING)
        self._resumed()
        self._canceled("h-wait-canceled", "h-wait", WAITING)
        self._canceled("l-slow-canceled", "l-slow", RUNNING)
        self._retried_and_manual()
        self._run("l-slow-crashed", "l-slow", RUNNING)

    def _run(self, kind: str, key: str, statuses: frozenset[str] = ENDED) -> str:
        self.executions[kind] = self.recorder.run(key, statuses)[1]
        return self.executions[kind]

    def _canceled(self, kind: str, key: str, statuses: frozenset[str]) -> None:
        number = self._run(kind, key, statuses)
        self.api.ask("POST", f"/executions/{number}/stop", {})
        self.api.wait_for(number, CANCELED)

    def _resumed(self) -> None:
        number = self._run("h-wait-resumed", "h-wait", WAITING)
        wait = self.api.execution(number)["data"]["resultData"]["runData"]["Wait"][0]
        self.api.http.get(wait["metadata"]["resumeUrl"]).raise_for_status()
        self.api.wait_for(number, ENDED)

    def _retried_and_manual(self) -> None:
        failed = self.executions["b1-http-econnrefused"]
        retried = self.api.ask("POST", f"/executions/{failed}/retry", {"loadWorkflow": True})
        self.executions["b1-http-econnrefused-retried"] = str(retried["id"])
        manual = self.api.n8n.run_manually(self.recorder.ids["r-manual"], MANUAL_TRIGGER)
        self.api.wait_for(manual, ENDED)
        self.executions["r-manual"] = manual


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
