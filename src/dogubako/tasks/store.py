"""Where records of tasks are kept. The store of this module keeps them in this process."""

import time
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from dogubako.contract.errors import BusyError
from dogubako.engine.events import Subscribers
from dogubako.tasks.records import TaskRecord, decode_record, encode_record

# Tasks that a caller may keep, as a multiple of those that may be unfinished.
KEPT: Final = 10


class TaskStore(Protocol):
    """Keeps tasks until they expire. The shared one raises Unavailable while its Redis does not answer."""

    async def create(self, record: TaskRecord, *, most: int) -> None:
        """Store a new task, or raise BusyError if the caller has `most` unfinished ones."""

    async def restore(self, record: TaskRecord) -> None:
        """Store a task again that a Redis has forgotten, which was emptied."""

    async def load(self, task_id: str) -> TaskRecord | None: ...

    async def workers(self) -> int:
        """How many processes run tasks."""

    async def is_sealed_by_others(self, task_id: str) -> bool:
        """Whether there is such a task, which this process lacks the key for."""

    async def save(self, record: TaskRecord) -> bool:
        """Replace the record that has the same revision. False if another one was stored meanwhile."""

    async def ids_of(self, owner: str) -> list[str]:
        """The tasks of a caller, the newest first."""

    async def newest_ids(self, most: int) -> list[str]:
        """The tasks of all callers, the newest first."""

    async def claim(self, task_id: str, run: str) -> bool:
        """Lease a task to a run. False if another run holds it. The holder renews it by claiming it again."""

    async def release(self, task_id: str, run: str) -> None: ...


def too_many(most: int) -> BusyError:
    return BusyError(
        f"You have {most:,} unfinished tasks, or {most * KEPT:,} whose results are kept.",
        hint="Wait until some end, or cancel some.",
        retry_after=5,
    )


class MemoryTaskStore:
    """The tasks of this process. They end with it."""

    def __init__(self) -> None:
        self._records: dict[str, tuple[float, str, bytes]] = {}

    async def workers(self) -> int:
        return 1

    async def create(self, record: TaskRecord, *, most: int) -> None:
        self._forget_expired()
        kept = [key for key, (_, owner, _) in self._records.items() if owner == record.owner]
        unfinished = 0
        if len(kept) >= most:
            loaded = [await self.load(key) for key in kept]
            unfinished = sum(one is not None and not one.ended for one in loaded)
        if unfinished >= most or len(kept) >= most * KEPT:
            raise too_many(most)
        await self.restore(record)

    async def restore(self, record: TaskRecord) -> None:
        self._records[record.id] = (record.expires, record.owner, encode_record(record))

    async def load(self, task_id: str) -> TaskRecord | None:
        found = self._records.get(task_id)
        return decode_record(found[2]) if found is not None and found[0] > time.time() else None

    async def is_sealed_by_others(self, task_id: str) -> bool:
        return False

    async def save(self, record: TaskRecord) -> bool:
        current = await self.load(record.id)
        if current is None or current.revision != record.revision:
            return False
        newer = msgspec.structs.replace(record, revision=record.revision + 1)
        self._records[record.id] = (record.expires, record.owner, encode_record(newer))
        return True

    async def ids_of(self, owner: str) -> list[str]:
        self._forget_expired()
        return [key for key, (_, whose, _) in reversed(self._records.items()) if whose == owner]

    async def newest_ids(self, most: int) -> list[str]:
        self._forget_expired()
        return list(reversed(self._records))[:most]

    async def claim(self, task_id: str, run: str) -> bool:
        return True

    async def release(self, task_id: str, run: str) -> None:
        return None

    def _forget_expired(self) -> None:
        now = time.time()
        for key in [key for key, (expires, _, _) in self._records.items() if expires <= now]:
            del self._records[key]


# Returns the changed record, or None to leave it as it is.
Change = Callable[[TaskRecord], TaskRecord | None]


class TaskChanges:
    """Changes records of a store, however many processes do so, and tells who listens in this process."""

    def __init__(self, store: TaskStore) -> None:
        self.store = store
        self.listeners: Subscribers[TaskRecord] = Subscribers()

    async def change(self, task_id: str, change: Change) -> TaskRecord | None:
        """Change a task. Returns the record that is stored now, or None if there is no such task."""
        while (record := await self.store.load(task_id)) is not None:
            changed = change(record)
            if changed is None:
                return record
            if await self.store.save(changed):
                stored = msgspec.structs.replace(changed, revision=changed.revision + 1)
                self.listeners.tell(stored)
                return stored
        return None
