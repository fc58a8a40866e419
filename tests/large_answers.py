"""Answers that are far larger than any honest service sends: one row per way to lie. Bodies are made when asked for."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from tests.packs.redmine.made import ME, issue

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class LargeAnswer:
    """What a service answers at one path, and the call that asks for it."""

    name: str
    pack: str
    tool: str
    path: str
    body: Callable[[], bytes]
    parameters: Json = field(default_factory=dict)
    status: int = 200


def _json(make: Callable[[], Any]) -> Callable[[], bytes]:
    return lambda: json.dumps(make()).encode()


def _custom_fields(count: int) -> list[Json]:
    return [{"id": number, "name": f"Field {number}", "value": f"value {number}"} for number in range(count)]


def _journals(count: int) -> list[Json]:
    detail = {"property": "cf", "name": "1", "old_value": "1", "new_value": "2"}
    told = {"user": {"id": 1, "name": "x"}, "created_on": "2026-01-01T00:00:00Z", "details": [detail]}
    return [{"id": number, "notes": f"note {number}", **told} for number in range(count)]


def _issues(count: int, **counted: int) -> Json:
    return {"issues": [issue(number) for number in range(count)], **counted}


def _projects() -> Json:
    return {"projects": [{"id": at, "name": "P", "identifier": f"p{at}"} for at in range(30_000)]}


def _redmine(name: str, body: Callable[[], bytes], tool: str = "list_issues", **more: Any) -> LargeAnswer:
    return LargeAnswer(name=name, pack="redmine", tool=tool, body=body, **{"path": "/issues.json", **more})


def _one_issue(name: str, more: Callable[[], Json]) -> LargeAnswer:
    parameters = {"id": 1, "journal_limit": 500}
    body = _json(lambda: {"issue": issue(1, **more())})
    return _redmine(name, body, "show_issue", path="/issues/1.json", parameters=parameters)


def _details_and_fields(count: int) -> Json:
    details = [{"property": "cf", "name": str(at), "new_value": "1"} for at in range(count)]
    return {"custom_fields": _custom_fields(count), "journals": [{"id": 1, "details": details}]}


def _many_fields(count: int) -> Json:
    return {f"key{at}": at for at in range(count)}


_RUN: Final = (
    '{"startTime":1,"executionTime":2,"executionStatus":"%s","source":[{"previousNode":"N%d"}],'
    '%s"data":{"main":[[%s]]}}'
)
_ITEM: Final = '{"json":{"id":1,"name":"somebody"},"pairedItem":{"item":0}}'


def execution(*, items: int = 1, nodes: int = 1, runs: int = 1, item: str = _ITEM, fields: int = 0) -> bytes:
    """An execution in a chain of nodes, the last of which failed. Written by hand, which is faster than encoding."""
    given, error = ",".join([item] * items), json.dumps({"message": "boom", **_many_fields(fields)})
    told = []
    for at in range(nodes):
        well, badly = _RUN % ("success", at - 1, "", given), _RUN % ("error", at - 1, f'"error":{error},', given)
        every = [well] * (runs - 1) + [badly if at == nodes - 1 else well]
        told.append(f'"N{at}":[{",".join(every)}]')
    drawn = json.dumps([{"name": f"N{at}", "type": "n8n-nodes-base.set", "parameters": {}} for at in range(nodes)])
    links = json.dumps({f"N{at}": {"main": [[{"node": f"N{at + 1}"}]]} for at in range(nodes - 1)})
    return (
        '{"id":"1","status":"error","startedAt":"2026-01-01T00:00:00.000Z","stoppedAt":"2026-01-01T00:00:01.000Z",'
        f'"workflowData":{{"id":"w","name":"W","nodes":{drawn},"connections":{links}}},'
        f'"data":{{"resultData":{{"lastNodeExecuted":"N{nodes - 1}","error":{error},'
        f'"runData":{{{",".join(told)}}}}}}}}}'
    ).encode()


def workflow(nodes: int) -> Json:
    """A workflow that is a long chain."""
    position = {"typeVersion": 1, "position": [0, 0], "parameters": {"a": 1, "b": {"c": [1, 2]}}}
    return {
        "id": "1",
        "name": "W",
        "active": False,
        "nodes": [{"id": str(at), "name": f"N{at}", "type": "n8n-nodes-base.set", **position} for at in range(nodes)],
        "connections": {f"N{at}": {"main": [[{"node": f"N{at + 1}", "type": "main"}]]} for at in range(nodes - 1)},
        "settings": {},
        "tags": [],
    }


def _marked_workflow() -> Json:
    marks = "a" + "\u0300\u0323" * 20_000
    named = {"name": marks, "type": "n8n-nodes-base.set", "parameters": {marks: marks}}
    return {**workflow(3), "name": marks, "nodes": [named] * 3, "connections": {}}


def _n8n(name: str, tool: str, body: Callable[[], bytes], *path: str, **parameters: Any) -> LargeAnswer:
    where = "/".join(("/api/v1", *path))
    return LargeAnswer(name=name, pack="n8n", tool=tool, path=where, body=body, parameters=parameters)


def _execution(name: str, tool: str = "get_execution", *, raw: bool = False, **how: Any) -> LargeAnswer:
    parameters: Json = {"id": "1", "raw": raw} | ({"nodeName": "N0"} if tool.endswith("node") else {})
    return _n8n(name, tool, partial(execution, **how), "executions", "1", **parameters)


def _workflow(name: str, nodes: int, **parameters: Any) -> LargeAnswer:
    return _n8n(name, "get_workflow", _json(lambda: workflow(nodes)), "workflows", "1", id="1", **parameters)


def _numbers(name: str, written: bytes, count: int, **parameters: Any) -> LargeAnswer:
    """A workflow with one value many times."""
    tool = "get_workflow" if parameters else "get_workflow_node"
    named = parameters or {"nodeName": "a"}

    def body() -> bytes:
        values = b",".join([written] * count)
        node = b'{"name":"a","type":"t","parameters":{"x":[' + values + b"]}}"
        return b'{"id":"1","name":"n","nodes":[' + node + b'],"connections":{},"settings":{}}'

    return _n8n(name, tool, body, "workflows", "1", id="1", **named)


def _rows(count: int) -> bytes:
    row = {"status": "success", "startedAt": "2026-01-01T00:00:00.000Z", "workflowId": "w", "mode": "manual"}
    return json.dumps({"data": [{"id": str(at), **row} for at in range(count)], "nextCursor": None}).encode()


LARGE_ANSWERS: Final = (
    _redmine("10,000 issues", _json(lambda: _issues(10_000, total_count=10_000, offset=0, limit=25))),
    _redmine("1,000 issues", _json(lambda: _issues(1_000, total_count=1_000, offset=0, limit=25))),
    _redmine("3,500 issues on a page without a limit", _json(lambda: _issues(3_500))),
    _redmine("a million empty lists", lambda: b'{"issues":[' + b"[]," * 1_000_000 + b"0]}"),
    _redmine("100,000 reasons", _json(lambda: {"errors": [f"Reason {at}" for at in range(100_000)]}), status=422),
    _redmine("30,000 projects", _json(_projects), "list_projects", path="/projects.json"),
    _one_issue("100,000 journals", lambda: {"journals": _journals(100_000)}),
    _one_issue("5,000 journals", lambda: {"journals": _journals(5_000)}),
    _one_issue("100,000 custom fields", lambda: {"custom_fields": _custom_fields(100_000)}),
    _one_issue("18,000 custom fields", lambda: {"custom_fields": _custom_fields(18_000)}),
    _one_issue("5,000 details of 5,000 custom fields", lambda: _details_and_fields(5_000)),
    _one_issue("a description of 7 MB", lambda: {"description": "word and word " * 500_000}),
    _one_issue("a description of odd characters", lambda: {"description": "\x01é<\r\n" * 1_200_000}),
    _one_issue("300,000 half characters", lambda: {"description": "a\ud800" * 300_000}),
    _one_issue("a description of combining marks", lambda: {"description": "a" + "\u0300\u0323" * 500_000}),
    _one_issue("a description of ligatures", lambda: {"description": "\ufdfa" * 600_000}),
    _one_issue("a field whose name has 5 MB", lambda: {"k" * 5_000_000: 1}),
    _one_issue("70,000 unknown fields", lambda: _many_fields(70_000)),
    _one_issue("a million unknown fields", lambda: _many_fields(1_000_000)),
    _execution("200,000 items", items=200_000),
    _execution("150,000 items", items=150_000),
    _execution("150,000 items, one node of it", "get_execution_by_node", items=150_000),
    _execution("150,000 items, raw", items=150_000, raw=True),
    _execution("30,000 items, raw", items=30_000, raw=True),
    _execution("50,000 runs", runs=50_000),
    _execution("20,000 runs", runs=20_000),
    _execution("20,000 runs, diagnosed", "diagnose_execution", runs=20_000),
    _execution("20,000 nodes", nodes=20_000),
    _execution("3,000 nodes", nodes=3_000),
    _execution("3,000 nodes, diagnosed", "diagnose_execution", nodes=3_000),
    _execution("one item of 20 MB", "get_execution_by_node", item=f'{{"json":{{"a":"{"x" * 20_000_000}"}}}}'),
    _execution("an error with 500,000 fields", "diagnose_execution", fields=500_000),
    _numbers("250 integers of 4,200 digits", b"9" * 4_200, 250),
    _numbers("60 integers of 4,200 digits", b"9" * 4_200, 60),
    _numbers("4,000 integers of 4,200 digits, raw", b"9" * 4_200, 4_000, raw=True),
    _numbers("240,000 integers of 99 digits, raw", b"9" * 99, 240_000, raw=True),
    _numbers("20,000 integers of 99 digits, raw", b"9" * 99, 20_000, raw=True),
    _numbers("4,000 floats of 4,000 digits, raw", b"0." + b"1" * 4_000 + b"e-300", 4_000, raw=True),
    _numbers("3,500,000 half characters", rb'"\ud800"'.replace(rb"\ud800", rb"\ud800" * 3_500_000), 1),
    _numbers("1,300,000 half characters", rb'"\ud800"'.replace(rb"\ud800", rb"\ud800" * 1_300_000), 1),
    _workflow("a workflow of 50,000 nodes", 50_000),
    _workflow("a workflow of 6,000 nodes", 6_000),
    _workflow("a workflow of 6,000 nodes, raw", 6_000, raw=True),
    _n8n("names of combining marks", "get_workflow", _json(_marked_workflow), "workflows", "1", id="1"),
    _n8n("100,000 executions", "list_executions", lambda: _rows(100_000), "executions"),
    _n8n("20 workflows of 500 nodes", "list_workflows", _json(lambda: {"data": [workflow(500)] * 20}), "workflows"),
)

# What a service has to know before anything else is asked of it.
ME_BODY: Final = json.dumps({"user": ME}).encode()
