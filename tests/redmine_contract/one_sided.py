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
    "xml": OneSided(side="real", reason="Our tools ask for JSON; the Redmine in small speaks nothing else."),
    "languages": OneSided(side="real", reason="The Redmine in small has its sentences in English only."),
    "cookies": OneSided(side="real", reason="The Redmine in small gives no cookies; our tools keep none."),
    "recorded": OneSided(side="real", reason="The world in small is a recording of the real one, not the other way."),
}


def only_where_there_is(kind: str) -> Callable[[Case], Case]:
    """A test of a case that is on the list; it is left out on the other side."""
    needed = ONE_SIDED[kind]

    def mark(case: Case) -> Case:
        return pytest.mark.one_sided(kind, needed.side)(case)  # type: ignore[no-any-return]

    return mark
