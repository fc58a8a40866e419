"""What real executions looked like. They lie as files in `recordings/`; nothing is read before somebody asks."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from dogubako.sandbox.n8n.workflow_parts import Json


@dataclass(frozen=True, kw_only=True)
class Webhook:
    """What the caller of the webhook was told."""

    status: int
    body: Any


@dataclass(frozen=True, kw_only=True)
class Recording:
    """One execution as a real n8n told it, with those of the sub-workflows that it called."""

    key: str
    webhook: Webhook | None
    execution: Json
    children: tuple[Json, ...]

    @property
    def all_executions(self) -> tuple[Json, ...]:
        return (self.execution, *self.children)

    @property
    def is_retry(self) -> bool:
        return self.execution.get("retryOf") is not None

    @property
    def shows_a_call(self) -> bool:
        """A webhook was called and nobody interfered: so it will look the next time."""
        return self.webhook is not None and self.execution["status"] not in ("canceled", "crashed")


@lru_cache(maxsize=1)
def recordings() -> tuple[Recording, ...]:
    """All of them, by key; a retry comes after what it repeats. They are shared: copy before you change one."""
    folder = files("dogubako.sandbox.n8n").joinpath("recordings")
    texts = [each.read_bytes() for each in folder.iterdir() if each.name.endswith(".json")] if folder.is_dir() else []
    return tuple(sorted(map(_parsed, texts), key=lambda each: (each.is_retry, each.key)))


def _parsed(text: bytes) -> Recording:
    said: Mapping[str, Any] = json.loads(text)
    webhook = said.get("webhook")
    return Recording(
        key=said["key"],
        webhook=Webhook(status=webhook["status"], body=webhook["body"]) if webhook else None,
        execution=said["execution"],
        children=tuple(said.get("children", ())),
    )
