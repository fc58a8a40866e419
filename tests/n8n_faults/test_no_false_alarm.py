"""Validation says nothing against workflows that ran well: all that were recorded on the real n8n."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

import dogubako_sandbox
from dogubako.packs.n8n.api.service import LookupsApi
from dogubako.packs.n8n.nodes.descriptions import Match, NodeDescription
from dogubako.packs.n8n.nodes.index import NodeIndex, index_of, installed_packages
from dogubako.packs.n8n.nodes.problems import Problem
from dogubako.packs.n8n.nodes.validation import Validator
from scripts.n8n_install import install

from .recordings import CASE_SETS, load

Json = dict[str, Any]
FOLDER: Final = Path(dogubako_sandbox.__file__).parent / "n8n" / "node_types"
# A text with braces and without "=" is sent as it is written: n8n succeeds, and it is not what was meant.
MEANT_OTHERWISE: Final = "is plain text: an expression has to begin with '='"

# Cases whose fault is a loop without a way back: n8n succeeds with the first items only.
LOOPS_LEFT_OPEN: Final = frozenset(
    {
        "strange/hand/loop-not-closed",
        "thirtyeighth/hand/ta-pl-zla-petla",
        "fifth/hand/loop that ends after one round",
        "outside/hand/b40-loop-swapped",
        "seventh/hand/c05-loop-no-way-back",
        "ninth/hand/r09-en-loop-not-closed",
        "eleventh/hand/ea43-pl-petla-bez-powrotu",
        "eleventh/hand/eb46-loop-not-back",
        "twelfth/hand/td39-ok-loop-not-closed",
        "fourteenth/hand/ua-a62-en-loop-unwired",
        "fourteenth/hand/ub-b25-loop-not-closed",
        "twentyfifth/hand/qa-49-loop-offen",
        "twentysixth/hand/qc-bucle-sin-vuelta",
    }
)
# A name that is nowhere declared, and that the code reads only for the item of another execution, which failed.
READ_FOR_ANOTHER_ITEM: Final = "twentyninth/hand/rb-x31"


class Source:
    """Describes what the sandbox knows, and claims nothing about other types."""

    name = "recordings"
    complete = False
    certain = True

    def __init__(self, index: NodeIndex) -> None:
        self._index = index

    async def search(self, query: str, limit: int) -> tuple[Match, ...]:
        return ()

    async def names(self) -> tuple[str, ...]:
        return ()

    async def describe(self, node_type: str) -> tuple[NodeDescription, ...]:
        return self._index.descriptions(node_type)


class NoCredentials(LookupsApi):
    """Which credentials there were is not recorded."""

    def __init__(self) -> None:
        """It asks nobody."""

    async def credentials(self) -> list[Json]:
        return []


def executions(recording: Json) -> Iterator[Json]:
    yield recording["execution"]
    for child in recording["children"]:
        yield from executions(child)


def failed(runs: list[Json]) -> bool:
    """Whether a node failed, also where it went on: then the failure is in its items."""
    items = [item for run in runs for output in (run.get("data") or {}).get("main") or () for item in output or ()]
    return any(run.get("error") for run in runs) or any("error" in (item.get("json") or {}) for item in items)


def is_wrong(problem: Problem, ran: set[str]) -> bool:
    """Whether a problem is told of a node that ran without a failure."""
    return problem.node in ran and problem.kind != "unknownCredential" and MEANT_OTHERWISE not in problem.message


@cache
def recorded() -> list[tuple[str, Json]]:
    """Every execution of another workflow, with the key of its case."""
    found = {
        msgspec.json.encode([one["workflowData"]["nodes"], one["workflowData"].get("connections"), one["status"]]): (
            key,
            one,
        )
        for case_set in CASE_SETS
        for key, recording in load(case_set).items()
        for one in executions(recording)
    }
    return list(found.values())


async def alarms(index: NodeIndex) -> list[tuple[str, Problem]]:
    """The problems that are told of nodes that ran well."""
    validator = Validator(Source(index), NoCredentials())
    found = []
    for key, execution in recorded():
        if execution["status"] == "success":
            runs = execution["data"]["resultData"].get("runData") or {}
            well = {name for name, one in runs.items() if not failed(one)}
            problems = (await validator.check(execution["workflowData"])).problems
            told = [one for one in problems if not (one.kind == "unclosedLoop" and key in LOOPS_LEFT_OPEN)]
            told = [one for one in told if not (one.kind == "unknownVariable" and key == READ_FOR_ANOTHER_ITEM)]
            found += [(key, one) for one in told if is_wrong(one, well)]
    return found


async def test_no_node_that_ran_well_is_called_wrong(tmp_path: Path) -> None:
    found = await alarms(index_of(installed_packages(FOLDER), tmp_path))

    assert len(recorded()) > 3_000
    # The sandbox describes some types only, and no notices, which n8n counts among the parameters.
    assert [one for one in found if one[1].kind not in ("unknownParameter", "unknownType")] == []


@pytest.mark.real_n8n
async def test_nor_by_the_node_types_of_n8n_itself(tmp_path: Path) -> None:
    installation = install(lambda words: None)

    assert await alarms(index_of(installed_packages(installation.home), tmp_path)) == []
