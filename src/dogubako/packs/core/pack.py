"""Front door of the core pack."""

from dogubako.contract.pack import ToolPack
from dogubako.packs.core.tools import TOOLS

CORE = ToolPack("core", TOOLS)
