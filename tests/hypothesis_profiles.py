"""How many examples property tests try: few with `pytest --quick` (`make test`), all of them otherwise."""

from typing import Final

from hypothesis import settings

_QUICK: Final = "quick"
_FULL: Final = "full"
_QUICK_EXAMPLES: Final = 15

# How long an example takes says more about the machine than about us; speed is measured in `make bench`.
settings.register_profile(_QUICK, deadline=None, max_examples=_QUICK_EXAMPLES)
settings.register_profile(_FULL, deadline=None)


def load_profile(*, quick: bool) -> None:
    """Choose the profile. Call this before the test modules are imported: decorators read it."""
    settings.load_profile(_QUICK if quick else _FULL)


def examples(count: int) -> int:
    """The `max_examples` of a test that wants another number than the profile: never more than a quick run allows."""
    return min(count, _QUICK_EXAMPLES) if settings.get_current_profile_name() == _QUICK else count
