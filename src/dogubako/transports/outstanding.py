"""Requests that have been asked and not yet answered."""

import anyio


class Outstanding:
    """Remembers ids, and can be waited for."""

    def __init__(self) -> None:
        self._ids: set[str | int] = set()
        self._empty = anyio.Event()

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, request_id: str | int) -> None:
        self._ids.add(request_id)

    def discard(self, request_id: str | int | None) -> None:
        if request_id in self._ids:
            self._ids.discard(request_id)
            if not self._ids:
                self._empty.set()

    async def all_answered(self) -> None:
        """Return when nothing is left to answer."""
        while self._ids:
            self._empty = anyio.Event()
            await self._empty.wait()
