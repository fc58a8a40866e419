"""Faults of the failing node itself or of a service: no earlier node is to blame, though nulls lie nearby."""

from dogubako_sandbox.n8n.workflow_parts import code, node

from .failing_kinds import carry, each, good, rows
from .fault import Fault, Words, request


def _own(w: Words, kind: str, victim: dict[str, object], *says: str) -> Fault:
    return Fault(kind=kind, source=rows(w, good(w)), culprit=carry(w), victim=victim, cause=None, says=says)


def _asked(w: Words, kind: str, path: str, *says: str, **parameters: object) -> Fault:
    """The request reads a field that is null, in a place where that does no harm."""
    query = {
        "sendQuery": True,
        "queryParameters": {"parameters": [{"name": "q", "value": f"={{{{ $json.{w.extra} }}}}"}]},
    }
    return _own(w, kind, request(w.name("victim"), path, {**query, **parameters}), *says)


def too_many_requests(w: Words) -> Fault:
    return _asked(w, "HTTP 429", "/status/429", "429")


def server_error(w: Words) -> Fault:
    number = "502" if w.checking else "503"
    return _asked(w, "HTTP 5xx", f"/status/{number}", number)


def forbidden(w: Words) -> Fault:
    number = "403" if w.checking else "401"
    return _asked(w, "HTTP 401 or 403", f"/status/{number}", number)


def timeout(w: Words) -> Fault:
    return _asked(w, "HTTP timeout", "/slow", "time", options={"timeout": 1000})


def refused(w: Words) -> Fault:
    url = "http://no-such-host.invalid/x" if w.checking else "http://127.0.0.1:9/closed"
    says = "ENOTFOUND" if w.checking else "refused"
    return _own(w, "service not reached", request(w.name("victim"), "", {"url": url}), says)


def thrown(w: Words) -> Fault:
    text = "在庫が足りません" if w.checking else "Stock is below zero"
    return _own(w, "thrown message", each(w, f"const note = $json.{w.extra};\nthrow new Error('{text}');"), text)


def stopped(w: Words) -> Fault:
    text = "対象外の注文" if w.checking else "Order is out of scope"
    return _own(
        w,
        "Stop and Error",
        node(w.name("victim"), "stopAndError", 1, {"errorMessage": f"={text} {{{{ $json.{w.extra} }}}}"}),
        text,
    )


def not_defined(w: Words) -> Fault:
    name = "合計額" if w.checking else "totl"
    script = f"const note = $json.{w.extra};\nreturn {{ json: {{ sum: {name} + 1 }} }};"
    return _own(w, "name not defined", each(w, script), name, "defined")


def ghost(w: Words) -> Fault:
    name = "幽霊" if w.checking else "Ghost"
    return _own(
        w, "reference to a missing node", each(w, f"return {{ json: {{ x: $('{name}').first().json.y }} }};"), name
    )


def bad_result(w: Words) -> Fault:
    script = "return 5;" if not w.checking else "return [1, 2];"
    return _own(w, "code that returns no items", code(w.name("victim"), script), "return")


def no_credentials(w: Words) -> Fault:
    auth = {
        "authentication": "genericCredentialType",
        "genericAuthType": "httpBasicAuth" if not w.checking else "httpHeaderAuth",
    }
    return _asked(w, "credentials not set", "/ok", "redential", **auth)


def broken_body(w: Words) -> Fault:
    body = {"sendBody": True, "method": "POST", "specifyBody": "json", "jsonBody": '={ "note": {{ $json.number }} '}
    return _own(w, "JSON body written wrongly", request(w.name("victim"), "/ok", body), "JSON")


OWN = (
    too_many_requests,
    server_error,
    forbidden,
    timeout,
    refused,
    thrown,
    stopped,
    not_defined,
    ghost,
    bad_result,
    no_credentials,
    broken_body,
)
