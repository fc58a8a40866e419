"""Call the address of a trigger, and find the execution that this call started among those of other callers.

And tell what its answer is.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal
from uuid import uuid4

import anyio

from dogubako.contract.errors import DogubakoError
from dogubako.outbound.http import Operation, ServiceResponse
from dogubako.packs.n8n.api.executions import nobody_listens
from dogubako.packs.n8n.call_headers import CALL_HEADER
from dogubako.packs.n8n.client import N8nClient
from dogubako.packs.n8n.formatters.truncation import shortened, small_json
from dogubako.packs.n8n.models import Execution, planned_items, read_part
from dogubako.packs.n8n.triggers import Trigger, TriggerRequest

JsonObject = dict[str, Any]
# Whether an execution was started by our call. `alike` has the same data, which another call may have too; `differing`
# shows others, as ours may too where n8n shows something else than it got.
Match = Literal["ours", "alike", "differing", "unknown", "other"]

PAUSE_SECONDS: Final = 0.3
FIND_SECONDS: Final = 5.0
_LISTED: Final = 100
_MOST_MARKERS: Final = 1_000
# Forms and chats of n8n name the execution in their answer.
_WAITING_URL = re.compile(r"/form-waiting/(\d{1,18})(?:[/?]|$)")
_LONGEST_ADDRESS: Final = 500
_CHARSET: Final = re.compile(r"charset=\"?([a-z0-9_:.-]{1,40})")
# Nobody writes these in a text.
_BINARY: Final = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Called:
    """What came of a call: the answer if it came in time, and the execution if it is known which one it is."""

    answer: ServiceResponse | None
    execution: JsonObject | None = None
    candidates: list[JsonObject] = field(default_factory=list)


class TriggerCall:
    """One call of a trigger's address. The execution goes on when we stop waiting for the answer."""

    def __init__(self, client: N8nClient, workflow_id: str, trigger: Trigger, request: TriggerRequest) -> None:
        self._client = client
        self._workflow_id = workflow_id
        self._trigger = trigger
        self._marker = uuid4().hex
        self._request = replace(request, headers={**request.headers, CALL_HEADER: self._marker})
        self._answer: ServiceResponse | None = None
        self._error: DogubakoError | None = None
        self._answered = anyio.Event()
        self._newest_before = 0
        # Executions that somebody else started, by id; and those of which nothing is known.
        self._others: set[int] = set()
        self._left: dict[int, tuple[Match, JsonObject]] = {}

    async def run(self, operation: Operation, *, wait: bool, seconds: float) -> Called:
        """Call it, and wait for the answer if wanted; never longer than `seconds`, and a little to find it."""
        page = await self._client.executions.page(workflowId=self._workflow_id, limit=1)
        self._newest_before = int(page["data"][0]["id"]) if page["data"] else 0
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._send, operation, seconds)
            found = None
            with anyio.move_on_after(seconds):
                found = None if wait else await self._found_before_the_answer()
                if found is None:
                    await self._answered.wait()
            if found is None and self._error is None:
                found = await (self._look() if self._nobody_listens() else self._found())
            tasks.cancel_scope.cancel()
        if self._error is not None:
            raise self._error
        return Called(answer=self._answer, execution=found, candidates=[] if found else self._candidates())

    def _candidates(self) -> list[JsonObject]:
        """What may be ours. If one shows the data that we sent, ours shows them too, so that others are not ours."""
        known = bool(self._alike())
        return [one for _, (match, one) in sorted(self._left.items()) if not (known and match == "differing")]

    def _alike(self) -> dict[int, JsonObject]:
        return {number: one for number, (match, one) in self._left.items() if match == "alike"}

    async def _send(self, operation: Operation, seconds: float) -> None:
        try:
            self._answer = await self._client.webhooks.call(
                self._request, operation, seconds + FIND_SECONDS, self._has_run
            )
        except DogubakoError as error:
            self._error = error
        self._answered.set()

    async def _has_run(self) -> bool:
        """Whether there is an execution that may be of this call: then it must not be repeated."""
        return await self._look() is not None or bool(self._left)

    def _nobody_listens(self) -> bool:
        return self._answer is not None and nobody_listens(self._answer)

    async def _found_before_the_answer(self) -> JsonObject | None:
        while not self._answered.is_set():
            if (found := await self._look()) is not None:
                return found
            with anyio.move_on_after(PAUSE_SECONDS):
                await self._answered.wait()
        return None

    async def _found(self) -> JsonObject | None:
        """Look for some seconds: an answer may come before the execution is listed."""
        with anyio.move_on_after(FIND_SECONDS):
            before: set[int] | None = None
            while True:
                if (found := await self._look()) is not None:
                    return found
                # Nobody else sent the same data meanwhile.
                alike = self._alike()
                if len(alike) == 1 and before == set(alike):
                    return next(iter(alike.values()))
                before = set(alike)
                await anyio.sleep(PAUSE_SECONDS)
        return None

    async def _look(self) -> JsonObject | None:
        """The execution that is ours for certain. What else is new is remembered."""
        page = await self._client.executions.page(workflowId=self._workflow_id, limit=_LISTED)
        new = {int(one["id"]): one for one in page["data"] if int(one["id"]) > self._newest_before}
        named = self._named_in_answer()
        for number in sorted(new.keys() - self._others):
            match = "ours" if number == named else await self._match(new[number])
            self._left.pop(number, None)
            if match == "ours":
                return dict(new[number])
            if match == "other":
                self._others.add(number)
            else:
                self._left[number] = (match, new[number])
        return None

    def _named_in_answer(self) -> int | None:
        """The execution that n8n names in its own answer to a form or a chat."""
        if self._answer is None or self._trigger.kind == "webhook":
            return None
        try:
            body = self._answer.short_json()
        except ValueError:
            return None
        if not isinstance(body, Mapping):
            return None
        told = _WAITING_URL.search(str(body.get("formWaitingUrl")))
        number = told[1] if told else body.get("executionId") if body.get("executionStarted") is True else None
        return int(number) if number is not None and str(number).isdecimal() else None

    async def _match(self, listed: JsonObject) -> Match:
        if listed.get("retryOf"):
            return "other"
        markers = self._client.webhooks.markers
        number = str(listed["id"])
        if number not in markers:
            try:
                item = first_item(await self._client.executions.get(number), self._trigger.name)
            except DogubakoError:
                return "unknown"
            if self._trigger.kind != "webhook":
                return self._same_data(item)
            headers = item.get("headers") if item is not None else None
            if not isinstance(headers, Mapping):
                return "unknown"
            if len(markers) >= _MOST_MARKERS:
                markers.clear()
            markers[number] = str(headers.get(CALL_HEADER.lower()))
        return "ours" if markers[number] == self._marker else "other"

    def _same_data(self, item: JsonObject | None) -> Match:
        """Forms and chats show no headers, but the fields that were sent."""
        sent = self._request.shown
        if item is None:
            return "unknown"
        if not all(_same(value, item.get(name)) for name, value in sent.items()):
            return "differing"
        return "ours" if self._request.unique else "alike"


def _same(sent: Any, shown: Any) -> bool:
    """Whether an item shows what was sent. n8n reads numbers, and takes blanks away from texts."""
    if isinstance(shown, int | float) and not isinstance(shown, bool):
        try:
            return float(sent) == shown
        except (TypeError, ValueError):
            return False
    return sent == shown if isinstance(sent, list) else str(sent).strip() == str(shown).strip()


def first_item(execution: Execution, trigger: str) -> JsonObject | None:
    """The item that the trigger began with. While an execution runs, n8n shows it as the next thing to do."""
    runs = execution.runs.get(trigger)
    # A webhook for several methods has an output for each.
    items = next(filter(None, runs[0].outputs), None) if runs else None
    planned = () if items else planned_items(execution)
    item = read_part(items[0]) if items else next((one for node, one in planned if node == trigger), None)
    data = item.get("json") if isinstance(item, Mapping) else None
    return data if isinstance(data, dict) and data else None


async def shown_answer(answer: ServiceResponse) -> JsonObject:
    """Its status, where it redirects to, and what it says in short."""
    shown: JsonObject = {"status": answer.status}
    if location := answer.headers.get("location"):
        shown["location"] = shortened(location, _LONGEST_ADDRESS)
    return {**shown, "body": await _body(answer)}


async def _body(answer: ServiceResponse) -> Any:
    try:
        shown = small_json(await answer.json())
    except ValueError:
        shown = _text(answer)
    if isinstance(shown, dict):
        shown.pop("stacktrace", None)
    return shown


def _text(answer: ServiceResponse) -> Any:
    """The text, or what kind of file it is and how large."""
    charset = _CHARSET.search(answer.content_type)
    try:
        text = answer.body.decode(charset[1] if charset else "utf-8")
    except (LookupError, ValueError):
        text = None
    if text is not None and not _BINARY.search(text):
        return small_json(text)
    kind = answer.content_type.partition(";")[0].strip() or "of no type"
    return f"[a file, {kind}, {len(answer.body):,} bytes]"
