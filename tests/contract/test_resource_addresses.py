"""Which addresses a resource template takes, and what it reads from them."""

import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dogubako.contract.resources import ResourceTemplate
from tests.hypothesis_profiles import examples


async def _read(context: Any, variables: Any) -> str:
    return ""


def _template(address: str) -> ResourceTemplate:
    return ResourceTemplate(uri_template=address, name="one", read=_read)


@pytest.mark.parametrize(
    ("template", "uri", "variables"),
    [
        pytest.param("a://{x}", "a://1", {"x": "1"}, id="one"),
        pytest.param("a://{x}", "a://", None, id="nothing"),
        pytest.param("a://{x}", "a://1/2", None, id="a slash"),
        pytest.param("a://{x}", "a://1%2F2", {"x": "1/2"}, id="an escaped slash"),
        pytest.param("a://{x}-{y}", "a://1-2-3", {"x": "1-2", "y": "3"}, id="the first takes more"),
        pytest.param("a://{x}{y}", "a://123", {"x": "12", "y": "3"}, id="side by side"),
        pytest.param("a://{x}/b/{y}.txt", "a://1/b/2.txt", {"x": "1", "y": "2"}, id="with an end"),
        pytest.param("a://{x}/b", "b://1/b", None, id="another start"),
        pytest.param("a://b", "a://b", {}, id="no variable"),
    ],
)
def test_an_address_is_read_by_its_template(template: str, uri: str, variables: dict[str, str] | None) -> None:
    assert _template(template).match(uri) == variables


LITERALS = st.text("ab-/", max_size=3)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(LITERALS, min_size=1, max_size=4), st.text("ab-/", max_size=12))
def test_it_takes_what_a_regular_expression_would_take(literals: list[str], uri: str) -> None:
    template = literals[0] + "".join(f"{{v{number}}}{literal}" for number, literal in enumerate(literals[1:]))
    pattern = re.escape(literals[0]) + "".join(f"([^/?#]+){re.escape(literal)}" for literal in literals[1:])
    expected = re.fullmatch(pattern, uri)

    found = _template(template).match(uri)

    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert tuple(found.values()) == expected.groups()


def test_a_hostile_address_is_refused_in_linear_time() -> None:
    template = _template("a://{a}-{b}-{c}-{d}-{e}.{f}")
    started = time.process_time()

    assert template.match("a://" + "-" * 1_900 + "/") is None
    assert time.process_time() - started < 1
