"""What a toolbox shares with other processes. Without `DOGUBAKO_SHARED` that is nothing, and nothing is imported."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from dogubako._lazy import load
from dogubako.contract.owners import Owners
from dogubako.contract.sessions import SessionStore
from dogubako.contract.storage import ProcessMessages, SharedStore
from dogubako.engine.executor import Bulkhead
from dogubako.settings import Settings

if TYPE_CHECKING:
    from dogubako.outbound.sealed_records import SealedRecords
    from dogubako.outbound.shared_news import SharedNews
    from dogubako.outbound.shared_parts import SharedParts
    from dogubako.outbound.shared_redis import SharedRedis
    from dogubako.outbound.shared_switches import SharedSwitches
    from dogubako.tasks.redis_store import RedisTaskStore


class Sharing(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a toolbox that all processes of one server have in common; each is None where nothing is shared."""

    redis: "SharedRedis | None" = None
    switches: "SharedSwitches | None" = None
    news: "SharedNews | None" = None
    store: SharedStore | None = None
    messages: ProcessMessages | None = None
    owners: Owners | None = None
    sessions: SessionStore | None = None
    servers: "SealedRecords | None" = None
    sign_ins: "SealedRecords | None" = None
    tasks: "RedisTaskStore | None" = None
    make_bulkhead: Callable[..., Bulkhead] = Bulkhead
    background: tuple[Callable[[], AbstractAsyncContextManager[None]], ...] = ()

    @classmethod
    def of(cls, settings: Settings) -> "Sharing":
        """What these settings share."""
        if not settings.shared:
            return cls()
        parts: SharedParts = load("dogubako.outbound.shared_parts").SharedParts(settings)
        bulkheads = load("dogubako.gate.shared_bulkheads").SharedBulkheads(parts.redis)
        return cls(
            redis=parts.redis,
            switches=parts.switches,
            news=parts.news,
            store=parts.store,
            messages=parts.messages,
            owners=parts.owners,
            sessions=parts.sessions,
            servers=parts.servers,
            sign_ins=parts.sign_ins,
            tasks=load("dogubako.tasks.redis_store").RedisTaskStore(parts.redis),
            make_bulkhead=bulkheads.bulkhead,
            background=(parts.running, bulkheads.running),
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Follow what others change, and renew what this process holds."""
        async with AsyncExitStack() as stack:
            for start in self.background:
                await stack.enter_async_context(start())
            yield
