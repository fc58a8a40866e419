"""A recorded execution told again: with the ids of this server, and as if it had happened just now."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dogubako.sandbox.n8n.clock import to_ms, to_text
from dogubako.sandbox.n8n.workflow_parts import Json

# Nodes that wait for a call, not for a time, wait until then.
_FOREVER: Final = "3000-01-01T00:00:00.000Z"
_MOMENTS: Final = frozenset({"createdAt", "startedAt", "stoppedAt", "waitTill"})
_STAMPS: Final = frozenset({"startTime", "establishedAt", "timestamp"})
_EXECUTION_IDS: Final = frozenset({"executionId", "parentExecutionId"})
# What users put into items may look like ours; it stays as it is.
_ITEMS: Final = frozenset({"json", "binary"})
# A crashed execution counts in seconds.
_LAST_SECOND: Final = 10**11


@dataclass(frozen=True, kw_only=True)
class Retelling:
    """What is said instead: new ids for old ones, and every moment `shift` milliseconds later."""

    executions: Mapping[str, str]
    workflows: Mapping[str, str]
    shift: int

    def of(self, recorded: Json) -> Json:
        """A copy that shares nothing with the recording but the items."""
        told: Json = self._told("", recorded)
        told["id"] = self.executions[recorded["id"]]
        for link in ("retryOf", "retrySuccessId"):
            told[link] = self.executions.get(str(recorded.get(link)))
        return told

    def _told(self, key: str, value: Any) -> Any:
        match value:
            case dict():
                return {name: each if name in _ITEMS else self._told(name, each) for name, each in value.items()}
            case list():
                return [self._told(key, each) for each in value]
            case str():
                return self._text(key, value)
            case int() if key in _STAMPS:
                return value + (self.shift if value > _LAST_SECOND else self.shift // 1000)
        return value

    def _text(self, key: str, value: str) -> str:
        if key in _MOMENTS and value != _FOREVER:
            return to_text(to_ms(value) + self.shift)
        if key in _EXECUTION_IDS:
            return self.executions.get(value, value)
        if key == "resumeUrl":
            return re.sub(r"(?<=/webhook-waiting/)\d+", lambda found: self.executions.get(found[0], found[0]), value)
        return self.workflows.get(value, value)


def end_of(recorded: Json) -> int:
    """When it ended, or began if it has not ended."""
    return to_ms(recorded["stoppedAt"] or recorded["startedAt"])
