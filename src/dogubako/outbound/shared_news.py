"""News of changed resources and prompts in the shared Redis: a short stream that every process reads on.

News of tools need none of this: each process tells its clients when its copy of the switches changes.
"""

import secrets
from collections import deque
from typing import Any, Final

from dogubako.contract.storage import ChangeKind, ChangeListener
from dogubako.outbound.redis_cache import Unavailable
from dogubako.outbound.shared_redis import SharedRedis

# News that wait for Redis, and news that it keeps for those who were away.
_MOST: Final = 1_000
_KINDS: Final[tuple[ChangeKind, ...]] = ("resources", "prompts", "updated")
_BEGINNING: Final = b"0-0"
# A script, because pipelines to a cluster cannot publish.
_PUBLISH: Final = """
for i = 3, #ARGV, 2 do
  redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'process', ARGV[2], 'kind', ARGV[i], 'uri', ARGV[i + 1])
end
redis.call('PUBLISH', KEYS[2], 'changes')
"""


class SharedNews:
    """Passes changes of this process on, and tells it those of others."""

    def __init__(self, shared: SharedRedis) -> None:
        self._shared = shared
        self._stream = shared.name("changes")
        self._publish = shared.client.register_script(_PUBLISH)
        self._process = secrets.token_hex(8)
        self._waiting: deque[tuple[ChangeKind, str]] = deque(maxlen=_MOST)
        self._listener: ChangeListener = lambda kind, uri: None
        # The last entry that was read; None before the first look, which only learns where the stream ends.
        self._last: bytes | None = None
        shared.refresh_with(self.refresh)

    def listen(self, listener: ChangeListener) -> None:
        self._listener = listener

    def publish(self, kind: ChangeKind, uri: str | None) -> None:
        self._waiting.append((kind, uri or ""))
        self._shared.wake()

    async def refresh(self) -> None:
        """Send what waits, and read what others sent."""
        await self._send()
        client = self._shared.client
        if self._last is None:
            newest = await self._shared.run(lambda: client.xrevrange(self._stream, count=1))
            self._last = newest[0][0] if newest else _BEGINNING
            return
        last = self._last
        entries = await self._shared.run(lambda: client.xrange(self._stream, min=last, count=_MOST))
        if last != _BEGINNING and (not entries or entries[0][0] != last):
            # The last one is gone: the stream was emptied, or had more than it keeps. Clients read their lists again.
            self._listener("resources", None)
            self._listener("prompts", None)
        self._last = entries[-1][0] if entries else _BEGINNING
        for id_, entry in entries:
            if id_ != last:
                self._tell(entry)

    async def _send(self) -> None:
        waiting = list(self._waiting)
        if not waiting:
            return
        self._waiting.clear()
        keys, entries = [self._stream, self._shared.name("news")], [part for entry in waiting for part in entry]
        try:
            await self._shared.run_script(self._publish, keys, _MOST, self._process, *entries)
        except Unavailable:
            self._waiting.extendleft(reversed(waiting))
            raise

    def _tell(self, entry: dict[bytes, Any]) -> None:
        kind, uri = (entry.get(name, b"").decode("utf-8", "replace") for name in (b"kind", b"uri"))
        if entry.get(b"process") != self._process.encode() and kind in _KINDS:
            self._listener(kind, uri or None)
