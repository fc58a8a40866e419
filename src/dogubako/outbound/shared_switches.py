"""Switches of tools in the shared Redis: a hash with one field per tool and a version number that only grows.

Every process has a copy, from which calls are decided. It compares the version on news and twice a second, and reads
all fields if it differs. A Redis that knows less than a process (it was emptied, or an older copy took over) gets the
switches back from that process: a tool that was switched off must not come back by itself.
"""

from collections.abc import Mapping
from typing import Final

import structlog

from dogubako.contract.errors import BusyError, ReadOnlyError
from dogubako.contract.storage import Switched, SwitchListener
from dogubako.outbound.redis_cache import Unavailable
from dogubako.outbound.shared_redis import SharedRedis

log = structlog.get_logger("dogubako.outbound")

# Names of tools have no blank and no #.
_VERSION: Final = b"#"
_MOST_TRIES: Final = 5

# Sets fields if the version is still the one that the process has seen.
PUT_FIELDS: Final = """
local version = tonumber(redis.call('HGET', KEYS[1], '#') or '0')
if version ~= tonumber(ARGV[1]) then return -1 end
for i = 2, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
version = redis.call('HINCRBY', KEYS[1], '#', 1)
redis.call('PUBLISH', KEYS[2], 'switches')
return version
"""
# Writes everything back, unless somebody else did so before.
RESTORE_FIELDS: Final = """
local version = tonumber(redis.call('HGET', KEYS[1], '#') or '0')
if version >= tonumber(ARGV[1]) then return 0 end
redis.call('DEL', KEYS[1])
for i = 2, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
redis.call('HSET', KEYS[1], '#', ARGV[1])
redis.call('PUBLISH', KEYS[2], 'switches')
return 1
"""
_UNKNOWN: Final = "This process has not been able to read which tools are switched off: the shared Redis is away."
_AWAY: Final = "The Redis that all processes share does not answer: nothing was switched."
_CONTENDED: Final = "Others switch tools at this moment: nothing was switched."
_ALONE: Final = "Switches are shared by several processes: use PATCH /v1/tools/{name} or the console."


class SharedSwitches:
    """The switches of all processes of one server."""

    def __init__(self, shared: SharedRedis) -> None:
        self.unknown: str | None = None
        self._shared = shared
        self._version = 0
        self._states: dict[Switched, bool] = {}
        self._listener: SwitchListener = lambda changed: None
        self._keys = [shared.name("switches"), shared.name("news")]
        self._put = shared.client.register_script(PUT_FIELDS)
        self._restore = shared.client.register_script(RESTORE_FIELDS)
        # A process that has never read the switches must not run what is switched off.
        self._read = False
        shared.refresh_with(self.refresh)

    def get(self, name: str, version: str) -> bool | None:
        return self._states.get((name, version))

    def set(self, name: str, version: str, enabled: bool) -> None:
        raise ReadOnlyError(_ALONE)

    def forget(self, name: str, version: str) -> None:
        """Keep the switch: the tool is gone in this process only, and may come back."""

    def listen(self, listener: SwitchListener) -> None:
        self._listener = listener

    async def put(self, states: Mapping[Switched, bool]) -> None:
        for _ in range(_MOST_TRIES):
            try:
                version = await self._shared.run_script(self._put, self._keys, self._version, *_fields(states))
                if version > 0:
                    self._apply(version, {**self._states, **states})
                    return
                await self.refresh()
            except Unavailable:
                raise BusyError(_AWAY, hint="Try again in a moment; `dogubako doctor` says more.") from None
        raise BusyError(_CONTENDED, hint="Look at the tool, and try again.")

    async def refresh(self) -> None:
        """Read the switches if their version differs."""
        try:
            version = int(await self._shared.run(lambda: self._shared.client.hget(self._keys[0], _VERSION)) or 0)
            if version == self._version and self._read:
                return
            if version < self._version:
                await self._write_back()
                return
            stored = await self._shared.run(lambda: self._shared.client.hgetall(self._keys[0]))
            version = int(stored.pop(_VERSION, 0))
        except (Unavailable, ValueError):
            if not self._read and self.unknown is None:
                self.unknown = _UNKNOWN
                log.error("The shared Redis is away, so no tool runs here until it answers")
                self._listener(None)
            raise Unavailable from None
        self._apply(version, _states(stored))

    async def _write_back(self) -> None:
        if await self._shared.run_script(self._restore, self._keys, self._version, *_fields(self._states)):
            lost = "The shared Redis had lost switches of tools, which were written back"
            log.warning(lost, switches=len(self._states))

    def _apply(self, version: int, states: dict[Switched, bool]) -> None:
        changed = {key for key in states.keys() | self._states.keys() if states.get(key) != self._states.get(key)}
        self._version, self._states, self._read = version, states, True
        if self.unknown is not None:
            self.unknown = None
            self._listener(None)
        elif changed:
            self._listener(sorted(changed))


def _fields(states: Mapping[Switched, bool]) -> list[str]:
    return [part for (name, version), on in states.items() for part in (f"{name} {version}", "1" if on else "0")]


def _states(stored: Mapping[bytes, bytes]) -> dict[Switched, bool]:
    states = {}
    for field, value in stored.items():
        name, _, version = field.decode("utf-8", "replace").partition(" ")
        states[name, version] = value != b"0"
    return states
