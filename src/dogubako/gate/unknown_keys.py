"""How often tokens with unknown key ids may make us ask the authorization server.

Anybody can invent a key id, and a good token may have been signed with a key that appeared a moment ago. So:

| an unknown key id | is answered |
| --- | --- |
| while there are fetches left (6 at once, one more every 5 s, all callers together) | by a fetch: let in, or 401 |
| when none are left, and a fetch since we first saw this id did not have it | 401 |
| when none are left, and nothing was fetched since we first saw it | 502 with `Retry-After` (at most 5 s) |

One id uses at most 2 of these fetches in 30 s: a client that repeats an old token does not use them up for others.
While strangers send invented ids, a fetch is made every 5 s, and each of them also brings the keys that others wait
for: a good token is let in after 5 s at the latest, and one of a withdrawn key is 401 when it is tried again.
"""

import hashlib
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

_MOST_AT_ONCE: Final = 6.0
_ONE_MORE_SECONDS: Final = 5.0
_MOST_PER_KEY: Final = 2
_REMEMBERED_SECONDS: Final = 30.0
_MOST_REMEMBERED: Final = 1_000


@dataclass(kw_only=True, slots=True)
class _Seen:
    moment: float
    fetches_before: int
    asked: int = 0


class UnknownKeys:
    """A token bucket for fetches, and a short memory of the ids for which it was asked."""

    def __init__(self) -> None:
        self._left = _MOST_AT_ONCE
        self._filled = time.monotonic()
        self._seen: OrderedDict[bytes, _Seen] = OrderedDict()

    def may_fetch(self, kid: str | None, algorithm: str, fetches_so_far: int) -> bool:
        """Take one fetch for this id, if it may have one."""
        seen = self._remembered(kid, algorithm, fetches_so_far)
        self._fill()
        if seen.asked >= _MOST_PER_KEY or self._left < 1:
            return False
        seen.asked += 1
        self._left -= 1
        return True

    def was_looked_for(self, kid: str | None, algorithm: str, last_fetch: int) -> bool:
        """Whether this fetch was begun after we first saw the id, so that its answer is about this id, too."""
        seen = self._seen.get(_digest(kid, algorithm))
        return seen is not None and last_fetch > seen.fetches_before

    def seconds_to_wait(self) -> float:
        """Until there is a fetch again."""
        self._fill()
        return max(1.0, (1 - self._left) * _ONE_MORE_SECONDS)

    def _remembered(self, kid: str | None, algorithm: str, fetches_so_far: int) -> _Seen:
        id_, now = _digest(kid, algorithm), time.monotonic()
        seen = self._seen.get(id_)
        if seen is None or now - seen.moment > _REMEMBERED_SECONDS:
            seen = self._seen[id_] = _Seen(moment=now, fetches_before=fetches_so_far)
            self._seen.move_to_end(id_)
            if len(self._seen) > _MOST_REMEMBERED:
                self._seen.popitem(last=False)
        return seen

    def _fill(self) -> None:
        now = time.monotonic()
        self._left = min(_MOST_AT_ONCE, self._left + (now - self._filled) / _ONE_MORE_SECONDS)
        self._filled = now


def _digest(kid: str | None, algorithm: str) -> bytes:
    """Of the same size for every id, however long somebody makes it."""
    return hashlib.sha256(f"{algorithm} {kid!r}".encode("utf-8", "surrogatepass")).digest()
