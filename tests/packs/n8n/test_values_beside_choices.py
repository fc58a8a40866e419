"""Values that are on no list of choices: some n8n takes all the same, and of numbers the bounds are told."""

from typing import Any

import pytest

from dogubako.packs.n8n.nodes.descriptions import Choice, NodeDescription, Property
from dogubako.packs.n8n.nodes.parameters import check_parameters
from dogubako.packs.n8n.nodes.problems import Problem


def chosen(value: Any, *choices: Any) -> list[Problem]:
    listed = Property(name="it", type="options", choices=[Choice(value=one) for one in choices])
    description = NodeDescription(type="n8n-nodes-base.some", versions=[1], properties=[listed])
    return list(check_parameters(description, 1, {"it": value}, tool=False))


@pytest.mark.parametrize(
    ("value", "choices", "certain"),
    [
        pytest.param("post", ("GET", "POST"), False, id="upper and lower case"),
        pytest.param("PST", ("GET", "POST"), True, id="misspelt"),
        pytest.param("YYYY", ("MM/DD/YYYY", "YYYY-MM-DD", "X"), False, id="format of a date"),
        pytest.param("dd.MM.yy", ("custom", "MM/dd/yyyy"), False, id="format of a date, Luxon"),
    ],
)
def test_a_value_that_n8n_may_take_is_a_doubt(value: str, choices: tuple[str, ...], certain: bool) -> None:
    assert [(one.kind, one.certain) for one in chosen(value, *choices)] == [("unknownOption", certain)]


def test_a_value_that_n8n_offers_is_left_alone() -> None:
    assert chosen("POST", "GET", "POST") == []
    assert chosen("5", *range(24)) == []


def test_of_numbers_the_bounds_are_told() -> None:
    hour, other = chosen(25, *range(24))[0], chosen(9, 1, 2, 4, 8)[0]

    assert hour.message.endswith("It may be: 0 to 23.")
    assert hour.near == ()
    assert other.message.endswith("It may be: 1, 2, 4, 8.")


@pytest.mark.parametrize(("mode", "found"), [("name", [("it.mode", False)]), ("id", []), ("list", []), ("", [])])
def test_a_mode_that_a_called_workflow_does_not_have_is_told(mode: str, found: list[tuple[str, bool]]) -> None:
    called = Property(name="it", type="workflowSelector")
    description = NodeDescription(type="n8n-nodes-base.some", versions=[1], properties=[called])
    locator = {"__rl": True, "mode": mode, "value": "x"}

    told = check_parameters(description, 1, {"it": locator}, tool=False)

    assert [(one.path, one.certain) for one in told] == found
