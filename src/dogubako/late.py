"""Load one of our doors, a service of the sandbox, or what else not everybody needs, at the moment it is opened.

The MCP SDK and the HTTP server cost most of a second to import; a command that does not need them should not wait for
them (docs/adr/0004-doors-are-loaded-when-opened.md).
"""

from importlib import import_module
from typing import Any, Literal

LateModule = Literal[
    "dogubako.serving",
    "dogubako.engine.search.semantic_search",
    "dogubako.gate.oauth",
    "dogubako.transports.stdio_loop",
    "dogubako.sandbox.n8n.app",
    "dogubako.sandbox.redmine.app",
    "dogubako.sandbox.web.app",
]


def load(module: LateModule) -> Any:
    """The module, imported now at the latest."""
    return import_module(module)
