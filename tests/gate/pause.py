"""A call that lasts exactly as long as a test wants it to."""

import anyio

from dogubako import Effect, tool


class Pause:
    """A tool that waits until it is let go."""

    def __init__(self) -> None:
        self.begun, self.go_on = anyio.Event(), anyio.Event()

        @tool(effect=Effect.READ)
        async def pause() -> str:
            """Wait."""
            self.begun.set()
            await self.go_on.wait()
            return "rested"

        self.tool = pause
