"""Fifth cases: what a shop and a school would build, written when the fourth ones were mended."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import START, expression_set
from .fresh_parts import case, compare, data, every, get, truth
from .shapes import Case

_POST = {"method": "POST", "sendBody": True}
_HEALTHY = truth(None, None)


def fifth_shops() -> Iterator[Case]:
    yield from _shop()
    yield from _school()


def _table(**fields: str) -> dict[str, object]:
    return {"parameters": [{"name": key, "value": value} for key, value in fields.items()]}


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
