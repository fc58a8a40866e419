"""Large data is read back in pieces; the result is the same as if it were read at once."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dogubako.contract.redaction import Redactor
from dogubako.response import jsonable
from dogubako.response.jsonable import encode, masked_json, read_back

# One secret could stand in a text, the other one could also be a number.
REDACTOR = Redactor(["hunter22", "123456"])
SCALARS = st.none() | st.booleans() | st.integers(-10, 10) | st.just(123456) | st.sampled_from(["a", "hunter22", "é\n"])
# 7 and "7" in one object are refused before.
NAMES = st.sampled_from(["hunter22", "123456", 7]) | st.text(max_size=3).filter("7".__ne__)
DATA = st.recursive(SCALARS, lambda one: st.lists(one, max_size=9) | st.dictionaries(NAMES, one, max_size=9))


@given(DATA)
def test_data_read_in_pieces_is_the_same_data(data: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonable, "_PIECE_VALUES", 3)
        patch.setattr(jsonable, "_MOST_VALUES_AT_ONCE", 5)
        in_pieces = read_back(data, REDACTOR.mask_configured)

    assert in_pieces == msgspec.json.decode(masked_json(encode(data), REDACTOR.mask_configured))
