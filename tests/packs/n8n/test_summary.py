"""What `get_execution` says of every recorded execution."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dogubako.packs.n8n.formatters.facts import ExecutionFacts, facts_of
from dogubako.packs.n8n.models import Execution
from dogubako.packs.n8n.tools import executions

from .recorded import Told, execution_ids, sandbox

REFUSED = {
    "message": "The service refused the connection - perhaps it is offline",
    "description": "connect ECONNREFUSED 127.0.0.1:9",
    "httpCode": "ECONNREFUSED",
    "itemIndex": 0,
}
CANCELLED = {"message": "The execution was cancelled manually"}


def type_error(node: str, value: str, reading: str, line: int) -> dict[str, Any]:
    message = f"Cannot read properties of {value} (reading '{reading}') [line {line}]"
    return {"node": node, "message": message, "description": "TypeError", "line": line}


@dataclass(frozen=True, kw_only=True)
class Expected:
    """`counts` are the nodes of the workflow, those that ran, went well, failed; and all items, as far as known."""

    counts: tuple[int, ...]
    look_at: str | None
    status: str = "success"
    error: dict[str, Any] | None = None
    swallowed: dict[str, tuple[int, str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    relatives: dict[str, str | list[str]] = field(default_factory=dict)


EXPECTED = {
    "a-success-100": Expected(counts=(4, 4, 4, 0, 301), look_at="Done"),
    "a-success-100-redacted": Expected(counts=(4, 4, 4, 0, 301), look_at="Done", notes=("redacted",)),
    "b1-http-econnrefused": Expected(
        status="error",
        counts=(3, 2, 1, 1, 1),
        look_at="Call closed port",
        error={"node": "Call closed port", **REFUSED},
    ),
    "b1-http-econnrefused-retried": Expected(
        status="error",
        counts=(3, 2, 1, 1, 1),
        look_at="Call closed port",
        error={"node": "Call closed port", **REFUSED},
        relatives={"retryOf": "b1-http-econnrefused"},
    ),
    "b2-code-throws": Expected(
        status="error", counts=(3, 3, 2, 1, 4), look_at="Boom", error=type_error("Boom", "undefined", "foo", 2)
    ),
    "bad-iteration": Expected(
        status="error",
        counts=(6, 5, 4, 1, 27),
        look_at="Count articles",
        error=type_error("Count articles", "null", "reduce", 1),
    ),
    "c-if-branch": Expected(counts=(5, 5, 5, 0, 31), look_at="No"),
    "d-loop": Expected(counts=(5, 5, 5, 0, 126), look_at="After Loop"),
    "e-merge": Expected(counts=(5, 5, 5, 0, 22), look_at="End"),
    "empty-branch": Expected(counts=(6, 4, 4, 0, 10), look_at="Only paid"),
    "f-onerror": Expected(
        counts=(7, 6, 6, 0, 9),
        look_at="Err out",
        swallowed={
            "Err out": (2, "connect ECONNREFUSED 127.0.0.1:9"),
            "Continue regular": (1, "soft failure [line 1]"),
        },
    ),
    "g-10000-oversized": Expected(counts=(3,), look_at=None, notes=("2,097,840 bytes",)),
    "h-wait": Expected(status="waiting", counts=(4, 3, 2, 0, 5), look_at="Wait", notes=("not over",)),
    "h-wait-canceled": Expected(status="canceled", counts=(4, 3, 2, 0, 5), look_at="Wait", error=CANCELLED),
    "h-wait-resumed": Expected(counts=(4, 4, 4, 0, 5), look_at="After"),
    "i-unicode": Expected(counts=(4, 4, 4, 0, 10), look_at="emoji 🚀 [x].y"),
    "j-binary": Expected(counts=(3, 3, 3, 0, 3), look_at="Pass"),
    "k-retry": Expected(status="error", counts=(2, 2, 1, 1, 1), look_at="Flaky", error={"node": "Flaky", **REFUSED}),
    "l-slow-canceled": Expected(
        status="canceled", counts=(3,), look_at=None, error=CANCELLED, notes=("n8n kept no data",)
    ),
    "l-slow-crashed": Expected(
        status="crashed",
        counts=(3, 2, 1, 1, 1),
        look_at="Sleep",
        error={
            "node": "Sleep",
            "message": "Execution stopped at this node",
            "description": "n8n may have run out of memory while running this execution."
            " More context and tips on how to avoid this in the docs",
        },
        notes=("crashed",),
    ),
    "l-slow-running": Expected(status="running", counts=(3,), look_at=None, notes=("n8n has no data",)),
    "m-empty": Expected(counts=(3, 2, 2, 0, 1), look_at="None"),
    "n-stop-error": Expected(
        status="error",
        counts=(2, 2, 1, 1, 1),
        look_at="Stop",
        error={"node": "Stop", "message": "custom stop 停止"},
    ),
    "null-upstream": Expected(
        status="error",
        counts=(7, 6, 5, 1, 13),
        look_at="Normalise email",
        error=type_error("Normalise email", "null", "toLowerCase", 1),
    ),
    "null-upstream-fixed": Expected(counts=(7, 7, 7, 0, 19), look_at="Send mail"),
    "p-disabled": Expected(counts=(4, 4, 4, 0, 7), look_at="End"),
    "q-parent": Expected(counts=(4, 4, 4, 0, 7), look_at="End", relatives={"subExecutionIds": ["q-parent child"]}),
    "q-parent child": Expected(counts=(2, 2, 2, 0, 4), look_at="In child", relatives={"parentExecutionId": "q-parent"}),
    "r-manual": Expected(counts=(2, 2, 2, 0, 2), look_at="C"),
    "renamed-field": Expected(
        status="error",
        counts=(6, 5, 4, 1, 4),
        look_at="Write letter",
        error=type_error("Write letter", "undefined", "name", 1),
    ),
    "swallowed": Expected(
        status="error",
        counts=(5, 5, 4, 1, 10),
        look_at="Print label",
        error=type_error("Print label", "undefined", "toFixed", 1),
        swallowed={"Parse price": (1, "Not a price: n/a [line 2]")},
    ),
}
EVERY = [pytest.param(key, id=key) for key in EXPECTED]


def test_the_table_knows_every_recording() -> None:
    assert EXPECTED.keys() == execution_ids().keys()


@pytest.mark.parametrize("key", EVERY)
def test_status_and_statistics_are_those_of_n8n(told: Told, key: str) -> None:
    summary, expected = told.summary(key), EXPECTED[key]
    names = ("totalNodes", "executedNodes", "successfulNodes", "failedNodes", "totalItemsProcessed")

    assert summary["id"] == execution_ids()[key]
    assert summary["status"] == expected.status
    assert summary["statistics"] == dict(zip(names, expected.counts, strict=False))


@pytest.mark.parametrize("key", EVERY)
def test_the_error_is_told_whole_also_when_it_was_swallowed(told: Told, key: str) -> None:
    summary, expected = told.summary(key), EXPECTED[key]

    assert summary.get("error") == expected.error
    found = {one["nodeName"]: (one["items"], one["message"]) for one in summary.get("swallowedErrors", ())}
    assert found == expected.swallowed


@pytest.mark.parametrize("key", EVERY)
def test_notes_say_what_is_special_and_relatives_can_be_followed(told: Told, key: str) -> None:
    summary, expected, ids = told.summary(key), EXPECTED[key], execution_ids()

    notes = summary.get("notes", [])
    assert len(notes) == len(expected.notes)
    assert all(wanted in note for wanted, note in zip(expected.notes, notes, strict=True))
    numbers = {
        name: [ids[one] for one in relative] if isinstance(relative, list) else ids[relative]
        for name, relative in expected.relatives.items()
    }
    names = ("retryOf", "retrySuccessId", "parentExecutionId", "subExecutionIds")
    assert {name: summary[name] for name in names if name in summary} == numbers


@pytest.mark.parametrize("key", EVERY)
def test_the_guidance_names_the_node_that_is_worth_a_look(told: Told, key: str) -> None:
    summary, look_at = told.summary(key), EXPECTED[key].look_at
    names = [one["nodeName"] for one in summary["availableNodes"]]

    if look_at is None:
        assert names == []
        assert summary["_guidance"]["example"].startswith(f"get_execution(id: '{summary['id']}'")
    else:
        assert look_at in names
        wanted = f"get_execution_by_node(id: '{summary['id']}', nodeName: '{look_at}')"
        assert summary["_guidance"]["example"] == wanted


@pytest.mark.parametrize("key", EVERY)
def test_what_went_wrong_is_listed_first(told: Told, key: str) -> None:
    statuses = [one["status"] for one in told.summary(key)["availableNodes"]]

    assert statuses == sorted(statuses, key=lambda status: status == "success")


@pytest.mark.parametrize(
    ("key", "duration"),
    [
        pytest.param("b2-code-throws", 40, id="over"),
        pytest.param("h-wait", None, id="waiting, although it has a stop time"),
        pytest.param("l-slow-running", None, id="running"),
    ],
)
def test_only_what_is_over_has_a_duration(told: Told, key: str, duration: int | None) -> None:
    assert told.summary(key)["duration"] == duration


def test_runs_of_a_loop_and_nodes_that_are_switched_off_are_marked(told: Told) -> None:
    loop = {one["nodeName"]: one for one in told.summary("d-loop")["availableNodes"]}
    switched_off = {one["nodeName"]: one for one in told.summary("p-disabled")["availableNodes"]}

    assert (loop["Loop Over Items"]["runs"], loop["Body"]["runs"]) == (6, 5)
    assert "runs" not in loop["After Loop"]
    assert [name for name, one in switched_off.items() if one.get("disabled")] == ["Off"]
    assert switched_off["Off"]["nodeType"] == "n8n-nodes-base.noOp"


async def test_the_facts_of_an_execution_are_computed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Execution] = []

    def counted(execution: Execution) -> ExecutionFacts:
        read.append(execution)
        return facts_of(execution)

    monkeypatch.setattr(executions, "facts_of", counted)
    async with sandbox(tmp_path).running() as box:
        await box.call("get_execution", {"id": "1"})

    assert len(read) == 1
