"""A tool that counts what only the garbage collector frees."""

import gc

from dogubako import Effect, tool


@tool(effect=Effect.READ, open_world=False)
async def count_garbage() -> int:
    """Free and count the objects in reference cycles. From the first call on, nothing else frees them."""
    gc.disable()
    return gc.collect()


TOOLS = (count_garbage,)
