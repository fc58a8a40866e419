"""Everything that the processes of one server share in a Redis. Loaded only with `DOGUBAKO_SHARED`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dogubako.key_ring import KeyRing
from dogubako.outbound.process_messages import RedisMessages
from dogubako.outbound.sealed_records import SealedRecords
from dogubako.outbound.shared_news import SharedNews
from dogubako.outbound.shared_owners import RedisOwners
from dogubako.outbound.shared_redis import SharedRedis
from dogubako.outbound.shared_sessions import RedisSessions
from dogubako.outbound.shared_store import RedisStore
from dogubako.outbound.shared_switches import SharedSwitches
from dogubako.settings import Settings


class SharedParts:
    """The connection to the Redis, and what this server keeps in it."""

    def __init__(self, settings: Settings) -> None:
        self.redis = SharedRedis(settings)
        self.switches = SharedSwitches(self.redis)
        self.news = SharedNews(self.redis)
        self.store = RedisStore(self.redis)
        self.messages = RedisMessages(self.redis)
        self.owners = RedisOwners(self.redis, self.messages)
        self.sessions = RedisSessions(self.redis, self.messages.process)
        self.sign_ins = SealedRecords(self.redis, "sign-ins", ring=KeyRing.of_credentials(settings))
        self.servers = SealedRecords(self.redis, "servers", path=settings.data_dir / "servers" / "shared.json")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Read what is shared, follow its changes, and hear other processes."""
        async with self.redis.running(), self.messages.running(), self.owners.running():
            yield
