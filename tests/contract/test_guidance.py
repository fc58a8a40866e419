"""A call that we write down is a call that can be read back."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogubako.output import example_call
from dogubako.testing import parse_call

NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,20}", fullmatch=True)
ARGUMENT_NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,12}", fullmatch=True)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)


@given(NAMES, st.dictionaries(ARGUMENT_NAMES, VALUES, max_size=5))
def test_what_is_written_reads_back_the_same(name: str, arguments: dict[str, Any]) -> None:
    assert parse_call(example_call(name, **arguments)) == (name, arguments)


@given(st.text(alphabet="'\"\\n\n,:(){}[] x", max_size=12), st.text(alphabet="'\"\\,]}", max_size=8))
def test_quotes_and_backslashes_end_nothing_early(text: str, nested: str) -> None:
    written = example_call("get_node", name=text, path=[nested], options={"key": nested}, last=1)

    assert parse_call(written)[1] == {"name": text, "path": [nested], "options": {"key": nested}, "last": 1}


def test_a_call_is_written_as_an_agent_would_write_it() -> None:
    written = example_call("get_execution_by_node", id="17", nodeName="HTTP Request", raw=True, limit=5)

    assert written == "get_execution_by_node(id: '17', nodeName: 'HTTP Request', raw: true, limit: 5)"


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        pytest.param("list_issues()", ("list_issues", {}), id="no arguments"),
        pytest.param("  echo( text : 'a' )  ", ("echo", {"text": "a"}), id="blanks everywhere"),
        pytest.param("big(items: 3,)", ("big", {"items": 3}), id="comma at the end"),
        pytest.param('f(a: "b, c", d: [1, {"e": 2}])', ("f", {"a": "b, c", "d": [1, {"e": 2}]}), id="JSON values"),
    ],
)
def test_people_may_write_it_a_little_differently(example: str, expected: tuple[str, dict[str, Any]]) -> None:
    assert parse_call(example) == expected


@pytest.mark.parametrize(
    ("example", "reason"),
    [
        pytest.param("get execution 17", "expected a call like", id="prose"),
        pytest.param("get('17')", "expected an argument name", id="no argument name"),
        pytest.param("get(id: seventeen)", "expected a value", id="bare word"),
        pytest.param("get(id: '17' 'x')", "expected a comma", id="no comma"),
        pytest.param("get(id: )", "expected a value", id="nothing"),
    ],
)
def test_what_is_not_a_call_is_refused_with_a_reason(example: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_call(example)
