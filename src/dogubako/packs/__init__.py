"""The services that we ship. Each is a folder of the same shape."""

from typing import Any

from dogubako.contract.pack import Pack

PACKS: tuple[Pack[Any, Any], ...] = ()
