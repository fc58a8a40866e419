"""`make attack`: each round counts its tries and its failures, and the run ends with a table of all rounds."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.heartbeat import MOST_SECONDS

# In the report of a round, which also reaches the process that prints the table when others run the rounds.
_ROUND = "attack round"


@dataclass
class Tally:
    """What was tried in one round, and what did not hold."""

    name: str
    tries: int = 0
    failures: list[str] = field(default_factory=list)
    longest_stall: float = 0.0

    def check(self, held: bool, what: str) -> None:
        """Count one try; `what` says what did not hold, if it did not."""
        self.tries += 1
        if not held:
            self.failures.append(what)

    def add(self, other: "Tally") -> None:
        """Count what was tried elsewhere."""
        self.tries += other.tries
        self.failures += other.failures
        self.longest_stall = max(self.longest_stall, other.longest_stall)

    def check_stall(self, seconds: float, what: str) -> None:
        """Count one try: the event loop may have stood still for `MOST_SECONDS` and no longer."""
        self.longest_stall = max(self.longest_stall, seconds)
        self.check(seconds <= MOST_SECONDS, f"{what}: the event loop stood still for {seconds * 1000:.0f} ms")


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Iterator[Tally]:
    """The count of this round. Its failures fail the test once the round is over."""
    tally = Tally(request.node.name.removeprefix("test_").replace("_", " "))
    yield tally
    request.node.user_properties.append((_ROUND, (tally.name, tally.tries, len(tally.failures), tally.longest_stall)))
    assert tally.tries, "a round that tried nothing proves nothing"
    assert not tally.failures, "\n".join(tally.failures[:50])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for found in terminalreporter.stats.values() for report in found if hasattr(report, "when")]
    ended = sorted((report for report in reports if report.when == "teardown"), key=lambda report: report.nodeid)
    rounds = [value for report in ended for name, value in report.user_properties if name == _ROUND]
    if not rounds:
        return
    width = max(len(one[0]) for one in rounds)
    whole = ("all", sum(one[1] for one in rounds), sum(one[2] for one in rounds), max(one[3] for one in rounds))
    terminalreporter.section("attack")
    terminalreporter.write_line(f"{'round':<{width}}  tries  failures  longest stall")
    for name, tries, failures, stall in [*rounds, whole]:
        measured = f"{stall * 1000:.0f} ms" if stall else "-"
        terminalreporter.write_line(f"{name:<{width}}  {tries:>5}  {failures:>8}  {measured:>13}")
