"""Whatever an execution looks like, its diagnosis, its summary and its nodes are small and true to form."""

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dogubako.packs.n8n.diagnosis.report import Diagnosis
from dogubako.packs.n8n.formatters.facts import facts_of
from dogubako.packs.n8n.formatters.node import NodeExecutionFormatter, Wanted
from dogubako.packs.n8n.formatters.summary import ExecutionFormatter
from tests.hypothesis_profiles import examples
from tests.real_tokenizers import claude_tokens, mistral_tokens

from .made import JsonObject, as_read, box_with, cause_told, failed_run, items, made, node, run
from .recorded import Told, execution_ids, text_of

NAMES = ["Start", "Code", "Use", "顧客"]
MOST_TOKENS = 2_500
NOTHING = "Cannot read properties of null (reading 'b')"

small = st.one_of(st.none(), st.integers(-3, 5))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["a", "b", "error", "json"]), inner, max_size=3)
    ),
    max_leaves=6,
)
sources = st.fixed_dictionaries(
    {"previousNode": st.sampled_from([*NAMES, "Gone"])},
    optional={"previousNodeOutput": small, "previousNodeRun": small},
)
pairs = st.recursive(
    st.one_of(
        small,
        st.text(max_size=2),
        st.fixed_dictionaries({}, optional={"item": small, "input": small, "sourceOverwrite": sources}),
    ),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=3,
)
odd_items = st.one_of(
    values, st.fixed_dictionaries({}, optional={"json": values, "pairedItem": pairs, "error": values})
)
errors = st.fixed_dictionaries(
    {},
    optional={
        "message": st.one_of(values, st.just("Cannot read properties of null (reading 'b')")),
        "description": values,
        "messages": values,
        "context": st.one_of(values, st.fixed_dictionaries({"itemIndex": values})),
        "lineNumber": small,
        "node": values,
    },
)
outputs = st.lists(st.one_of(st.none(), st.lists(odd_items, max_size=3)), max_size=3)
runs = st.fixed_dictionaries(
    {},
    optional={
        "source": st.one_of(st.none(), st.lists(st.one_of(st.none(), sources), max_size=3)),
        "data": st.one_of(st.none(), st.dictionaries(st.sampled_from(["main", "ai_tool"]), outputs, max_size=2)),
        "error": st.one_of(st.none(), errors),
        "executionStatus": st.sampled_from([None, "success", "error", "crashed", "waiting"]),
        "executionIndex": st.integers(0, 9),
        "metadata": st.one_of(st.none(), st.dictionaries(st.just("subExecution"), values)),
    },
)
codes = st.sampled_from(["", "$json.a.b", "$json.a?.b; $json['a'].b.a", "{{ $json.error }}", "$('Start').item.json.a"])


@st.composite
def executions(draw: st.DrawFn) -> JsonObject:
    run_data = draw(st.dictionaries(st.sampled_from(NAMES), st.lists(runs, max_size=3), max_size=4))
    nodes = [node(name, draw(codes), onError=draw(st.sampled_from([None, "continueRegularOutput"]))) for name in NAMES]
    execution = made({}, *nodes, status=draw(st.sampled_from(["success", "error", "crashed", "running", "waiting"])))
    execution["data"]["resultData"] = {
        "runData": run_data,
        "lastNodeExecuted": draw(st.sampled_from([None, *NAMES])),
        "error": draw(st.one_of(st.none(), errors)),
    }
    return execution


def is_true_to_form(shown: Any) -> bool:
    return isinstance(msgspec.json.decode(msgspec.json.encode(shown)), dict)


@settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(execution=executions())
def test_no_odd_execution_makes_a_formatter_fail(execution: JsonObject) -> None:
    read = as_read(execution)
    diagnosis = Diagnosis(read)

    assert is_true_to_form(diagnosis.report())
    assert diagnosis.guidance().example
    assert is_true_to_form(ExecutionFormatter(facts_of(read)).format_summary())
    for name in (name for name, own in read.runs.items() if own):
        formatter = NodeExecutionFormatter(read, Wanted(node_name=name))
        assert is_true_to_form(formatter.format_node_execution(2_000))
        formatter.guidance()


@pytest.mark.parametrize("key", [pytest.param(key, id=key) for key in execution_ids()])
def test_the_diagnosis_of_every_recording_is_one_small_answer(told: Told, key: str) -> None:
    text = text_of(told.diagnoses[key])

    assert max(claude_tokens(text), mistral_tokens(text)) <= 700


def with_a_long_message() -> JsonObject:
    runs = {"Start": [run(items({"a": None}))], "Use": [failed_run(f"{NOTHING} {'失敗 ' * 50_000}", after="Start")]}
    return made(runs, node("Use", "$json.a.b"))


def with_a_wide_item() -> JsonObject:
    wide = {f"field {number}": {f"inner {inner}": "long text " * 50 for inner in range(30)} for number in range(500)}
    runs = {"Start": [run(items({**wide, "a": None}))], "Pass": [run(items({**wide, "a": None}), after="Start")]}
    return made({**runs, "Use": [failed_run(NOTHING, after="Pass")]}, node("Use", "$json.a.b"))


def with_a_long_way() -> JsonObject:
    names = [f"Step number {number}" for number in range(300)]
    steps = {name: [run(items({"a": None}), after=[before])] for before, name in pairwise(names)}
    runs = {names[0]: [run(items({"a": None}))], **steps, "Use": [failed_run(NOTHING, after=names[-1])]}
    return made(runs, node("Use", "$json.a.b"))


@pytest.mark.parametrize(
    "execution",
    [
        pytest.param(with_a_long_message(), id="a message of 150,000 characters"),
        pytest.param(with_a_wide_item(), id="an item of 15,000 fields"),
        pytest.param(with_a_long_way(), id="three hundred nodes between cause and failure"),
    ],
)
async def test_a_diagnosis_stays_small_whatever_it_is_about(execution: JsonObject) -> None:
    async with box_with(execution).running() as box:
        result = await box.call("diagnose_execution", {"id": "1"})

    assert max(claude_tokens(text_of(result)), mistral_tokens(text_of(result))) <= MOST_TOKENS
    assert cause_told(result.value["data"])["problem"] == "a is null"
    assert not result.trimmed
