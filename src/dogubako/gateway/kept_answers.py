"""Large answers of tools that must not run twice, kept for a while so that their caller can read on."""

import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from dogubako.contract.errors import NotFoundError
from dogubako.contract.output import Blocks
from dogubako.contract.storage import SharedStore
from dogubako.gateway.messages import digest, encoded

KEPT_SECONDS: Final = 900.0
MOST_BYTES: Final = 64 * 1024 * 1024
# A larger one is kept in the process that got it.
_MOST_SHARED_BYTES: Final = 4 * 1024 * 1024
# A smaller answer fits every budget.
_SMALL_BYTES: Final = 4 * 1024

# Stands in the shared store for an answer that only this process has.
_HERE: Final = b"in " + secrets.token_bytes(16)

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

    def keep(self, key: Key, answer: Blocks, size: int) -> None:
        """Keep an answer, if it is not larger than all that may be kept."""
        self.forget(key)
        if size > MOST_BYTES:
            return
        self._kept[key] = _Kept(answer, size, time.monotonic() + KEPT_SECONDS)
        self._bytes += size
        while self._kept and (self._bytes > MOST_BYTES or next(iter(self._kept.values())).until < time.monotonic()):
            self.forget(next(iter(self._kept)))

    def read(self, key: Key) -> Blocks | None:
        """The answer of an earlier call; None if it is no longer there."""
        kept = self._kept.get(key)
        return None if kept is None or kept.until < time.monotonic() else kept.answer

    def forget(self, key: Key) -> None:
        if (kept := self._kept.pop(key, None)) is not None:
            self._bytes -= kept.size


# All servers share the memory for answers that are kept.
_IN_THIS_PROCESS: Final = KeptAnswers()


async def keep(key: Key, answer: Blocks, shared: SharedStore | None) -> None:
    """Keep a large answer: where there is a shared store, for all processes."""
    body = encoded([list(answer.content), answer.structured])
    _IN_THIS_PROCESS.forget(key)
    if len(body) <= _SMALL_BYTES:
        return
    is_huge = len(body) > _MOST_SHARED_BYTES
    stored = shared is not None and await shared.put(_name(key), _HERE if is_huge else body, ttl=KEPT_SECONDS)
    if is_huge or not stored:
        _IN_THIS_PROCESS.keep(key, answer, len(body))


async def read(key: Key, shared: SharedStore | None) -> Blocks:
    """The last answer of this call. NotFoundError if it is no longer there."""
    found = await shared.get(_name(key)) if shared is not None else None
    # The same call may have been answered by several processes. The store has the last answer, or says who has it.
    if found is not None and found.startswith(b"["):
        content, structured = msgspec.json.decode(found)
        return Blocks(content=content, structured=structured)
    if found in (None, _HERE) and (answer := _IN_THIS_PROCESS.read(key)) is not None:
        return answer
    raise NotFoundError(
        "The rest of this answer is no longer kept.",
        hint="Calling the tool again would run it again; ask for less at once then.",
    )


def key_of(caller: str, tool: str, arguments: Mapping[str, Any]) -> Key:
    """The key of a call. Only the same caller finds its answer."""
    return caller, digest(tool, arguments)


def _name(key: Key) -> str:
    return f"kept answer {key[0]} {key[1]}"
