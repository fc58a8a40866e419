"""Fifth cases: what a shop, a school, a clinic and an office would build, written when the fourth ones were mended."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import START, expression_set
from .fresh_parts import call_child, case, compare, data, every, get, truth
from .shapes import Case

_POST = {"method": "POST", "sendBody": True}


def _table(**fields: str) -> dict[str, object]:
    return {"parameters": [{"name": key, "value": value} for key, value in fields.items()]}


def fifth_mixed() -> Iterator[Case]:
    yield from _shop()
    yield from _school()
    yield from _clinic()
    yield from _office()


def _shop() -> Iterator[Case]:
    yield case(
        "variant that has no price in one of its lists",
        [
            data(
                "Products",
                [
                    {"sku": "A", "variants": [{"size": "S", "price": {"eur": 5}}, {"size": "M", "price": {"eur": 6}}]},
                    {"sku": "B", "variants": [{"size": "S", "price": None}]},
                ],
            ),
            code(
                "Flatten",
                "const rows = [];\nfor (const p of $input.all()) {\n  for (const v of p.json.variants) {\n    rows.push({ json: { sku: p.json.sku, eur: v.price.eur } });\n  }\n}\nreturn rows;",
            ),
        ],
        truth("Products", "Flatten", "price"),
    )
    yield case(
        "discount by a key that the rates do not have",
        [
            data("Carts", [{"id": 1, "tier": "gold"}, {"id": 2, "tier": "Platinum"}]),
            data("Rates", [{"gold": {"off": 10}, "silver": {"off": 5}}]),
            code(
                "Apply",
                "const rates = $('Rates').first().json;\nreturn $('Carts').all().map((c) => ({ json: { id: c.json.id, off: rates[c.json.tier].off } }));",
            ),
        ],
        truth(None, "Apply", "Platinum", also=("Carts", "Rates")),
    )
    yield case(
        "stock merged by a key with spaces",
        [
            data("Orders", [{"sku": "A-1 ", "qty": 2}]),
            data("Stock", [{"sku": "A-1", "left": 4}]),
            node("Match", "merge", 3.2, {"mode": "combine", "fieldsToMatchString": "sku", "options": {}}),
            pass_on("Reserve"),
        ],
        truth("Match", None, "sku", "space", also=("Orders",)),
        [Wire(START, "Stock"), Wire("Orders", "Match"), Wire("Stock", "Match", input=1), Wire("Match", "Reserve")],
    )
    yield case(
        "shipping address only for packages",
        [
            data(
                "Orders",
                [{"id": 1, "kind": "download", "ship": None}, {"id": 2, "kind": "package", "ship": {"zip": "1"}}],
            ),
            node("Package?", "if", 2.2, compare("={{ $json.kind }}", "string", "equals", "package")),
            every("Label", "return { json: { zip: $json.ship.zip } };"),
            pass_on("Mail link"),
        ],
        truth("Package?", "Label", "ship", also=("Orders",)),
        [Wire("Orders", "Package?"), Wire("Package?", "Mail link"), Wire("Package?", "Label", output=1)],
    )
    yield case(
        "currency that the service refuses",
        [
            data("Payment", [{"amount": 500, "cur": "EURO"}]),
            get(
                "Charge",
                "/say/400/currency",
                **_POST,
                bodyParameters=_table(amount="={{ $json.amount }}", currency="={{ $json.cur }}"),
            ),
        ],
        truth("Payment", "Charge", "EURO", also=("Charge",)),
    )
    yield case(
        "order number lost by an http request",
        [
            data("Orders", [{"nr": "B-7"}]),
            get("Track", "/profile"),
            every("Note", "return { json: { text: 'Order ' + $json.nr.toUpperCase() } };"),
        ],
        truth("Track", "Note", "nr", also=("Note",)),
    )
    yield case(
        "coupon that nobody has is handled, tax is not",
        [
            data("Cart", [{"items": [{"p": 3, "tax": {"rate": 19}}, {"p": 4}], "coupon": None}]),
            every(
                "Total",
                "const off = $json.coupon?.value ?? 0;\nlet sum = 0;\nfor (const i of $json.items) sum += i.p * (1 + i.tax.rate / 100);\nreturn { json: { sum: sum - off } };",
            ),
        ],
        truth("Cart", "Total", "tax"),
    )
    yield case(
        "api version that is gone",
        [
            data("Q", [{"q": "tea", "page": None}]),
            get(
                "Search",
                "/status/410",
                sendQuery=True,
                queryParameters=_table(q="={{ $json.q }}", page="={{ $json.page }}"),
            ),
        ],
        truth(None, "Search", "410"),
    )
    yield case(
        "rate limit in the third round",
        [
            data("Ids", [{"id": 1, "x": None}, {"id": 2, "x": None}]),
            node("Loop", "splitInBatches", 3, {"batchSize": 1, "options": {}}),
            get("Fetch", "/limit", sendQuery=True, queryParameters=_table(id="={{ $json.id }}", x="={{ $json.x }}")),
            pass_on("End"),
        ],
        truth(None, "Fetch", "429"),
        [*chain("Ids", "Loop", "End"), Wire("Loop", "Fetch", output=1), Wire("Fetch", "Loop")],
    )


def _school() -> Iterator[Case]:
    yield case(
        "grade that is a word in a sum",
        [
            data("Noten", [{"name": "A", "note": 2}, {"name": "B", "note": "krank"}]),
            code(
                "Schnitt",
                "const all = $input.all().map((i) => i.json.note);\nconst avg = all.reduce((a, b) => a + b, 0) / all.length;\nif (Number.isNaN(avg)) throw new Error('Schnitt nicht berechenbar');\nreturn [{ json: { avg } }];",
            ),
        ],
        truth("Noten", "Schnitt", "krank", also=("Schnitt",)),
    )
    yield case(
        "class list that has another sheet name",
        [
            data("Tabelle", [{"Vorname": "Ann", "Nachname ": "Lee"}]),
            expression_set("Name", {"name": "={{ $json['Nachname'].toUpperCase() + ', ' + $json.Vorname }}"}),
            pass_on("Liste"),
        ],
        truth("Name", None, "Nachname", also=("Tabelle",)),
    )
    yield case(
        "birthday in two formats",
        [
            data("Kinder", [{"geb": "2015-04-01"}, {"geb": "1.4.15"}]),
            every(
                "Alter",
                "const [y, m, d] = $json.geb.split('-').map(Number);\nconst age = new Date(Date.UTC(y, m - 1, d)).toISOString();\nreturn { json: { age } };",
            ),
        ],
        truth("Kinder", "Alter", "1.4.15", also=("Alter",)),
    )
    yield case(
        "teacher that a map does not know",
        [
            data("Stunden", [{"fach": "Mathe", "lehrer": 7}]),
            data("Lehrer", [{"id": "7", "name": "Frau Abe"}]),
            code(
                "Plan",
                "const byId = new Map($('Lehrer').all().map((l) => [l.json.id, l.json]));\nreturn $('Stunden').all().map((s) => ({ json: { fach: s.json.fach, wer: byId.get(s.json.lehrer).name } }));",
            ),
        ],
        truth(None, "Plan", "lehrer", also=("Stunden", "Lehrer")),
    )
    yield case(
        "parents of whom one has no mail",
        [
            data("Eltern", [{"kind": "A", "kontakte": [{"mail": "x@y"}]}, {"kind": "B", "kontakte": []}]),
            every("Brief", "const [first] = $json.kontakte;\nreturn { json: { an: first.mail } };"),
        ],
        truth("Eltern", "Brief", "kontakte", also=("Brief",)),
    )
    yield case(
        "room that is full is a rule",
        [
            data("Kurs", [{"raum": 20, "kinder": 24, "notiz": None}]),
            node("Passt?", "if", 2.2, compare("={{ $json.kinder <= $json.raum }}", "boolean", "equals", True)),
            pass_on("Buchen"),
            node(
                "Voll", "stopAndError", 1, {"errorMessage": "=Raum zu klein: {{ $json.kinder }} von {{ $json.raum }}"}
            ),
        ],
        truth(None, "Voll", "24", also=("Kurs",)),
        [*chain("Kurs", "Passt?", "Buchen"), Wire("Passt?", "Voll", output=1)],
    )
    yield case(
        "timetable split by the wrong sign",
        [
            data("Plan", [{"zeile": "Mo;8:00;Mathe"}]),
            every(
                "Teile",
                "const [tag, zeit, fach] = $json.zeile.split(',');\nreturn { json: { tag, fach: fach.trim() } };",
            ),
        ],
        truth(None, "Teile", "zeile", also=("Plan",)),
    )
    yield case(
        "healthy: nobody is ill today",
        [
            data("Klasse", [{"n": "A", "krank": False}, {"n": "B", "krank": False}]),
            node("Kranke", "filter", 2.2, compare("={{ $json.krank }}", "boolean", "equals", True)),
            expression_set("Meldung", {"text": "={{ $json.n }} ist krank"}),
        ],
        truth(None, None),
    )


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
