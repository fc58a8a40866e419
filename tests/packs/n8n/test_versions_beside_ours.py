"""Which of the newest versions is ours, and which one somebody else has saved beside it."""

from typing import Any

import pytest

from dogubako.packs.n8n.draft_saving import ours_and_theirs


def version(*notes: str) -> dict[str, Any]:
    nodes = [{"id": str(number), "name": f"Node {number}", "notes": note} for number, note in enumerate(notes)]
    return {"nodes": nodes, "connections": {}}


OURS = version("ours", "other", "")
PERSON = version("ours", "other", "by a person")


@pytest.mark.parametrize(
    ("versions", "found"),
    [
        pytest.param([OURS], (0, None), id="ours alone"),
        pytest.param([OURS, PERSON], (0, 1), id="ours over theirs"),
        pytest.param([PERSON, OURS], (1, 0), id="theirs over ours"),
        pytest.param([OURS, OURS, PERSON], (0, 2), id="another process saved the same, over theirs"),
        pytest.param([PERSON, OURS, OURS], (1, 0), id="another process saved the same, and then they"),
        pytest.param([OURS, OURS], (0, None), id="another process saved the same"),
    ],
)
def test_our_version_is_told_from_what_lies_below_and_above(
    versions: list[dict[str, Any]], found: tuple[int, int | None]
) -> None:
    assert ours_and_theirs(OURS, versions) == found
