"""Code and messages as people and other programs write them: what they read is found, and nothing in them breaks us."""

import pytest

from dogubako.outbound.bounds import JSON_ANSWER, MEGABYTE
from dogubako.packs.n8n.diagnosis.references import references

from .made import box_with, failed_run, items, made, node, run


@pytest.mark.parametrize(
    ("code", "read"),
    [
        pytest.param("$json.email.trim()", ["email.trim"], id="a field and its method"),
        pytest.param("$json['a b'].c + $json[\"it's\"]", ["a b.c", "it's"], id="names in quotes"),
        pytest.param(r"$json['it\'s']", ["it's"], id="a quote in its own quotes"),
        pytest.param("$json?.a?.['b']", ["a.b"], id="if there is one"),
        pytest.param("$input.first().json.x; item.json.y; f(item.json.z)", ["x", "y", "z"], id="by way of others"),
        pytest.param("((($json.a))) + (b)).json.c", ["a"], id="many brackets"),
        pytest.param(
            "$('Other').item.json.x + $( \"It's\" ).first(1).json.y + $json.z", ["z"], id="not of other nodes"
        ),
        pytest.param("$json['never closed", [], id="a quote that does not end"),
        pytest.param("$('$('$('$json.a", ["a"], id="others that never end"),
        pytest.param("my$json.a, myjson.b, x.jsonb.c", [], id="other names"),
    ],
)
def test_fields_are_found_in_code(code: str, read: list[str]) -> None:
    assert [".".join(one.names) for one in references({"jsCode": code}) if one.node is None] == read


@pytest.mark.parametrize(
    ("message", "line"),
    [
        pytest.param("x is not defined [line 7]", 7, id="a line"),
        pytest.param("x is not defined [line 12, for item 0]", 12, id="a line and an item"),
        pytest.param("[line 1[line 23]", 23, id="begun twice"),
        pytest.param(f"[line {'9' * 5_000}]", None, id="more digits than a number may have"),
        pytest.param("[line 7", None, id="not closed"),
    ],
)
async def test_the_line_of_a_failure_is_told(message: str, line: int | None) -> None:
    runs = {"Start": [run(items({}))], "Use": [failed_run(message, after="Start")]}
    async with box_with(made(runs, node("Use"))).running() as box:
        result = await box.call("diagnose_execution", {"id": "1"})

    assert result.code == "OK", result.content
    assert result.value["data"]["failure"].get("line") == line


async def test_an_execution_may_be_larger_than_any_other_answer() -> None:
    text = "x" * (JSON_ANSWER.most_bytes + MEGABYTE)
    async with box_with(made({"Start": [run(items({"text": text}))]}, status="success")).running() as box:
        result = await box.call("get_execution", {"id": "1"})

    assert result.code == "OK", result.content
    assert result.value["data"]["statistics"]["totalItemsProcessed"] == 1
