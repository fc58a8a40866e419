"""Tools whose answers are kept in the cache, and one that uses the cache itself. Test-only."""

from dogubako import Context, Effect, tool
from dogubako.output import Json
from dogubako.tools import BaseTool, ToolArgs


class GetRunArgs(ToolArgs):
    run: int


class GetRun(BaseTool[GetRunArgs]):
    """Get one run, which never changes."""

    name = "get_run"
    effect = Effect.READ
    open_world = False
    caches = True
    runs = 0

    async def execute(self, args: GetRunArgs) -> Json:
        GetRun.runs += 1
        return Json(data={"run": args.run, "computed": GetRun.runs}, cacheable=True)


@tool(effect=Effect.READ, open_world=False)
async def keep(text: str, context: Context) -> str:
    """Keep a text in the cache, and read it back."""
    await context.cache.put(f"kept {text}", text.encode())
    found = await context.cache.get(f"kept {text}")
    return "nothing" if found is None else found.decode()


TOOLS = (GetRun(), keep)
