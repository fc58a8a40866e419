"""Run the generated broken workflows on a real n8n, keep what it answered, and score `diagnose_execution` on it.

python scripts/score_diagnosis.py record [tuning|checking|…]   run them, and write tests/n8n_faults/recordings/
python scripts/score_diagnosis.py score [tuning|checking|…]    print what is not right
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

# Run as a file, Python looks beside it, not where `scripts` is.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.n8n_install import install
from scripts.real_n8n import running
from scripts.real_server import say
from scripts.record_n8n import ENDED, Api
from tests.n8n_faults.fault import SERVICE, START, CaseSet
from tests.n8n_faults.recordings import CASE_SETS, cases_of, is_recorded_elsewhere, judged, save
from tests.n8n_faults.service import broken_service
from tests.n8n_faults.shapes import CHILD, GRANDCHILD, Case

Json = dict[str, Any]
THREADS = 3


class CaseRunner:
    """Runs cases on one n8n. `service` is the address of the loopback service."""

    def __init__(self, api: Api, service: str) -> None:
        self.api = api
        self.service = service

    def run(self, case: Case) -> Json:
        """The execution and those of the workflows that it called."""
        workflow = self._prepared(case)
        if case.path is None:
            number = self.api.n8n.run_manually(workflow, START)
        else:
            self.api.call_webhook(case.path)
            number = self.api.newest(workflow, set())
        recorded = {"key": case.key, **self._family(number)}
        # Each published webhook makes the next one slower to register.
        if case.path is not None:
            self.api.ask("POST", f"/workflows/{workflow}/unpublish", {})
        return recorded

    def _family(self, number: str) -> Json:
        self.api.wait_for(number, ENDED)
        execution = self.api.execution(number)
        numbers = sorted(set(_children(execution)), key=int) or self._unnamed_children(execution)
        children = [self._family(one) for one in numbers]
        return {"execution": execution, "children": children}

    def _unnamed_children(self, execution: Json) -> list[str]:
        """The failed execution of a sub-workflow that was called for each item: the error does not name it."""
        error = execution["data"]["resultData"].get("error") or {}
        called = (error.get("node") or {}).get("parameters", {}).get("workflowId")
        if not isinstance(called, dict):
            return []
        found = self.api.ask("GET", "/executions", workflowId=called["value"], status="error")["data"]
        numbers = [str(one["id"]) for one in found]
        made = {one: self.api.execution(one)["data"].get("parentExecution") or {} for one in numbers}
        return [one for one in numbers if str(made[one].get("executionId")) == str(execution["id"])][:1]

    def _prepared(self, case: Case) -> str:
        """The id of the workflow, which is published if it has a webhook."""
        ids: dict[str, str] = {}
        for place, called in ((GRANDCHILD, case.grandchild), (CHILD, case.child)):
            if called is not None:
                ids[place] = self._created(called, ids, publish=True)
        return self._created(case.workflow, ids, publish=case.path is not None)

    def _created(self, workflow: Json, ids: Mapping[str, str], *, publish: bool) -> str:
        text = json.dumps(workflow).replace(SERVICE, self.service)
        for place, number in ids.items():
            text = text.replace(place, number)
        made = self.api.ask("POST", "/workflows", json.loads(text))
        if publish:
            self.api.ask("POST", f"/workflows/{made['id']}/publish", {})
        return str(made["id"])


def _children(execution: Json) -> Iterator[str]:
    for runs in execution["data"]["resultData"]["runData"].values():
        for run in runs:
            places = (run.get("metadata", {}).get("subExecution"), run.get("error"))
            yield from (str(one["executionId"]) for one in places if one and one.get("executionId"))


def record(case_sets: Sequence[CaseSet]) -> None:
    with running(install(say)) as n8n, broken_service() as service:
        runner = CaseRunner(Api(n8n), service)
        for case_set in [one for one in case_sets if not is_recorded_elsewhere(one)]:
            with ThreadPoolExecutor(THREADS) as pool:
                recorded = list(pool.map(runner.run, cases_of(case_set)))
            # The ports differ from run to run, and say nothing.
            text = json.dumps(recorded).replace(service, SERVICE)
            save(case_set, json.loads(re.sub(r"127\.0\.0\.1:\d{4,5}", "127.0.0.1:5678", text)))
            say(f"{case_set}: {len(recorded)} executions are recorded.")


def score(case_sets: Sequence[CaseSet]) -> None:
    for case_set in case_sets:
        results = list(judged(case_set))
        for one in results:
            if one.verdict != "right":
                print(f"{one.verdict}: {one.case.key}: {one.case.truth}\n    {one.report['explanation']}")
        print(case_set, dict(Counter(one.verdict for one in results)))


def main() -> int:
    action, *named = sys.argv[1:] or ["score"]
    case_sets = [one for one in CASE_SETS if one in named] or CASE_SETS
    if action == "record":
        record(case_sets)
    score(case_sets)
    return 0


if __name__ == "__main__":
    sys.exit(main())
