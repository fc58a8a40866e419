"""How much a service may answer: in bytes, and in values, which take far more room than bytes once they are decoded."""

from dataclasses import dataclass
from typing import Final

from dogubako.contract.json_values import at_most_values

MEGABYTE: Final = 1024 * 1024
# Less than this holds too few values to be any trouble.
_NEVER_TOO_MANY: Final = 64 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """The most that is taken. A file that nobody decodes may have as many values as it likes."""

    most_bytes: int
    most_values: int | None = None

    def allows_values_of(self, body: bytes) -> bool:
        """Whether it can be decoded safely: eight megabytes of `[],` would take two hundred, and seconds."""
        if self.most_values is None or len(body) <= _NEVER_TOO_MANY or body.lstrip()[:1] not in (b"[", b"{"):
            return True
        return at_most_values(body) <= self.most_values


# For documents of which everybody knows that they are small: keys, descriptions of a server.
SMALL_DOCUMENT: Final = Bound(most_bytes=MEGABYTE)
