"""How many examples property tests try: few with `pytest --quick` (`make test`), all of them otherwise."""

import os
from typing import Final

from hypothesis import settings

_QUICK: Final = "quick"
_FULL: Final = "full"
_QUICK_EXAMPLES: Final = 15

# How long an example takes says more about the machine than about us; speed is measured in `make bench`.
# With SAME_EXAMPLES set, as in `.ci/run`, the examples of a test stay the same until its code changes: what passed on
# one machine passes on the next. Everywhere else they are new in every run.
_SAME: Final = bool(os.environ.get("SAME_EXAMPLES"))
settings.register_profile(_QUICK, deadline=None, max_examples=_QUICK_EXAMPLES, derandomize=_SAME)
settings.register_profile(_FULL, deadline=None, derandomize=_SAME)


def load_profile(*, quick: bool) -> None:
    """Choose the profile. Call this before the test modules are imported: decorators read it."""
    settings.load_profile(_QUICK if quick else _FULL)


def examples(count: int) -> int:
    """The `max_examples` of a test that wants another number than the profile: never more than a quick run allows."""
    return min(count, _QUICK_EXAMPLES) if settings.get_current_profile_name() == _QUICK else count
