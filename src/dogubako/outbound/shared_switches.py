"""Switches of tools in the shared Redis: one field per tool in a hash that every process has a copy of.

A tool that was switched off must not come back by itself: processes write back what Redis has lost.
"""

from collections.abc import Mapping
from typing import Final

import structlog

from dogubako.contract.errors import BusyError, ReadOnlyError
from dogubako.contract.storage import Switched, SwitchListener
from dogubako.outbound.redis_cache import Unavailable
from dogubako.outbound.shared_hash import Fields, SharedHash
from dogubako.outbound.shared_redis import SharedRedis

log = structlog.get_logger("dogubako.outbound")

_HASH: Final = "switches"
_UNKNOWN: Final = "This process has not been able to read which tools are switched off: the shared Redis is away."
_AWAY: Final = "The Redis that all processes share {reason}: nothing was switched."
_CONTENDED: Final = "Others switch tools at this moment: nothing was switched."
_ALONE: Final = "Switches are shared by several processes: use PATCH /v1/tools/{name} or the console."


class SharedSwitches:
    """The switches of all processes of one server."""

    def __init__(self, shared: SharedRedis) -> None:
        # A process that has never read the switches must not run what is switched off.
        self.unknown: str | None = None
        self._states: dict[Switched, bool] = {}
        self._listener: SwitchListener = lambda changed: None
        self._hash = SharedHash(shared, _HASH, self._apply)
        shared.decides_calls(_HASH)
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
        changes = _fields(states)
        try:
            done = await self._hash.change(lambda fields: changes)
        except Unavailable as error:
            raise BusyError(
                _AWAY.format(reason=error.reason), hint="Try again in a moment; `dogubako doctor` says more."
            ) from None
        if not done:
            raise BusyError(_CONTENDED, hint="Look at the tool, and try again.")

    async def refresh(self) -> None:
        """Read the switches if they changed, or raise Unavailable."""
        try:
            await self._hash.refresh()
        except Unavailable:
            if not self._hash.is_read and self.unknown is None:
                self.unknown = _UNKNOWN
                log.error("The shared Redis is away, so no tool runs here until it answers")
                self._listener(None)
            raise

    def _apply(self) -> None:
        before, self._states = self._states, _states(self._hash.fields)
        changed = {key for key in self._states.keys() | before.keys() if self._states.get(key) != before.get(key)}
        if self.unknown is not None:
            self.unknown = None
            self._listener(None)
        elif changed:
            self._listener(sorted(changed))


def _fields(states: Mapping[Switched, bool]) -> Fields:
    # Names of tools have no blank.
    return {f"{name} {version}".encode(): b"1" if on else b"0" for (name, version), on in states.items()}


def _states(stored: Fields) -> dict[Switched, bool]:
    states = {}
    for field, value in stored.items():
        name, _, version = field.decode("utf-8", "replace").partition(" ")
        states[name, version] = value != b"0"
    return states
