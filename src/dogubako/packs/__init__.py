"""The services that we ship. Each is a folder of the same shape."""

from typing import Any

from dogubako.contract.pack import Pack
from dogubako.packs.core.pack import CORE

PACKS: tuple[Pack[Any, Any], ...] = (CORE,)
