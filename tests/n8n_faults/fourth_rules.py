"""Fourth cases of rules of the business, pairs that are off, and nodes that refuse a value."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import expression_set
from .fresh_parts import call_child, case, compare, data, every, get, truth
from .shapes import Case

_POST = {"method": "POST", "sendBody": True}
_HEALTHY = truth(None, None)


def fourth_rules() -> Iterator[Case]:
    yield from _rules()
    yield from _pairs()
    yield from _nodes()


def _rules() -> Iterator[Case]:
    yield case(
        "order above the limit",
        [
            data("Order", [{"total": 900, "note": None}]),
            data("Limits", [{"max": 500}]),
            code(
                "Check",
                "const order = $('Order').first().json;\nconst { max } = $input.first().json;\nif (order.total > max) throw new Error(`Order of ${order.total} is above ${max}`);\nreturn [{ json: order }];",
            ),
        ],
        truth(None, "Check", "900"),
    )
    yield case(
        "not approved is a decision",
        [
            data("Request", [{"id": 4, "approved": False, "comment": None}]),
            every(
                "Gate",
                "if (!$json.approved) {\n  throw new Error(`Request ${$json.id} was not approved`);\n}\nreturn { json: $json };",
            ),
        ],
        truth(None, "Gate", "approved", also=("Request",)),
    )
    yield case(
        "wrong status in a stop",
        [
            data("Job", [{"status": "failed", "log": None}]),
            node("Ok?", "if", 2.2, compare("={{ $json.status }}", "string", "equals", "ok")),
            pass_on("Next"),
            node("Abort", "stopAndError", 1, {"errorMessage": "=Job ended with {{ $json.status }}"}),
        ],
        truth(None, "Abort", "failed", also=("Job",)),
        [*chain("Job", "Ok?", "Next"), Wire("Ok?", "Abort", output=1)],
    )
    yield case(
        "duplicates are refused",
        [
            data("Import", [{"mail": "a@x", "tel": None}, {"mail": "a@x", "tel": None}]),
            code(
                "Unique",
                "const seen = new Set();\nfor (const { json } of $input.all()) {\n  if (seen.has(json.mail)) throw new Error('duplicate ' + json.mail);\n  seen.add(json.mail);\n}\nreturn $input.all();",
            ),
        ],
        truth(None, "Unique", "duplicate", also=("Import",)),
    )
    yield case(
        "too old by a rule with the clock",
        [
            data("Event", [{"at": "2020-01-01T00:00:00Z", "tag": None}]),
            every(
                "Fresh?",
                "const age = Date.now() - new Date($json.at).getTime();\nif (age > 86400000) throw new Error('event is too old');\nreturn { json: $json };",
            ),
        ],
        truth(None, "Fresh?", "too old", also=("Event",)),
    )
    yield case(
        "several required fields",
        [
            data("Lead", [{"name": "Ann", "mail": None, "tel": None, "fax": None}]),
            every(
                "Validate",
                "const missing = ['name', 'mail', 'tel'].filter((k) => !$json[k]);\nif (missing.length) throw new Error('missing: ' + missing.join(', '));\nreturn { json: $json };",
            ),
        ],
        truth("Lead", "Validate", "mail", also=("Validate",)),
    )
    yield case(
        "sum that does not match",
        [
            data("Invoice", [{"net": 100, "tax": 19, "gross": 120, "ref": None}]),
            every(
                "Audit",
                "const { net, tax, gross } = $json;\nif (net + tax !== gross) throw new Error('totals do not match');\nreturn { json: $json };",
            ),
        ],
        truth(None, "Audit", "gross", also=("Invoice",)),
    )
    yield case(
        "weekend",
        [
            data("Plan", [{"day": "2026-11-21", "room": None}]),
            every(
                "Open?",
                "const d = new Date($json.day).getUTCDay();\nif (d === 0 || d === 6) throw new Error('closed on weekends');\nreturn { json: $json };",
            ),
        ],
        truth(None, "Open?", "day", also=("Plan",)),
    )
    yield case(
        "tax that an earlier node forgot",
        [
            data("Items", [{"sku": "a", "price": 10}, {"sku": "b", "price": 20}]),
            code(
                "Add tax",
                "return $input.all().map(({ json }) => json.price > 15 ? { json: { ...json, tax: json.price * 0.19 } } : { json });",
            ),
            every(
                "Write",
                "if ($json.tax === undefined) throw new Error('no tax for ' + $json.sku);\nreturn { json: { line: $json.tax.toFixed(2) } };",
            ),
        ],
        truth("Add tax", "Write", "tax"),
    )


def _pairs() -> Iterator[Case]:
    yield case(
        "node on another branch",
        [
            data("Left", [{"a": 1}]),
            data("Right", [{"b": 2}]),
            expression_set("Use", {"sum": "={{ $('Left').item.json.a + $json.b }}"}),
        ],
        truth(None, "Use", "Left"),
        [Wire("Start", "Right"), Wire("Right", "Use")],
    )
    yield case(
        "pair behind an aggregate",
        [
            data("Rows", [{"x": 1}, {"x": 2}]),
            node(
                "All",
                "aggregate",
                1,
                {"aggregate": "aggregateAllItemData", "destinationFieldName": "rows", "options": {}},
            ),
            every("Read", "return { json: { x: $('Rows').item.json.x } };"),
        ],
        truth("All", "Read", "Rows", also=("Read",)),
    )
    yield case(
        "code without pairs",
        [
            data("Ids", [{"id": 1}, {"id": 2}]),
            code(
                "Twice",
                "const out = [];\nfor (const i of $input.all()) {\n  out.push({ json: { v: i.json.id } }, { json: { v: -i.json.id } });\n}\nreturn out;",
            ),
            every("Back", "return { json: { id: $('Ids').item.json.id } };"),
        ],
        truth("Twice", "Back"),
    )
    yield case(
        "node that has not run yet",
        [
            data("Src", [{"n": 5, "z": None}]),
            node("Big?", "if", 2.2, compare("={{ $json.n }}", "number", "gt", 10)),
            expression_set("Extra", {"e": "1"}),
            every("Join", "return { json: { e: $('Extra').first().json.e } };"),
        ],
        truth(None, "Join", "Extra", also=("Big?",)),
        [*chain("Src", "Big?", "Extra", "Join"), Wire("Big?", "Join", output=1)],
    )


def _nodes() -> Iterator[Case]:
    yield case(
        "number where a text is compared",
        [
            data("Rows", [{"zip": "89073"}, {"zip": 1067}]),
            node("Ulm?", "if", 2.2, compare("={{ $json.zip }}", "string", "startsWith", "89")),
        ],
        truth("Rows", "Ulm?", "zip"),
    )
    yield case(
        "comparison with a setting of the wrong type",
        [
            data("Rows", [{"n": 3}, {"n": 4}]),
            node("Big", "filter", 2.2, compare("={{ $json.n }}", "number", "gt", "many")),
        ],
        truth(None, "Big", "many"),
    )
    yield case(
        "switch on text where all are numbers",
        [
            data("Rows", [{"prio": 1}, {"prio": 2}]),
            node(
                "By prio",
                "switch",
                3.2,
                {
                    "rules": {
                        "values": [{**compare("={{ $json.prio }}", "string", "equals", "1"), "renameOutput": False}]
                    },
                    "options": {},
                },
            ),
        ],
        truth(None, "By prio", "prio", also=("Rows",)),
    )
    yield case(
        "set of a wrong type",
        [
            data("Rows", [{"count": "many", "x": None}]),
            expression_set("Typed", {"count": "={{ $json.count }}"}, kind="number"),
        ],
        truth("Rows", "Typed", "many", also=("Typed",)),
    )
    yield case(
        "xml that is a page of an error",
        [
            get("Feed", "/html", options={"response": {"response": {"responseFormat": "text"}}}),
            node("Parse", "xml", 1, {"dataPropertyName": "feed", "options": {}}),
        ],
        truth(None, "Parse", "feed", also=("Feed",)),
    )
    yield case(
        "json in a text that was cut",
        [
            data("Queue", [{"id": 1, "payload": '{"a": 1}'}, {"id": 2, "payload": '{"a": 2, "b"'}]),
            code(
                "Decode",
                "const parse = (raw) => JSON.parse(raw);\nreturn $input.all().map((m) => ({ json: parse(m.json.payload) }));",
            ),
        ],
        truth("Queue", "Decode", "payload"),
    )
    yield case(
        "json that is read twice",
        [
            data("Queue", [{"payload": '{"a": 1}'}]),
            expression_set("Parsed", {"payload": "={{ JSON.parse($json.payload) }}"}, kind="object"),
            every("Again", "return { json: JSON.parse($json.payload) };"),
        ],
        truth(None, "Again", "payload", also=("Parsed",)),
    )
    yield case(
        "date of another land",
        [
            data("Termine", [{"am": "2026-01-05"}, {"am": "31.12.2026"}]),
            every("Iso", "return { json: { am: new Date($json.am).toISOString() } };"),
        ],
        truth("Termine", "Iso", "31.12.2026"),
    )
    yield case(
        "child that gets no customer",
        [
            data("Orders", [{"nr": 1, "kunde": "A"}]),
            expression_set("Slim", {"nr": "={{ $json.nr }}"}, keep=False),
            call_child("Bill"),
        ],
        truth("Slim", "Bill", "kunde"),
        None,
        ([every("Address", "return { json: { an: $json.kunde.toUpperCase() } };")], None),
    )
    yield case(
        "child with a fault of its own",
        [data("Orders", [{"nr": 1, "kunde": None}]), call_child("Bill")],
        truth("Sum", "Bill", "totl"),
        None,
        ([every("Sum", "const total = $json.nr * 2;\nreturn { json: { t: totl } };")], None),
    )
    yield case(
        "crypto without a value",
        [
            data("Users", [{"name": "a", "pw": None}]),
            node(
                "Hash",
                "crypto",
                1,
                {"action": "hash", "type": "SHA256", "value": "={{ $json.pw }}", "dataPropertyName": "h"},
            ),
        ],
        truth("Users", "Hash", "pw", also=("Hash",)),
    )
    yield case(
        "file that nobody loaded",
        [
            data("Jobs", [{"file": "a.csv"}]),
            node("Read", "extractFromFile", 1, {"operation": "csv", "binaryPropertyName": "data", "options": {}}),
        ],
        truth(None, "Read", "binary", also=("Jobs",)),
    )
    yield case(
        "sort by a field that is not there",
        [
            data("Rows", [{"name": "b"}, {"name": "a"}]),
            node(
                "By age",
                "sort",
                1,
                {"sortFieldsUi": {"sortField": [{"fieldName": "age", "order": "ascending"}]}, "options": {}},
            ),
        ],
        truth(None, "By age", "age", also=("Rows",)),
    )
    yield case(
        "unknown time zone",
        [
            data("Wann", [{"t": "2026-01-01", "zone": "Mitteleuropa"}]),
            every(
                "Lokal", "return { json: { l: new Date($json.t).toLocaleString('de-DE', { timeZone: $json.zone }) } };"
            ),
        ],
        truth("Wann", "Lokal", "Mitteleuropa", also=("Lokal",)),
    )
