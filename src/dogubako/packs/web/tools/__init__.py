"""Every tool of the web pack."""

from dogubako.packs.web.tools.fetching import TOOLS as FETCHING
from dogubako.packs.web.tools.searching import TOOLS as SEARCHING

TOOLS = (*SEARCHING, *FETCHING)
