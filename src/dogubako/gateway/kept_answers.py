"""Large answers of tools that must not run twice, kept for a while so that their caller can read on."""

import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from dogubako.contract.errors import NotFoundError
from dogubako.contract.output import Blocks
from dogubako.gateway.messages import digest, encoded

KEPT_SECONDS: Final = 900.0
MOST_BYTES: Final = 64 * 1024 * 1024
# A smaller answer fits every budget.
_SMALL_BYTES: Final = 4 * 1024

Key = tuple[str, str]


class _Kept(NamedTuple):
    answer: Blocks
    size: int
    until: float


class KeptAnswers:
    """Answers by caller, tool and arguments. The oldest ones give way to new ones."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, _Kept] = OrderedDict()
        self._bytes = 0

    def keep(self, key: Key, answer: Blocks) -> None:
        """Keep an answer, if it is large and not larger than all that may be kept."""
        self._drop(key)
        size = _size_of(answer)
        if not _SMALL_BYTES < size <= MOST_BYTES:
            return
        self._kept[key] = _Kept(answer, size, time.monotonic() + KEPT_SECONDS)
        self._bytes += size
        while self._kept and (self._bytes > MOST_BYTES or next(iter(self._kept.values())).until < time.monotonic()):
            self._drop(next(iter(self._kept)))

    def read(self, key: Key) -> Blocks:
        """The answer of an earlier call. NotFoundError if it is no longer there."""
        kept = self._kept.get(key)
        if kept is None or kept.until < time.monotonic():
            raise NotFoundError(
                "The rest of this answer is no longer kept.",
                hint="Calling the tool again would run it again; ask for less at once then.",
            )
        return kept.answer

    def _drop(self, key: Key) -> None:
        if (kept := self._kept.pop(key, None)) is not None:
            self._bytes -= kept.size


def key_of(caller: str, tool: str, arguments: Mapping[str, Any]) -> Key:
    """The key of a call. Only the same caller finds its answer."""
    return caller, digest(tool, arguments)


def _size_of(answer: Blocks) -> int:
    """About how much memory an answer takes: as much as its JSON."""
    return len(encoded([list(answer.content), answer.structured]))
