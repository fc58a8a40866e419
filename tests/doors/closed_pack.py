"""A pack that lacks a setting, so that its tool is there and cannot be called."""

from dogubako import Effect, Pack, tool
from dogubako.tools import MissingSetting, PackSettings, setting


class ClosedSettings(PackSettings):
    url: str | None = setting(None, "CLOSED_URL", "Where the closed service is.")


@tool(effect=Effect.READ)
async def locked() -> str:
    """Say that the lock is open, which it is not."""
    return "open"


class ClosedPack(Pack[ClosedSettings, None]):
    name = "closed"
    tools = (locked,)
    settings = ClosedSettings

    def unconfigured(self, settings: ClosedSettings) -> MissingSetting | None:
        return MissingSetting(reason="The closed service is not configured.", setting="CLOSED_URL")


PACK = ClosedPack()
