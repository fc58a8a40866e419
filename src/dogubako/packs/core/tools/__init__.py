"""Tools about tools and their answers."""

from dogubako.packs.core.tools.finding import TOOLS as FINDING
from dogubako.packs.core.tools.reading_on import TOOLS as READING_ON

TOOLS = (*READING_ON, *FINDING)
