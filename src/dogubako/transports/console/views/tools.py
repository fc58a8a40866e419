"""The list of tools, and the page of one tool with its form and its answer."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from markupsafe import Markup
from starlette.responses import Response

from dogubako.contract.call import ToolCall, ToolResult
from dogubako.contract.errors import ConfirmationRequiredError, ValidationError
from dogubako.contract.metadata import Effect
from dogubako.contract.offload import offload
from dogubako.engine.registration import ListFilter, ToolRegistryEntry
from dogubako.engine.search import Match
from dogubako.transports.console.answer_view import markdown, rendered
from dogubako.transports.console.page import Form, Visit, page, pages_of, redirect
from dogubako.transports.console.session import PATH
from dogubako.transports.console.snippets import call_snippets
from dogubako.transports.console.statistics import totals_of
from dogubako.transports.console.tool_form import CONFIRM, Field, arguments_of, fields_of, filled
from dogubako.transports.console.views import Views
from dogubako.transports.http.disconnect import CancelHandle, DisconnectWatcher

_PAGE_SIZE: Final = 50
_LONGEST_QUERY: Final = 500
_RAW_JSON: Final = "json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A tool in the list, with its score if it was searched for."""

    entry: ToolRegistryEntry
    score: float | None = None
    why: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownAnswer:
    """The answer of a call on the page of its tool."""

    result: ToolResult
    parts: Sequence[tuple[str, Markup]]
    text: str
    milliseconds: float
    call_id: str


async def index(views: Views, visit: Visit) -> Response:
    """All tools, or those that a search found, with filters."""
    query = visit.query.get("q", "").strip()[:_LONGEST_QUERY]
    everything = views.visible_tools(visit.caller)
    rows, doubtful = await _rows(views, visit, query, everything)
    wanted = {name: visit.query.get(name, "") for name in ("pack", "effect", "state")}
    rows = [row for row in rows if _fits(row.entry, wanted)]
    current, count = pages_of(len(rows), _PAGE_SIZE, visit.number("page", 1, 100_000))
    return await page(
        visit,
        "tools.html",
        active="tools",
        query=query,
        rows=rows[(current - 1) * _PAGE_SIZE : current * _PAGE_SIZE],
        total=len(rows),
        everything=len(everything),
        enabled=sum(entry.enabled for entry in everything),
        doubtful=doubtful,
        wanted=wanted,
        packs=sorted(Counter(entry.pack for entry in everything).items()),
        effects=[effect.value for effect in Effect if effect is not Effect.DELEGATE],
        current=current,
        pages=count,
    )


async def _rows(
    views: Views, visit: Visit, query: str, everything: Iterable[ToolRegistryEntry]
) -> tuple[list[Row], bool]:
    if not query:
        return [Row(entry=entry) for entry in everything], False
    found = await views.inside.finder.find(query, ListFilter(), caller=visit.caller, door="console", explain=True)
    return [_found(one) for one in found.matches or found.nearest], not found.matches and bool(found.nearest)


def _found(match: Match) -> Row:
    return Row(entry=match.entry, score=match.score, why=", ".join(map(str, match.why[:4])))


def _fits(entry: ToolRegistryEntry, wanted: Mapping[str, str]) -> bool:
    return (
        wanted["pack"] in ("", entry.pack)
        and wanted["effect"] in ("", entry.metadata.effect.value)
        and wanted["state"] in ("", "enabled" if entry.enabled else "disabled")
    )


async def show(views: Views, visit: Visit) -> Response:
    """One tool, its form filled with an example if one was chosen."""
    entry = views.tool(visit.request.path_params["name"], visit.caller)
    chosen = visit.number("example", 0, len(entry.examples)) if entry.examples else 0
    arguments = dict(entry.examples[chosen - 1].parameters) if chosen else {}
    return await _tool_page(views, visit, entry, arguments)


async def call(views: Views, visit: Visit, form: Form) -> Response:
    """Run the tool through the pipeline and show the answer on its page."""
    entry = views.tool(visit.request.path_params["name"], visit.caller)
    fields = fields_of(entry.metadata.input_schema)
    arguments, wrong = _arguments(fields, form)
    if wrong:
        messages = {name: visit.t("form.not_json") for name in wrong}
        return await _tool_page(views, visit, entry, arguments, form=form, wrong=messages, status=400)
    if form.first(CONFIRM) == "yes":
        arguments[CONFIRM] = True
    answer = await _run(views, visit, entry, arguments)
    arguments.pop(CONFIRM, None)
    error = answer.result.error
    status = error.http_status if error is not None else 200
    wrong = {str(one["field"]): str(one["message"]) for one in _details(error)}
    return await _tool_page(views, visit, entry, arguments, form=form, answer=answer, wrong=wrong, status=status)


def _arguments(fields: Sequence[Field], form: Form) -> tuple[dict[str, Any], dict[str, str]]:
    if _RAW_JSON not in form:
        return arguments_of(fields, form)
    try:
        decoded = msgspec.json.decode(form.first(_RAW_JSON))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}, {_RAW_JSON: "json"}
    return (decoded, {}) if isinstance(decoded, dict) else ({}, {_RAW_JSON: "json"})


def _details(error: Any) -> Sequence[Mapping[str, Any]]:
    return (error.details or ()) if isinstance(error, ValidationError) else ()


async def _run(views: Views, visit: Visit, entry: ToolRegistryEntry, arguments: Mapping[str, Any]) -> ShownAnswer:
    started, result = time.perf_counter(), None
    made = ToolCall(name=entry.name, parameters=dict(arguments), door="console", caller=visit.caller)
    with CancelHandle() as stop:
        async with DisconnectWatcher(visit.request.receive, stop):
            result = await views.inside.pipeline.handle(made)
    if result is None:
        result = views.inside.pipeline.broken(TimeoutError("the visitor went away"))
    if result.pending is not None:
        result = views.inside.pipeline.unanswerable(result.pending)
    parts = await offload(rendered, result) if result.error is None else []
    milliseconds = (time.perf_counter() - started) * 1000
    return ShownAnswer(result=result, parts=parts, text=result.text, milliseconds=milliseconds, call_id=made.id)


async def _tool_page(
    views: Views,
    visit: Visit,
    entry: ToolRegistryEntry,
    arguments: Mapping[str, Any],
    *,
    form: Form | None = None,
    answer: ShownAnswer | None = None,
    wrong: Mapping[str, str] | None = None,
    status: int = 200,
) -> Response:
    schema = entry.metadata.input_schema
    fields = fields_of(schema)
    base = str(visit.request.base_url).rstrip("/")
    calls = [one for one in views.visible_calls(visit.caller, is_admin=visit.is_admin) if one.tool == entry.name]
    error = answer.result.error if answer is not None else None
    return await page(
        visit,
        "tool.html",
        status,
        active="tools",
        entry=entry,
        description=markdown(entry.metadata.description),
        fields=fields,
        values=_values(fields, arguments, form),
        raw=form is not None and _RAW_JSON in form,
        sent_json=form.first(_RAW_JSON) if form is not None else "",
        wrong=wrong or {},
        arguments=arguments,
        answer=answer,
        asks=isinstance(error, ConfirmationRequiredError) and entry.metadata.effect is Effect.DESTROY,
        snippets=call_snippets(base, entry.name, arguments or _example(entry), with_key=visit.needs_sign_in),
        totals=totals_of(calls),
        definition_tokens=entry.definition_tokens,
        PATH=PATH,
    )


def _values(fields: Sequence[Field], arguments: Mapping[str, Any], form: Form | None) -> Mapping[str, Any]:
    """What stands in the fields: what was sent, even if it was wrong, else the arguments."""
    values = filled(fields, arguments)
    if form is not None and _RAW_JSON not in form:
        values |= {field.name: form.first(field.key) for field in fields if field.control not in ("choices",)}
    return values


def _example(entry: ToolRegistryEntry) -> Mapping[str, Any]:
    return entry.examples[0].parameters if entry.examples else {}


async def switch(views: Views, visit: Visit, form: Form) -> Response:
    """Enable or disable a tool for everybody."""
    name, enabled = visit.request.path_params["name"], form.first("enabled") == "yes"
    await views.inside.switchboard.switch(name, enabled, caller=visit.caller, door="console")
    return redirect(f"{PATH}/tools/{name}")
