"""`make attack`: each round counts its tries and its failures, and the run ends with a table of all rounds."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

_ROUNDS = pytest.StashKey[list["Tally"]]()


@dataclass
class Tally:
    """What was tried in one round, and what did not hold."""

    name: str
    tries: int = 0
    failures: list[str] = field(default_factory=list)

    def check(self, held: bool, what: str) -> None:
        """Count one try; `what` says what did not hold, if it did not."""
        self.tries += 1
        if not held:
            self.failures.append(what)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_ROUNDS] = []


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Iterator[Tally]:
    """The count of this round. Its failures fail the test once the round is over."""
    tally = Tally(request.node.name.removeprefix("test_").replace("_", " "))
    request.config.stash[_ROUNDS].append(tally)
    yield tally
    assert tally.tries, "a round that tried nothing proves nothing"
    assert not tally.failures, "\n".join(tally.failures[:50])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    rounds = config.stash[_ROUNDS]
    if not rounds:
        return
    width = max(len(one.name) for one in rounds)
    terminalreporter.section("attack")
    terminalreporter.write_line(f"{'round':<{width}}  tries  failures")
    for one in rounds:
        terminalreporter.write_line(f"{one.name:<{width}}  {one.tries:>5}  {len(one.failures):>8}")
    tries, failures = sum(one.tries for one in rounds), sum(len(one.failures) for one in rounds)
    terminalreporter.write_line(f"{'all':<{width}}  {tries:>5}  {failures:>8}")
