"""Cases that only one side can show. The list is short, and has to stay needed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

import pytest

Case = TypeVar("Case", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class OneSided:
    """Which side shows it, and why the other does not."""

    side: Literal["sandbox", "real"]
    reason: str


ONE_SIDED: Final[Mapping[str, OneSided]] = {
    "a-success-100-redacted": OneSided(
        side="sandbox", reason="A real n8n redacts without being asked only with a licence."
    ),
    "starting": OneSided(side="sandbox", reason="A real n8n that starts has no address before it has started."),
    "any-trigger": OneSided(
        side="real", reason="The sandbox replays recordings, and has none of forms, chats and other triggers."
    ),
    "all-node-types": OneSided(side="real", reason="The sandbox describes the node types that its workflows use."),
    "g-10000-whole": OneSided(side="real", reason="Megabytes of data are too much to be kept as a recording."),
}


def only_where_there_is(kind: str) -> Callable[[Case], Case]:
    """A test of a case that is on the list; it is left out on the other side."""
    needed = ONE_SIDED[kind]

    def mark(case: Case) -> Case:
        return pytest.mark.one_sided(kind, needed.side)(case)  # type: ignore[no-any-return]

    return mark
