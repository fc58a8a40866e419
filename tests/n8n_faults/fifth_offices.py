"""Fifth cases: what a clinic and an office would build, written when the fourth ones were mended."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import expression_set
from .fresh_parts import call_child, case, compare, data, every, get, truth
from .shapes import Case

_POST = {"method": "POST", "sendBody": True}
_HEALTHY = truth(None, None)


def fifth_offices() -> Iterator[Case]:
    yield from _clinic()
    yield from _office()


def _table(**fields: str) -> dict[str, object]:
    return {"parameters": [{"name": key, "value": value} for key, value in fields.items()]}


def _clinic() -> Iterator[Case]:
    yield case(
        "patient without a doctor in a child",
        [
            data("Patients", [{"id": 1, "doctor": {"name": "Ito"}}, {"id": 2, "doctor": None}]),
            call_child("Letters"),
        ],
        truth("Patients", "Letters", "doctor"),
        None,
        ([every("Write", "return { json: { dr: 'Dr. ' + $json.doctor.name } };")], None),
    )
    yield case(
        "value of a lab as text in a strict filter",
        [
            data("Lab", [{"ldl": 120}, {"ldl": "<40"}]),
            node("High", "filter", 2.2, compare("={{ $json.ldl }}", "number", "gt", 130)),
        ],
        truth("Lab", "High", "<40"),
    )
    yield case(
        "appointment in the past by the clock",
        [
            data("Slots", [{"at": "2020-02-02T10:00:00Z", "memo": None}]),
            every(
                "Check",
                "if (new Date($json.at) < new Date()) throw new Error('Slot is in the past');\nreturn { json: $json };",
            ),
        ],
        truth(None, "Check", "2020-02-02", also=("Slots",)),
    )
    yield case(
        "set that turns a list into a text",
        [
            data("Rx", [{"drugs": ["a", "b"]}]),
            expression_set("Prepare", {"drugs": "={{ $json.drugs }}"}),
            every("Count", "return { json: { n: $json.drugs.map((d) => d.toUpperCase()) } };"),
        ],
        truth("Prepare", "Count", "drugs"),
    )
    yield case(
        "code that forgets the other fields",
        [
            data("Visits", [{"id": 1, "room": "R1", "nurse": "Kim"}]),
            code("Keep room", "return $input.all().map((i) => ({ json: { room: i.json.room } }));"),
            node("Wait a bit", "wait", 1.1, {"amount": 0, "unit": "seconds"}),
            every("Badge", "return { json: { b: $json.nurse.slice(0, 1) } };"),
        ],
        truth("Keep room", "Badge", "nurse"),
    )
    yield case(
        "consent that is required by the service",
        [
            data("Form", [{"name": "Ann", "consent": False, "phone": None}]),
            get("Register", "/say/422/consent", **_POST, specifyBody="json", jsonBody="={{ JSON.stringify($json) }}"),
        ],
        truth("Form", "Register", "consent", also=("Register",)),
    )
    yield case(
        "two branches meet and one is not there yet",
        [
            data("Case", [{"id": 5}]),
            node("Urgent?", "if", 2.2, compare("={{ $json.id }}", "number", "gt", 9)),
            expression_set("Urgent", {"prio": "1"}),
            expression_set("Normal", {"level": "2"}),
            node("Both", "merge", 3.2, {}),
            every("Sort in", "return { json: { p: $json.prio.padStart(3, '0') } };"),
        ],
        truth(None, "Sort in", "prio", also=("Normal", "Urgent?")),
        [
            *chain("Case", "Urgent?", "Urgent", "Both", "Sort in"),
            Wire("Urgent?", "Normal", output=1),
            Wire("Normal", "Both", input=1),
        ],
    )
    yield case(
        "healthy: optional allergies",
        [
            data("Patients", [{"n": "A", "allergies": None}, {"n": "B", "allergies": ["nuts"]}]),
            every("Sheet", "return { json: { n: $json.n, a: ($json.allergies ?? []).join(', ') || '-' } };"),
        ],
        truth(None, None),
    )


def _office() -> Iterator[Case]:
    yield case(
        "name of the month that is wrong",
        [
            data("Rechnungen", [{"nr": 1, "datum": "3. Mrz 2026"}]),
            every("Iso", "const iso = new Date($json.datum).toISOString();\nreturn { json: { iso } };"),
        ],
        truth("Rechnungen", "Iso", "Mrz"),
    )
    yield case(
        "template in a text with an object",
        [
            data("Leads", [{"company": {"name": "X"}, "owner": None}]),
            get("Notify", "/ok", **_POST, bodyParameters=_table(text="=New lead: {{ $json.company }}")),
        ],
        truth("Notify", None, "company"),
    )
    yield case(
        "approval that waits for nobody",
        [
            data("Req", [{"id": 1, "amount": 40, "boss": None}]),
            every(
                "Ask",
                "const boss = $json.boss;\nreturn { json: { ...$json, mail: boss.mail } };",
                onError="continueRegularOutput",
            ),
            pass_on("Send"),
        ],
        truth("Req", None, "boss", also=("Ask",)),
    )
    yield case(
        "helper that returns nothing",
        [
            data("Rows", [{"t": "a"}, {"t": "b"}]),
            code(
                "Shape",
                "const shape = (r) => { ({ type: r.t }); };\nreturn $input.all().map((i) => ({ json: { t: shape(i.json).type } }));",
            ),
        ],
        truth(None, "Shape"),
    )
    yield case(
        "item of a node that made fewer",
        [
            data("All", [{"v": 1}, {"v": 2}, {"v": 3}]),
            node("First two", "limit", 1, {"maxItems": 2}),
            data("Fresh", [{"k": 1}, {"k": 2}, {"k": 3}]),
            code(
                "Zip",
                "const a = $('First two').all();\nreturn $input.all().map((i, n) => ({ json: { s: i.json.k + a[n].json.v } }));",
            ),
        ],
        truth("First two", "Zip", "2", also=("Zip",)),
    )
    yield case(
        "xml with a missing tag",
        [
            data("Feed", [{"xml": "<r><a>1</a></r>"}]),
            node("Parse", "xml", 1, {"dataPropertyName": "xml", "options": {}}),
            every("B", "return { json: { b: $json.r.b.trim() } };"),
        ],
        truth(None, "B", "r.b", also=("Feed", "Parse")),
    )
    yield case(
        "set in json with a wrong name",
        [
            data("User", [{"email": "a@x", "id": 3}]),
            node(
                "Body",
                "set",
                3.4,
                {"mode": "raw", "jsonOutput": '={ "to": "{{ $json.mail }}", "id": {{ $json.id }} }', "options": {}},
            ),
            get("Send", "/say/422/to", **_POST, specifyBody="json", jsonBody="={{ JSON.stringify($json) }}"),
        ],
        truth("Body", "Send", "mail", also=()),
    )
    yield case(
        "function that is only in newer versions",
        [data("R", [{"a": [3, 1]}]), every("Sort", "return { json: { a: $json.a.toSortedBy('x') } };")],
        truth(None, "Sort", "toSortedBy"),
    )
    yield case(
        "child that throws for its own input check",
        [
            data("Jobs", [{"id": 1, "type": "print", "pages": 0}]),
            call_child("Printer"),
        ],
        truth("Check", "Printer", "pages", also=("Jobs",)),
        None,
        ([every("Check", "if ($json.pages < 1) throw new Error('nothing to print');\nreturn { json: $json };")], None),
    )
    yield case(
        "numbers as texts are joined",
        [
            data("Lines", [{"net": "10", "tax": "2"}]),
            every(
                "Gross",
                "const gross = $json.net + $json.tax;\nif (gross > 100) throw new Error('gross is too high: ' + gross);\nreturn { json: { gross } };",
            ),
        ],
        truth("Lines", "Gross", "net", also=("Gross",)),
    )
    yield case(
        "respond with nothing",
        [
            data("Found", [{"hits": []}]),
            node("Each", "splitOut", 1, {"fieldToSplitOut": "hits", "options": {}}),
            node("Answer", "respondToWebhook", 1.1, {"respondWith": "firstIncomingItem", "options": {}}),
        ],
        truth("Each", None, "hits", also=("Found",)),
    )
    yield case(
        "healthy: two ways of a switch are used",
        [
            data("Rows", [{"k": "a"}, {"k": "b"}, {"k": "c"}]),
            node(
                "Kind",
                "switch",
                3.2,
                {
                    "rules": {
                        "values": [
                            compare("={{ $json.k }}", "string", "equals", "a"),
                            compare("={{ $json.k }}", "string", "equals", "b"),
                            compare("={{ $json.k }}", "string", "equals", "d"),
                        ]
                    },
                    "options": {"fallbackOutput": "extra"},
                },
            ),
            pass_on("A"),
            pass_on("B"),
            pass_on("D"),
            pass_on("Rest"),
        ],
        truth(None, None),
        [
            *chain("Rows", "Kind", "A"),
            Wire("Kind", "B", output=1),
            Wire("Kind", "D", output=2),
            Wire("Kind", "Rest", output=3),
        ],
    )
    yield case(
        "healthy: request per day with empty days",
        [
            data("Days", [{"d": "2026-01-01"}, {"d": "2026-01-02"}]),
            get("Bookings", "/nothing"),
            code("Count", "return [{ json: { n: $input.all().reduce((s, i) => s + i.json.count, 0) } }];"),
        ],
        truth(None, None),
    )
    yield case(
        "healthy: code that drops what it does not want",
        [
            data("Mails", [{"spam": True, "s": "x"}, {"spam": True, "s": "y"}]),
            code("No spam", "return $input.all().filter((m) => !m.json.spam);"),
            pass_on("Read"),
        ],
        truth(None, None),
    )
    yield case(
        "healthy: numbers with a dot stay as they are",
        [
            data("Rows", [{"v": "1.50"}]),
            every("Parse", "return { json: { v: parseFloat($json.v) } };"),
        ],
        truth(None, None),
    )
