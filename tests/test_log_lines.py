"""The line of a call that ended is rendered in parts. It equals the line that any other event would get."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dogubako.contract.redaction import Redactor
from dogubako.log_lines import Entry, Lines
from tests.hypothesis_profiles import examples

SECRET = "correct-horse-battery"
_WORDS = st.one_of(
    st.text(max_size=20), st.sampled_from(["echo", "OK", f"a {SECRET} b", "token=abcdef", "\x1b[31m", ""])
)
_ODD = st.one_of(_WORDS, st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.lists(st.text()))


def _event(**changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"tool": "echo", "door": "http", "caller": "ann", "code": "OK", "ms": 0.3, "tokens": 17}
    return {**fields, "call_id": "0123456789abcdef", **changes, "event": "Tool completed"}


def _both(lines: Lines, event: dict[str, Any]) -> tuple[tuple[str, bytes], tuple[str, bytes]]:
    moment = 1_789_000_000.25
    settled = [lines.settled(dict(event)) for _ in range(2)]
    return lines.render(Entry(moment, "INFO", settled[0])), lines._any(Entry(moment, "INFO", settled[1]))


@settings(max_examples=examples(300))
@given(
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(("tool", "door", "caller", "code", "ms", "tokens", "call_id", "count"), _ODD),
    ),
    st.booleans(),
)
def test_the_line_of_a_call_equals_the_line_of_any_event(changes: dict[str, Any], colour: bool) -> None:
    lines = Lines(Redactor([SECRET]), colour=colour)

    for _ in range(2):
        rendered, expected = _both(lines, _event(**changes))
        assert rendered == expected


def test_ordinary_calls_use_the_memo() -> None:
    lines = Lines(Redactor(), colour=False)

    lines.render(Entry(0.0, "INFO", _event()))
    lines.render(Entry(0.0, "INFO", _event(ms=2.5, call_id="fedcba9876543210", count=3)))

    assert len(lines._begun) == 1


@pytest.mark.parametrize("field", ["tool", "caller", "code", "call_id"])
def test_a_secret_that_is_learned_later_is_masked_from_then_on(field: str) -> None:
    redactor = Redactor()
    lines = Lines(redactor, colour=False)
    event = _event(**{field: "abcdef0123456789"})
    before, _ = _both(lines, event)

    redactor.add("abcdef0123456789")
    after, expected = _both(lines, event)

    assert "abcdef0123456789" in before[0]
    assert "abcdef0123456789" not in after[0] + after[1].decode()
    assert after == expected


def test_a_redactor_for_one_call_learns_with_its_parent() -> None:
    parent = Redactor()
    child = parent.including("first-secret")
    before = child.generation

    parent.add("second-secret")

    assert child.generation > before


# No time is minus zero, which equals zero and is written otherwise.
_MS = st.floats().map(lambda ms: ms + 0.0)


@settings(max_examples=examples(300))
@given(st.tuples(_WORDS, _WORDS, _WORDS, _MS, st.integers(0, 2**40), _WORDS, st.one_of(st.none(), st.integers(0))))
def test_the_line_of_a_call_that_ended_well_equals_the_line_of_its_event(fields: tuple[Any, ...]) -> None:
    lines, moment = Lines(Redactor([SECRET]), colour=False), 1_789_000_000.25
    tool, door, caller, ms, tokens, call_id, count = fields
    event = {"event": "Tool completed", "tool": tool, "door": door, "caller": caller, "code": "OK", "ms": ms}
    event |= {"tokens": tokens, "call_id": call_id} | ({} if count is None else {"count": count})

    for _ in range(2):
        rendered = lines.render_call((moment, tool, door, caller, ms, tokens, call_id, count))
        assert rendered == lines._any(Entry(moment, "INFO", dict(event)))


def test_the_line_of_an_ordinary_call_comes_from_the_memo() -> None:
    lines = Lines(Redactor(), colour=False)

    for ms in (0.0, 0.1, 1234.5):
        lines.render_call((0.0, "echo", "http", "ann", ms, 17, "0123456789abcdef", None))

    assert len(lines._begun) == 1
