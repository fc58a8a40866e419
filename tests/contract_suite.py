"""What the contract suites share: the same cases on two sides, and which of them are left out on one."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True, kw_only=True)
class ContractSuite:
    """The cases in one folder. `real` is the marker of those that ask the real server, `given` if it is not ours."""

    folder: Path
    real: str
    given: bool

    def sides(self) -> Sequence[Any]:
        """The parameters of the fixture that opens a side."""
        real = pytest.param("real", id="real", marks=getattr(pytest.mark, self.real))
        return [pytest.param("sandbox", id="sandbox"), real]

    def is_real(self, item: pytest.Item) -> bool:
        return item.get_closest_marker(self.real) is not None

    def leave_out(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """A server that somebody else gave us is only read; a one-sided case runs on its side."""
        left_out = [item for item in items if self._is_ours(item) and (self._elsewhere(item) or self._spared(item))]
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if item not in left_out]

    def _is_ours(self, item: pytest.Item) -> bool:
        # The hook of a folder's conftest is shown the items of all folders.
        return item.path.is_relative_to(self.folder)

    def _elsewhere(self, item: pytest.Item) -> bool:
        case = item.get_closest_marker("one_sided")
        return case is not None and case.args[1] != ("real" if self.is_real(item) else "sandbox")

    def _spared(self, item: pytest.Item) -> bool:
        return self.given and self.is_real(item) and item.get_closest_marker("reading") is None
