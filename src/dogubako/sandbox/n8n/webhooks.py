"""`/webhook/…`: the only way to run a workflow from outside."""

from typing import Final

from dogubako.sandbox.n8n.asking import Answer
from dogubako.sandbox.n8n.clock import now_ms
from dogubako.sandbox.n8n.node_types import webhooks
from dogubako.sandbox.n8n.replaying import recording_of, replay
from dogubako.sandbox.n8n.store import Store
from dogubako.sandbox.n8n.workflow_parts import Json

_HINT: Final = (
    "The workflow must be active for a production URL to run successfully. You can activate the workflow using the "
    "toggle in the top-right of the editor. Note that unlike test URL calls, production URL calls aren't shown on "
    "the canvas (only in the executions list)"
)


def call_webhook(store: Store, method: str, path: str) -> Answer:
    """Replay what the published version did when it was recorded. A real n8n knows a new path a little later."""
    listening = [each for each in store.workflows.values() if each["active"] and path in _methods(each)]
    if not listening:
        return _unregistered(f'The requested webhook "{method} {path}" is not registered.', hint=_HINT)
    known = _methods(listening[0])[path]
    if known != method:
        meant = f"Did you mean to make a {known} request?"
        return _unregistered(f"This webhook is not registered for {method} requests. {meant}")
    return _replayed(store, listening[0])


def _replayed(store: Store, workflow: Json) -> Answer:
    published = {**workflow, **workflow["activeVersion"], "id": workflow["id"], "name": workflow["name"]}
    recording = recording_of(published)
    replay(store, recording, published, ends=now_ms())
    assert recording.webhook is not None
    return Answer(status=recording.webhook.status, body=recording.webhook.body)


def _unregistered(message: str, **more: str) -> Answer:
    trace = f"ResponseError: {message}"
    return Answer(status=404, body={"code": 404, "message": message, **more, "stacktrace": trace})


def _methods(workflow: Json) -> dict[str, str]:
    return {path: method for method, path in webhooks(workflow["activeVersion"]["nodes"])}
