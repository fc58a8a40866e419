"""Faults that no node reports: the execution counts as a success."""

from dogubako_sandbox.n8n.workflow_parts import code, condition, node

from .failing_kinds import carry, each, good, rows
from .fault import Fault, Role, Words, expression_set, request


def _quiet(w: Words, kind: str, cause: Role, *says: str, **nodes: object) -> Fault:
    parts = {"source": rows(w, good(w), good(w)), "culprit": carry(w), "victim": carry_on(w), **nodes}
    return Fault(kind=kind, cause=cause, says=says, quiet=True, **parts)  # type: ignore[arg-type]


def carry_on(w: Words) -> dict[str, object]:
    return expression_set(w.name("victim"), {"done": "yes"})


def object_in_text(w: Words) -> Fault:
    text = {"text": f"=Dear {{{{ $json.{w.field} }}}}!"}
    return _quiet(
        w, "[object Object] in text", "victim", "[object Object]", victim=expression_set(w.name("victim"), text)
    )


def undefined_in_text(w: Words) -> Fault:
    script = f"return {{ json: {{ ...$json, text: `Dear ${{$json.{w.near}}}` }} }};"
    return _quiet(w, "undefined in text", "victim", "undefined", victim=each(w, script))


def nan_in_text(w: Words) -> Fault:
    script = f"return {{ json: {{ ...$json, text: 'Total: ' + ($json.number * $json.{w.near}) }} }};"
    return _quiet(w, "NaN in text", "victim", "NaN", victim=each(w, script))


def invalid_date_text(w: Words) -> Fault:
    if w.checking:
        text = {"due": f"={{{{ DateTime.fromISO($json.{w.extra}2).toISODate() }}}} / {{{{ DateTime.fromISO('x') }}}}"}
        return _quiet(w, "Invalid date in text", "victim", "Invalid", victim=expression_set(w.name("victim"), text))
    script = "return { json: { ...$json, due: String(new Date('soon')) } };"
    return _quiet(w, "Invalid date in text", "victim", "Invalid Date", victim=each(w, script))


def set_became_null(w: Words) -> Fault:
    raising = {"loud": f"={{{{ $json.{w.field}.{w.part}.toUppercase() }}}}"}
    deep = {"loud": f"={{{{ $json.{w.near}.{w.part}.trim() }}}}"}
    values = deep if w.checking else raising
    return _quiet(w, "Set expression became null", "victim", "loud", victim=expression_set(w.name("victim"), values))


def filter_dropped_all(w: Words) -> Fault:
    state, wanted = ("支払済", "支払い済") if w.checking else ("Paid", "paid")
    test = condition(f"={{{{ $json.{w.field} }}}}", "equals", kind="string", right=wanted)
    return _quiet(
        w,
        "filter that drops everything",
        "culprit",
        w.name("culprit"),
        state,
        source=rows(w, {w.field: state}, {w.field: state}),
        culprit=node(w.name("culprit"), "filter", 2.2, test),
    )


def empty_source(w: Words) -> Fault:
    return _quiet(w, "source without items", "source", w.name("source"), source=code(w.name("source"), "return [];"))


def swallowed(w: Words) -> Fault:
    text = "価格がない" if w.checking else "No price"
    script = f"if ($json.number === 2) throw new Error('{text}');\nreturn {{ json: $json }};"
    culprit = each(w, script, "culprit") | {"onError": "continueRegularOutput"}
    return _quiet(w, "error that was passed on", "culprit", text, culprit=culprit)


def swallowed_request(w: Words) -> Fault:
    path = "/status/500" if w.checking else "/status/429"
    culprit = request(w.name("culprit"), path, onError="continueRegularOutput")
    return _quiet(w, "request whose failure was passed on", "culprit", path[-3:], culprit=culprit)


def page_for_data(w: Words) -> Fault:
    victim = expression_set(w.name("victim"), {"sum": "={{ $json.total + 1 }}"})
    return _quiet(
        w, "HTML where JSON was expected", "culprit", "HTML", culprit=request(w.name("culprit"), "/html"), victim=victim
    )


def infinite(w: Words) -> Fault:
    script = "return { json: { ...$json, text: 'Share: ' + 5 / ($json.number - $json.number) } };"
    return _quiet(w, "division by zero", "victim", "Infinity", victim=each(w, script))


QUIET = (
    object_in_text,
    undefined_in_text,
    nan_in_text,
    invalid_date_text,
    set_became_null,
    filter_dropped_all,
    empty_source,
    swallowed,
    swallowed_request,
    page_for_data,
    infinite,
)
