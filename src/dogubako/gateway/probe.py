"""Connect to a server once, to see what it offers: for `servers add`, `check` and `import`."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dogubako.gateway.definitions import Definitions
from dogubako.gateway.settings import ServerSettings
from dogubako.gateway.upstream import Upstream, UpstreamState
from dogubako.gateway.upstream_calls import UpstreamClient

# `npx` and `uvx` may install a server first.
LONGEST_SECONDS: Final = 120.0
_LOOK_SECONDS: Final = 0.05
_FAILED: Final = frozenset({"sign_in_needed", "broken_configuration", "unreachable"})


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What one attempt showed: the definitions, or the state that says why there are none."""

    state: UpstreamState
    definitions: Definitions | None = None


async def probe(
    name: str,
    settings: ServerSettings,
    *,
    seconds: float = LONGEST_SECONDS,
    connect: Callable[..., UpstreamClient] = Upstream,
) -> Probe:
    """Connect, read the definitions and disconnect. The first failure is the answer."""
    found: asyncio.Future[Definitions] = asyncio.get_running_loop().create_future()

    def received(definitions: Definitions) -> None:
        if not found.done():
            found.set_result(definitions)

    upstream = connect(name, settings, on_definitions=received, on_resource_updated=lambda _: None)
    running = asyncio.create_task(upstream.run())
    try:
        async with asyncio.timeout(seconds):
            while not found.done() and upstream.state.name not in _FAILED:
                await asyncio.wait([found], timeout=_LOOK_SECONDS)
        state = upstream.state
    except TimeoutError:
        state = UpstreamState(name="unreachable", reason=f"It did not answer within {seconds:g} seconds.")
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return Probe(state=state, definitions=found.result() if found.done() else None)
