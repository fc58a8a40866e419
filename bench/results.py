"""Samples, and what follows from two of them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One turn: the number that counts, and the processor time of a call, which a busy machine disturbs less."""

    value: float
    cpu_us: float | None = None


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What one contender did, round by round."""

    contest: str
    name: str
    unit: str
    readings: tuple[Reading, ...]

    @property
    def values(self) -> list[float]:
        return [reading.value for reading in self.readings]

    @property
    def median(self) -> float:
        return median(self.values)

    @property
    def cpu_us(self) -> float | None:
        known = [reading.cpu_us for reading in self.readings if reading.cpu_us is not None]
        return median(known) if known else None


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two samples and, where we promised something, how they must relate."""

    ours: Sample
    other: Sample
    at_least: float | None = None
    at_most: float | None = None

    @property
    def ratio(self) -> float:
        """The ratio that is judged: of processor time where the system tells it, else of what was seen."""
        return self.ratio_seen if self.ratio_of_processor_time is None else self.ratio_of_processor_time

    @property
    def ratio_seen(self) -> float:
        """Of calls per second, or of milliseconds: how much better ours is, or, with an upper bound, what it costs."""
        smaller_is_better = self.ours.unit == "ms"
        pairs = zip(self.ours.values, self.other.values, strict=True)
        return _median_of_rounds(pairs, inverted=smaller_is_better is not self._is_cost)

    @property
    def ratio_of_processor_time(self) -> float | None:
        """The same of the processor time per call; None where a round has none."""
        mine, theirs = ([one.cpu_us for one in sample.readings] for sample in (self.ours, self.other))
        known = [(own, other) for own, other in zip(mine, theirs, strict=True) if own and other]
        return _median_of_rounds(known, inverted=not self._is_cost) if len(known) == len(mine) else None

    @property
    def _is_cost(self) -> bool:
        return self.at_most is not None

    @property
    def need(self) -> str:
        if self.at_least is not None:
            return f"≥ {self.at_least:g}×"
        return f"≤ {self.at_most:g}×" if self.at_most is not None else ""

    @property
    def verdict(self) -> str:
        """Nothing where nothing was promised."""
        if not self.need:
            return ""
        enough = self.at_least is None or self.ratio >= self.at_least
        small = self.at_most is None or self.ratio <= self.at_most
        return "ok" if enough and small else "miss"


def _median_of_rounds(pairs: Iterable[tuple[float, float]], *, inverted: bool) -> float:
    """Round by round, and then the median: two neighbours in time saw the same machine."""
    return median(theirs / mine if inverted else mine / theirs for mine, theirs in pairs)


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A number of our own, round by round, and the most that it may be; of a peer, for comparison alone."""

    what: str
    unit: str
    values: tuple[float, ...]
    at_most: float | None = None

    @property
    def value(self) -> float:
        return median(self.values)

    @property
    def need(self) -> str:
        return f"≤ {self.at_most:g} {self.unit}" if self.at_most is not None else ""

    @property
    def verdict(self) -> str:
        if self.at_most is None:
            return ""
        return "ok" if self.value <= self.at_most else "miss"


@dataclass(kw_only=True)
class Results:
    """Everything of one run."""

    samples: list[Sample] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def compare(
        self, ours: Sample | None, other: Sample | None, *, at_least: float | None = None, at_most: float | None = None
    ) -> None:
        """Add a row, if both sides could be measured."""
        if ours is not None and other is not None:
            self.comparisons.append(Comparison(ours=ours, other=other, at_least=at_least, at_most=at_most))
