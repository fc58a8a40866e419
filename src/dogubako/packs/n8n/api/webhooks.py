"""Webhooks: the only way to run a workflow from outside."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

import anyio

from dogubako.outbound.http import Answer, Asked
from dogubako.packs.n8n.api.service import N8nService

WEBHOOK: Final = "n8n-nodes-base.webhook"
# A workflow that was just published gets its webhook a little later.
REGISTRATION_SECONDS: Final = 8.0
_PAUSE_SECONDS: Final = 0.25


class WebhooksApi:
    """Calls a workflow's own address, without our API key: webhooks have guards of their own."""

    def __init__(self, service: N8nService) -> None:
        self._service = service

    async def call(self, node: Mapping[str, Any], data: Any, asked: Asked, seconds: float) -> Answer:
        """What the workflow answers. A webhook that is not there yet is given some seconds to appear."""
        parameters = node.get("parameters") or {}
        method = str(parameters.get("httpMethod") or "GET")
        path = "/webhook/" + quote(str(parameters.get("path") or "").strip("/"), safe="/")
        body = data if method != "GET" else None
        answer = await self._service.knock(method, path, asked, json=body, seconds=seconds)
        with anyio.move_on_after(REGISTRATION_SECONDS):
            while nobody_listens(answer):
                await anyio.sleep(_PAUSE_SECONDS)
                answer = await self._service.knock(method, path, asked, json=body, seconds=seconds)
        return answer


def nobody_listens(answer: Answer) -> bool:
    """n8n's own word for it. A workflow may answer 404 too: it has run then, and must not run again."""
    try:
        said = answer.short_json()
    except ValueError:
        return False
    return answer.status == 404 and isinstance(said, dict) and said.get("code") == 404 and "message" in said


def webhook_of(workflow: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The node through which the workflow can be started, if it has one that is switched on."""
    for node in workflow.get("nodes") or ():
        if node.get("type") == WEBHOOK and not node.get("disabled"):
            return dict(node)
    return None
