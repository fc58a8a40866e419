"""The built-in packs. Their folders have the same structure."""

from typing import Any

from dogubako.contract.pack import Pack
from dogubako.packs.core.pack import CORE
from dogubako.packs.n8n.pack import N8N
from dogubako.packs.redmine.pack import REDMINE
from dogubako.packs.web.pack import WEB

PACKS: tuple[Pack[Any, Any], ...] = (CORE, N8N, REDMINE, WEB)
