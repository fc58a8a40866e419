"""The names that most tool files need: decorators, the call's context, packs, and the toolbox itself.

This is the public API for tool authors. `dogubako.output` has what a tool may return, `dogubako.errors` what it may
raise, `dogubako.tools` tools as classes and the parts of packs, `dogubako.testing` a client for tests. Everything
outside of these modules may change without notice.
"""

import gc as _gc
from typing import TYPE_CHECKING, Any

_collects = _gc.isenabled()
# Imports create no garbage; collecting meanwhile would take a twentieth of their time.
_gc.disable()
try:
    from dogubako._lazy import load as _load
    from dogubako._version import __version__
    from dogubako.contract.context import Context
    from dogubako.contract.function_resource import prompt, resource
    from dogubako.contract.function_tool import tool
    from dogubako.contract.injection import Depends, lifespan
    from dogubako.contract.metadata import Effect
    from dogubako.contract.pack import Pack
finally:
    if _collects:
        if not _gc.get_freeze_count():
            # Makes all objects old ones: a first look at a hundred thousand new ones would take longer than all others.
            _gc.freeze()
            _gc.unfreeze()
        _gc.enable()

if TYPE_CHECKING:
    from dogubako.app import Toolbox

__all__ = [
    "Context",
    "Depends",
    "Effect",
    "Pack",
    "Toolbox",
    "__version__",
    "lifespan",
    "prompt",
    "resource",
    "tool",
]


def __getattr__(name: str) -> Any:
    """Import `Toolbox` on first use, because it imports the whole server."""
    if name == "Toolbox":
        return _load("dogubako.app").Toolbox
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
