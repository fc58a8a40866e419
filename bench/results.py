"""Samples, and what follows from two of them."""

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
        """Round by round, and then the median: two neighbours in time saw the same machine."""
        return median(mine / theirs for mine, theirs in zip(self.ours.values, self.other.values, strict=True))

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


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A number of our own, round by round, and the most that it may be."""

    what: str
    unit: str
    values: tuple[float, ...]
    at_most: float

    @property
    def value(self) -> float:
        return median(self.values)

    @property
    def need(self) -> str:
        return f"≤ {self.at_most:g} {self.unit}"

    @property
    def verdict(self) -> str:
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
