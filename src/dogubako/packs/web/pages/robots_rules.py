"""The rules of a robots.txt (RFC 9309): the groups that mean us, and the longest pattern that fits."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

_MOST_RULES: Final = 20_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One line. `pieces` is the pattern without its stars."""

    allowed: bool
    pieces: tuple[str, ...]
    to_the_end: bool

    @property
    def weight(self) -> tuple[int, bool]:
        """The longer pattern counts; of two equally long ones, the friendlier."""
        return sum(map(len, self.pieces)) + len(self.pieces) - 1 + self.to_the_end, self.allowed

    def fits(self, path: str) -> bool:
        """Whether the pieces follow each other in the path. No backtracking, however many stars there are."""
        first, *others = self.pieces
        if not path.startswith(first):
            return False
        if not others:
            return not self.to_the_end or len(path) == len(first)
        position = len(first)
        for piece in others[:-1] if self.to_the_end else others:
            position = path.find(piece, position)
            if position < 0:
                return False
            position += len(piece)
        return not self.to_the_end or (path.endswith(others[-1]) and len(path) - len(others[-1]) >= position)


@dataclass(frozen=True, kw_only=True, slots=True)
class RobotsRules:
    """Everything that a site says to us."""

    rules: tuple[Rule, ...]

    def allow(self, path: str) -> bool:
        """Whether this path, with its query, may be fetched."""
        plain = unquote(path)
        fitting = [rule for rule in self.rules if rule.fits(plain)]
        return max(fitting, key=lambda rule: rule.weight).allowed if fitting else True


def read_rules(text: str, agent: str) -> RobotsRules:
    """The groups for this agent, or where there is none, those for everybody."""
    ours = agent.lower()
    groups: dict[str, list[Rule]] = {}
    named: set[str] = set()
    in_rules = False
    for key, value in _lines(text):
        if key == "user-agent":
            named = set() if in_rules else named
            in_rules = False
            if value.lower() in (ours, "*"):
                named.add(value.lower())
                groups.setdefault(value.lower(), [])
        elif key in ("allow", "disallow"):
            in_rules = True
            for name in named if value else ():
                groups[name].append(_rule(value, allowed=key == "allow"))
    return RobotsRules(rules=tuple(groups.get(ours, groups.get("*", ()))[:_MOST_RULES]))


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for line in text.removeprefix("\ufeff").splitlines():
        key, colon, value = line.split("#", 1)[0].partition(":")
        if colon:
            yield key.strip().lower(), value.strip()


def _rule(pattern: str, *, allowed: bool) -> Rule:
    to_the_end = pattern.endswith("$")
    pieces = tuple(unquote(piece) for piece in pattern.removesuffix("$").split("*"))
    return Rule(allowed=allowed, pieces=pieces, to_the_end=to_the_end)
