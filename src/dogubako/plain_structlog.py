"""Loads structlog without rich, which it would take along for coloured tracebacks that nobody here sees.

Importing rich is a fifth of our cold start. It is hidden for this one import only; the command line still uses it.
"""

import sys

if "rich" not in sys.modules and "structlog" not in sys.modules:
    sys.modules["rich"] = None  # type: ignore[assignment]
    try:
        import structlog  # noqa: F401
    finally:
        del sys.modules["rich"]
