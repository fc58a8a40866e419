"""Records of tasks in the shared Redis, encrypted."""

import time
from hashlib import blake2b
from typing import Any, Final

import msgspec

from dogubako.key_ring import key_id_of
from dogubako.outbound.shared_cipher import SharedCipher
from dogubako.outbound.shared_redis import SharedRedis
from dogubako.tasks.records import TaskRecord, decode_record, encode_record
from dogubako.tasks.store import KEPT, too_many

# A run that does not renew its lease has ended with its process.
LEASE_SECONDS: Final = 15.0
_MANY: Final = 1_000_000
# A worker of Docket that has said nothing for so long is gone: five of its heartbeats.
_SILENT_SECONDS: Final = 50.0
_PURPOSE: Final = b"dogubako tasks"
# Removes expired tasks from the lists of a caller and of all, counts those of the caller, and adds one.
_CREATE: Final = """
redis.call('ZREMRANGEBYSCORE', KEYS[2], 0, ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[3], 0, ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[4], 0, ARGV[3])
if redis.call('ZCARD', KEYS[3]) >= tonumber(ARGV[5]) then return 0 end
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[6]) then return 0 end
redis.call('HSET', KEYS[1], 'revision', ARGV[7], 'record', ARGV[2])
redis.call('PEXPIREAT', KEYS[1], ARGV[4])
for at = 2, 4 do
  redis.call('ZADD', KEYS[at], ARGV[4], ARGV[1])
  redis.call('PEXPIREAT', KEYS[at], ARGV[4])
end
return 1
"""
# Replaces a record of this revision. One that has ended no longer counts as unfinished.
_SAVE: Final = """
if redis.call('HGET', KEYS[1], 'revision') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'revision', ARGV[1] + 1, 'record', ARGV[2])
if ARGV[3] == '1' then redis.call('ZREM', KEYS[2], ARGV[4]) end
return 1
"""
_CLAIM: Final = """
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""
_RELEASE: Final = """
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""


class RedisTaskStore:
    """Tasks of all processes, encrypted."""

    def __init__(self, shared: SharedRedis) -> None:
        self._shared = shared
        self._cipher = SharedCipher(shared, _PURPOSE)
        register: Any = shared.client.register_script
        self._create, self._save = register(_CREATE), register(_SAVE)
        self._claim, self._release = register(_CLAIM), register(_RELEASE)
        self._all = shared.name("tasks-of", "all")

    async def workers(self) -> int:
        # Docket writes it; `tests/tasks/test_shared_tasks.py` would miss it.
        key = self._shared.name("tasks", "workers")
        since = time.time() - _SILENT_SECONDS
        return int(await self._shared.run(lambda: self._shared.client.zcount(key, since, "+inf"), key))

    async def create(self, record: TaskRecord, *, most: int) -> None:
        if not await self._stored(record, most):
            raise too_many(most)

    async def restore(self, record: TaskRecord) -> None:
        await self._stored(record, _MANY)

    async def _stored(self, record: TaskRecord, most: int) -> bool:
        keys = (*self._keys(record), self._all)
        now, expires = round(time.time() * 1000), round(record.expires * 1000)
        arguments = (record.id, self._sealed(keys[0], record), now, expires, most, most * KEPT, record.revision)
        return bool(await self._shared.run_script(self._create, keys, *arguments))

    async def load(self, task_id: str) -> TaskRecord | None:
        key = self._shared.name("task", task_id)
        sealed = await self._shared.run(lambda: self._shared.client.hget(key, "record"))
        plain = self._cipher.open(key, sealed) if isinstance(sealed, bytes) else None
        return decode_record(plain) if plain is not None else None

    async def is_sealed_by_others(self, task_id: str) -> bool:
        key = self._shared.name("task", task_id)
        sealed = await self._shared.run(lambda: self._shared.client.hget(key, "record"))
        return isinstance(sealed, bytes) and key_id_of(sealed) not in self._shared.ring.ids

    async def save(self, record: TaskRecord) -> bool:
        key, _, unfinished = self._keys(record)
        newer = msgspec.structs.replace(record, revision=record.revision + 1)
        arguments = (record.revision, self._sealed(key, newer), int(record.ended), record.id)
        return bool(await self._shared.run_script(self._save, [key, unfinished], *arguments))

    async def ids_of(self, owner: str) -> list[str]:
        return await self._ids_in(self._list("kept", owner), _MANY)

    async def newest_ids(self, most: int) -> list[str]:
        return await self._ids_in(self._all, most)

    async def _ids_in(self, name: str, most: int) -> list[str]:
        now = round(time.time() * 1000)
        found = await self._shared.run(
            lambda: self._shared.client.zrange(name, "+inf", f"({now}", byscore=True, desc=True, offset=0, num=most)
        )
        return [one.decode() for one in found]

    async def claim(self, task_id: str, run: str) -> bool:
        lease = round(LEASE_SECONDS * 1000)
        return bool(await self._shared.run_script(self._claim, [self._shared.name("task-run", task_id)], run, lease))

    async def release(self, task_id: str, run: str) -> None:
        await self._shared.run_script(self._release, [self._shared.name("task-run", task_id)], run)

    def _keys(self, record: TaskRecord) -> tuple[str, str, str]:
        return (
            self._shared.name("task", record.id),
            self._list("kept", record.owner),
            self._list("unfinished", record.owner),
        )

    def _list(self, kind: str, owner: str) -> str:
        hidden = blake2b(owner.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        return self._shared.name("tasks-of", kind, hidden)

    def _sealed(self, key: str, record: TaskRecord) -> bytes:
        return self._cipher.seal(key, encode_record(record))
