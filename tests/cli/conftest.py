"""Commands configure the logging of the whole process; the next test finds it as it was."""

from tests.doors.conftest import _own_logging

__all__ = ["_own_logging"]
