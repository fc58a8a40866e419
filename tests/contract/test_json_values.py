"""How many values a JSON text holds, without decoding it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogubako.transports.mcp.protocol import DIGITS_PER_VALUE, has_more_values

_ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(st.sampled_from('a"\\[{,]}:1 道')),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.sampled_from('a"\\[,')), inner),
)


def counted(value: Any) -> int:
    """The values inside of this one."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(1 + counted(one) for one in inside)


@given(st.lists(_ANY, min_size=1), st.sampled_from([None, 1]), st.booleans())
def test_texts_and_names_do_not_count_and_every_value_does(value: Any, indent: int | None, ascii_only: bool) -> None:
    body = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()

    assert not has_more_values(body, counted(value))
    assert has_more_values(body, counted(value) - 1)


@pytest.mark.parametrize(
    "beginning",
    [
        pytest.param(b'["\\\\",', id="an escaped backslash"),
        pytest.param(b'["\\"",', id="an escaped mark"),
        pytest.param(b'["\\\\\\"[",', id="both"),
    ],
)
@pytest.mark.parametrize("end", [b"0]", b'0]"', b"0", b"NaN]", b"\\"])
def test_what_is_wrong_at_the_end_hides_nothing_before_it(beginning: bytes, end: bytes) -> None:
    assert has_more_values(beginning + b"0," * 200 + end, 100)
    assert not has_more_values(beginning + b"0," * 50 + end, 100)


def test_texts_that_are_values_count() -> None:
    assert has_more_values(b"[" + b'"a",' * 500 + b"0]", 100)
    assert not has_more_values(b"[" + b'"a,b",' * 99 + b"0]", 100)


def test_numbers_may_not_have_too_many_digits_together() -> None:
    numbers = ["9" * DIGITS_PER_VALUE] * 99
    fitting = f"[{','.join(numbers)}]".encode()
    too_long = f"[{','.join([*numbers, '9' * DIGITS_PER_VALUE * 2])}]".encode()

    assert not has_more_values(fitting, 100)
    assert has_more_values(too_long, 100)
    assert not has_more_values(b'["' + b"9" * 100_000 + b'"]', 100)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
def test_no_other_encoding_hides_values(encoding: str) -> None:
    # In UTF-16 the halves of this character are a quotation mark and a comma.
    text = f'["{chr(0x2C22)}",{"0," * 200}0]'

    assert has_more_values(text.encode(encoding), 100)
    assert not has_more_values("[1, 2]".encode(encoding), 100)
