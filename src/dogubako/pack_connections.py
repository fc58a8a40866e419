"""Open and close the clients of packs."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack

import structlog

from dogubako.contract.errors import DogubakoError
from dogubako.contract.pack import Host
from dogubako.loading import place_of
from dogubako.pack_state import PackState, reference
from dogubako.settings import SettingsError

log = structlog.get_logger("dogubako")


class PackConnections:
    """The open clients of all packs. One service that is down does not prevent the others."""

    def __init__(self, host_of: Callable[[PackState], Host]) -> None:
        self._host_of = host_of
        # Tasks that hold clients open, which can be closed before the others.
        self._held: list[asyncio.Task[None]] = []

    async def connect(self, state: PackState, stack: AsyncExitStack) -> None:
        """Open the clients of a pack, until the stack ends."""
        host = self._host_of(state)
        for instance in state.instances.values():
            try:
                client = await stack.enter_async_context(state.pack.connect(instance.settings, host))
                state.connected(instance, client)
            except DogubakoError as error:
                # One service that is down must not prevent the others.
                name = reference(state.pack.name, instance.name)
                log.error("Pack could not connect", pack=name, code=error.code, exc_info=error)

    async def hold(self, state: PackState) -> None:
        """Open the client of a tools file in its own task, so that it can be closed before the others."""
        opened = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._keep_open(state, opened))
        self._held.append(task)
        try:
            await opened
        except asyncio.CancelledError:
            self._held.remove(task)
            task.cancel()
            raise

    async def _keep_open(self, state: PackState, opened: "asyncio.Future[None]") -> None:
        try:
            async with state.pack.connect(state.settings, self._host_of(state)) as client:
                state.connected(next(iter(state.instances.values())), client)
                opened.set_result(None)
                await state.released.wait()
        except DogubakoError as error:
            log.error("Pack could not connect", pack=state.pack.name, code=error.code, exc_info=error)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            if opened.done():
                # The top of a task: nothing above handles the error.
                log.error("Pack could not be closed", pack=state.pack.name, exc_info=error)
            else:
                place = place_of(state.file, error) if state.file else state.pack.name
                failure = SettingsError(f"{place} could not be opened: {type(error).__name__}: {error}")
                failure.__cause__ = error
                opened.set_exception(failure)
        finally:
            if not opened.done():
                opened.set_result(None)

    async def close(self, packs: Mapping[str, PackState]) -> None:
        """Close the clients that are held in tasks of their own."""
        for state in packs.values():
            state.released.set()
        await asyncio.gather(*self._held)
        self._held.clear()
