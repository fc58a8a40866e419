"""Hard cases, written to mislead the rules: decoys in messages, nodes that fail in words of their own."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import Truth, expression_set
from .fresh_parts import case, compare, data, every, get, truth
from .shapes import Case

_ROWS = [{"id": 1, "qty": "2", "unit": None, "meta": {"src": "a"}}, {"id": 2, "qty": "x", "unit": None}]


def hard_cases() -> Iterator[Case]:
    src = data("Load", _ROWS)
    yield case(
        "helper function",
        [
            src,
            code(
                "H",
                "const label = (r) => r.meta.src.trim();\nreturn $input.all().map((i) => ({ json: { l: label(i.json) } }));",
            ),
        ],
        truth("Load", "H", "meta", also=("H",)),
    )
    yield case(
        "Object.keys of undefined",
        [src, every("K", "return { json: { k: Object.keys($json.extra) } };")],
        truth("K", "K", "extra", also=("Load",)),
    )
    yield case(
        "spread non iterable", [src, every("K", "return { json: { k: [...$json.meta] } };")], truth("Load", "K", "meta")
    )
    yield case(
        "optional then call",
        [src, every("K", "const s = $json.meta?.src;\nreturn { json: { k: s.length } };")],
        truth("Load", "K", "meta", also=("K",)),
    )
    yield case(
        "conditional alias",
        [src, every("K", "const m = $json.meta || $json.other;\nreturn { json: { k: m.src } };")],
        truth("Load", "K", also=("K",)),
    )
    yield case(
        "await http error in code",
        [
            src,
            every(
                "K",
                "if ($json.id > 1) throw new Error('HTTP 429 from upstream: unit is busy');\nreturn { json: $json };",
            ),
        ],
        truth(None, "K", "429"),
    )
    yield case(
        "decoy field in message",
        [
            data("Load", [{"user": None, "total": 5}]),
            every(
                "K",
                "const u = $json.user;\nif ($json.total < 10) throw new Error('The user limit is reached');\nreturn { json: $json };",
            ),
        ],
        truth(None, "K", "limit"),
    )
    yield case(
        "date luxon code",
        [
            data("Load", [{"d": "31/12/2026"}]),
            every(
                "K",
                "const d = DateTime.fromISO($json.d);\nif (!d.isValid) throw new Error('Invalid date: ' + $json.d);\nreturn { json: { d: d.toISO() } };",
            ),
        ],
        truth("Load", "K", "31/12"),
    )
    yield case(
        "dateTime node",
        [
            data("Load", [{"d": "whenever"}]),
            node(
                "Fmt",
                "dateTime",
                2,
                {
                    "operation": "formatDate",
                    "date": "={{ $json.d }}",
                    "format": "custom",
                    "customFormat": "yyyy",
                    "options": {},
                },
            ),
            pass_on("E"),
        ],
        truth("Load", None, "whenever", also=("Fmt",)),
    )
    yield case(
        "set json mode",
        [
            data("Load", [{"name": 'A "B"'}]),
            node("Raw", "set", 3.4, {"mode": "raw", "jsonOutput": '={ "n": "{{ $json.name }}" }', "options": {}}),
            pass_on("E"),
        ],
        truth("Load", "Raw", "name", also=("Raw",)),
    )
    yield case(
        "splitOut missing",
        [
            data("Load", [{"a": 1}]),
            node("Split", "splitOut", 1, {"fieldToSplitOut": "lines", "options": {}}),
            pass_on("E"),
        ],
        truth("Split", None, "lines", also=("Load",)),
    )
    yield case(
        "switch expression",
        [
            data("Load", [{"k": 9}]),
            node("Sw", "switch", 3.2, {"mode": "expression", "numberOutputs": 2, "output": "={{ $json.k }}"}),
            pass_on("A"),
            pass_on("B"),
        ],
        truth("Sw", "Sw", "9", also=("Load",)),
        [*chain("Load", "Sw", "A"), Wire("Sw", "B", output=1)],
    )
    yield case(
        "removeDuplicates missing",
        [
            data("Load", [{"a": 1}, {"a": 2}]),
            node("RD", "removeDuplicates", 2, {"compare": "selectedFields", "fieldsToCompare": "zip", "options": {}}),
            pass_on("E"),
        ],
        truth("RD", "RD", "zip", also=("Load",)),
    )
    yield case(
        "sort missing",
        [
            data("Load", [{"a": 1}, {"a": 2}]),
            node(
                "So",
                "sort",
                1,
                {"sortFieldsUi": {"sortField": [{"fieldName": "price", "order": "ascending"}]}, "options": {}},
            ),
            pass_on("E"),
        ],
        truth("So", "So", "price", also=("Load",)),
    )
    yield case(
        "xml",
        [data("Load", [{"data": "<a><b></a>"}]), node("X", "xml", 1, {"options": {}}), pass_on("E")],
        truth("Load", "X", "data", also=("X",)),
    )
    yield case(
        "html in parse",
        [get("G", "/html"), every("P", "return { json: JSON.parse($json.data) };")],
        truth("G", "P", "HTML"),
    )
    yield case(
        "first of empty",
        [
            data("Load", [{"a": 1}]),
            node("F", "filter", 2.2, compare("={{ $json.a }}", "number", "gt", 5), alwaysOutputData=True),
            code("U", "const r = $input.first().json;\nreturn [{ json: { x: r.a.toFixed(1) } }];"),
        ],
        truth("F", "U", "a"),
    )
    yield case(
        "item ref in loop",
        [
            data("Load", [{"a": {"b": 1}}, {"a": None}]),
            node("L", "splitInBatches", 3, {"batchSize": 1, "options": {}}),
            expression_set("S", {"z": "1"}, keep=False),
            every("U", "return { json: { q: $('L').item.json.a.b } };"),
            pass_on("E"),
        ],
        truth("Load", "U", "a", "null"),
        [*chain("Load", "L", "E"), Wire("L", "S", output=1), *chain("S", "U", "L")],
    )
    yield case(
        "continue then if",
        [
            data("Load", [{"u": 1}]),
            get("G", "/status/500", onError="continueRegularOutput"),
            node("Ok?", "if", 2.2, compare("={{ $json.total }}", "number", "gt", 5)),
            pass_on("Yes"),
            pass_on("No"),
        ],
        truth("G", None, "500"),
        [*chain("Load", "G", "Ok?", "Yes"), Wire("Ok?", "No", output=1)],
    )
    yield case("env", [src, every("K", "return { json: { k: $env.HOME } };")], truth(None, "K", "env"))
    yield case("big retry 404", [src, get("G", "/status/404")], truth(None, "G", "404"))
    yield case(
        "set object text",
        [data("Load", [{"o": {"a": 1}}]), expression_set("S", {"t": "={{ 'x' + $json.o }}"}), pass_on("E")],
        truth("S", None, "[object Object]"),
    )
    yield case(
        "math on text",
        [
            data("Load", [{"p": "12 EUR"}]),
            expression_set("S", {"t": "={{ $json.p * 2 }}"}, kind="number"),
            pass_on("E"),
        ],
        truth("Load", "S", "p", also=("S",)),
    )
    yield case(
        "healthy: one-way error handler",
        [
            data("Load", [{"a": 1}]),
            every("K", "return { json: $json };", onError="continueErrorOutput"),
            pass_on("Good"),
            pass_on("Bad"),
        ],
        Truth(cause=None, failing=None),
        [*chain("Load", "K", "Good"), Wire("K", "Bad", output=1)],
    )
    yield case(
        "healthy: noitems in if error",
        [
            data("Load", [{"a": 1}]),
            node("Any error?", "if", 2.2, compare("={{ $json.a }}", "number", "gt", 5)),
            node("Stop", "stopAndError", 1, {"errorMessage": "bad"}),
            pass_on("Fine"),
        ],
        Truth(cause=None, failing=None),
        [*chain("Load", "Any error?", "Stop"), Wire("Any error?", "Fine", output=1)],
    )
