"""Fixtures of the search engines' tests."""

from tests.log_capture import no_log_on_the_terminal

__all__ = ["no_log_on_the_terminal"]
