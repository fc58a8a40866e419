"""Daily cases of code: helpers, classes, async code, look-ups, dates, own checks and own mistakes."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import code, node, pass_on

from .fault import expression_set
from .fresh_parts import case, data, every, get, truth
from .shapes import Case


def daily_code() -> Iterator[Case]:
    yield from _shapes_of_code()
    yield from _lookups()
    yield from _values()


def _shapes_of_code() -> Iterator[Case]:
    people = data("Personen", [{"vorname": "Eva", "nachname": "Kurz"}, {"vorname": "Uwe", "nachname": None}])
    yield case(
        "helper that cleans",
        [
            people,
            code(
                "Säubern",
                "function clean(text) {\n  return text.trim().toLowerCase();\n}\n\nreturn $input.all().map(({ json }) => ({ json: { key: clean(json.vorname) + clean(json.nachname) } }));",
            ),
        ],
        truth("Personen", "Säubern", "nachname"),
    )
    yield case(
        "class with a method",
        [
            data("Invoices", [{"no": "A1", "lines": [{"net": 5}]}, {"no": "A2"}]),
            code(
                "Totals",
                "class Invoice {\n  constructor(row) {\n    this.row = row;\n  }\n  total() {\n    return this.row.lines.reduce((sum, line) => sum + line.net, 0);\n  }\n}\n\nreturn $input.all().map((item) => ({ json: { total: new Invoice(item.json).total() } }));",
            ),
        ],
        truth("Invoices", "Totals", "lines"),
    )
    yield case(
        "async over all items",
        [
            data("Tickets", [{"id": 1, "owner": {"mail": "a@b.c"}}, {"id": 2, "owner": None}]),
            code(
                "Owners",
                "const load = async (ticket) => {\n  const mail = ticket.owner.mail;\n  return { json: { mail } };\n};\n\nreturn await Promise.all($input.all().map((i) => load(i.json)));",
            ),
        ],
        truth("Tickets", "Owners", "owner"),
    )
    yield case(
        "chain stops one step early",
        [
            data("Firmen", [{"name": "X", "adresse": {"land": None}}]),
            every("Land", "const code = $json.adresse?.land.kuerzel;\nreturn { json: { code } };"),
        ],
        truth("Firmen", "Land", "land"),
    )
    yield case(
        "default that does not cover null",
        [
            data("Posts", [{"title": "a", "tags": ["x"]}, {"title": "b", "tags": None}]),
            every(
                "Tags",
                "const { title, tags = [] } = $json;\nreturn { json: { title, list: tags.map((t) => t.toUpperCase()) } };",
            ),
        ],
        truth("Posts", "Tags", "tags"),
    )
    yield case(
        "nested destructuring",
        [
            data("Orte", [{"ort": {"plz": "10115"}}, {"strasse": "Weg 1"}]),
            every("Plz", "const { ort: { plz } } = $json;\nreturn { json: { plz } };"),
        ],
        truth("Orte", "Plz", "ort"),
    )
    yield case(
        "entries of nothing",
        [
            data("Shops", [{"shop": "A", "prices": {"x": 1}}, {"shop": "B", "prices": None}]),
            code(
                "Flatten",
                "const out = [];\nfor (const { json } of $input.all()) {\n  for (const [sku, price] of Object.entries(json.prices)) {\n    out.push({ json: { sku, price } });\n  }\n}\nreturn out;",
            ),
        ],
        truth("Shops", "Flatten", "prices"),
    )
    yield case(
        "helper in a helper",
        [
            data("受注", [{"番号": "1", "顧客": {"氏名": "佐藤 花子"}}, {"番号": "2", "顧客": {}}]),
            every(
                "宛名",
                "const last = (name) => name.split(' ')[0];\nconst label = (order) => `${last(order.顧客.氏名)} 様`;\nreturn { json: { 宛名: label($json) } };",
            ),
        ],
        truth("受注", "宛名", "氏名"),
    )
    yield case(
        "renamed by a Set node before a helper",
        [
            data("Rows", [{"customer": "Ito", "total": 5}]),
            expression_set("Translate", {"kunde": "={{ $json.customer }}", "summe": "={{ $json.total }}"}, keep=False),
            pass_on("Wait a bit"),
            code(
                "Letters",
                "const greet = (row) => 'Dear ' + row.customer.toUpperCase();\nconst out = [];\nfor (let i = 0; i < items.length; i++) {\n  out.push({ json: { text: greet(items[i].json) } });\n}\nreturn out;",
            ),
        ],
        truth("Translate", "Letters", "customer"),
    )
    yield case(
        "callback with an index",
        [
            data("Liste", [{"werte": [1, 2]}, {"werte": "1,2"}]),
            code(
                "Summen",
                "return $input.all().map((item, i) => {\n  const werte = item.json.werte;\n  return { json: { i, s: werte.reduce((a, b) => a + b, 0) } };\n});",
            ),
        ],
        truth("Liste", "Summen", "werte"),
    )


def _lookups() -> Iterator[Case]:
    yield case(
        "map by a renamed id",
        [
            data("Kunden", [{"id": 1, "name": "Ada"}]),
            data("Auftraege", [{"nr": 9, "kundeId": 1}]),
            code(
                "Verbinden",
                "const byId = new Map($('Kunden').all().map((k) => [k.json.id, k.json]));\nreturn $input.all().map((a) => ({ json: { nr: a.json.nr, name: byId.get(a.json.kundenId).name } }));",
            ),
        ],
        truth("Verbinden", "Verbinden", "kundenId", also=("Auftraege",)),
    )
    yield case(
        "find that finds nothing",
        [
            data("Rates", [{"rates": [{"code": "EUR", "r": 1}, {"code": "USD", "r": 1.1}]}]),
            every("Pick", "const rate = $json.rates.find((x) => x.code === 'JPY').r;\nreturn { json: { rate } };"),
        ],
        truth("Rates", "Pick", "rates", also=("Pick",)),
    )
    yield case(
        "table without the country",
        [
            data("Orders", [{"id": 1, "country": "DE"}, {"id": 2, "country": "FR"}]),
            every(
                "Tax",
                "const table = { DE: { rate: 19 }, JP: { rate: 10 } };\nreturn { json: { tax: table[$json.country].rate } };",
            ),
        ],
        truth("Orders", "Tax", "country", "FR", also=("Tax",)),
    )
    yield case(
        "first of a node without items",
        [
            data("Start list", [{"a": 1}]),
            node(
                "Keep new",
                "filter",
                2.2,
                {
                    "conditions": {
                        "options": {"caseSensitive": True, "typeValidation": "strict", "version": 2},
                        "combinator": "and",
                        "conditions": [
                            {
                                "id": "1",
                                "leftValue": "={{ $json.a }}",
                                "rightValue": 5,
                                "operator": {"type": "number", "operation": "gt"},
                            }
                        ],
                    },
                    "options": {},
                },
                alwaysOutputData=True,
            ),
            code(
                "Newest", "const row = $('Keep new').first().json;\nreturn [{ json: { when: row.date.slice(0, 10) } }];"
            ),
        ],
        truth("Keep new", "Newest", "date"),
    )
    yield case(
        "index one too far",
        [
            data("Messungen", [{"wert": 1}, {"wert": 2}]),
            code(
                "Differenz",
                "const out = [];\nfor (let i = 0; i < items.length; i++) {\n  out.push({ json: { d: items[i + 1].json.wert - items[i].json.wert } });\n}\nreturn out;",
            ),
        ],
        truth("Differenz", "Differenz"),
    )
    yield case(
        "second word of one word",
        [
            data("Names", [{"name": "Ada Lovelace"}, {"name": "Plato"}]),
            every(
                "Initials", "const [first, last] = $json.name.split(' ');\nreturn { json: { i: first[0] + last[0] } };"
            ),
        ],
        truth("Names", "Initials", "name", "Plato"),
    )
    yield case(
        "named group without a match",
        [
            data("Betreffe", [{"betreff": "Ticket #123"}, {"betreff": "Urlaub"}]),
            every("Nummer", "const { no } = $json.betreff.match(/#(?<no>\\d+)/).groups;\nreturn { json: { no } };"),
        ],
        truth("Betreffe", "Nummer", "betreff"),
    )
    yield case(
        "static table of another node",
        [
            data("Config", [{"limits": {"gold": 10}}]),
            data("Requests", [{"level": "silver"}]),
            every(
                "Limit",
                "const limits = $('Config').first().json.limits;\nreturn { json: { left: limits[$json.level].toFixed(0) } };",
            ),
        ],
        truth("Requests", "Limit", "level", also=("Config", "Limit")),
    )


def _values() -> Iterator[Case]:
    yield case(
        "amount that is a text",
        [
            get("Price list", "/preise"),
            every("Round", "return { json: { p: $json.preis.toFixed(2) } };"),
        ],
        truth("Price list", "Round", "preis"),
    )
    yield case(
        "time that is none",
        [
            data("Termine", [{"am": "2026-03-01"}, {"am": "31.12.2026"}]),
            every("Iso", "return { json: { iso: new Date($json.am).toISOString() } };"),
        ],
        truth("Termine", "Iso", "am", "31.12.2026"),
    )
    yield case(
        "object parsed again",
        [
            data("Hooks", [{"payload": {"a": 1}}]),
            every("Parse", "const body = JSON.parse($json.payload);\nreturn { json: body };"),
        ],
        truth("Hooks", "Parse", "payload", also=("Parse",)),
    )
    yield case(
        "empty text parsed",
        [
            data("Answers", [{"raw": '{"a":1}'}, {"raw": ""}]),
            code(
                "Parse all",
                "const parse = (t) => JSON.parse(t);\nreturn $input.all().map((i) => ({ json: parse(i.json.raw) }));",
            ),
        ],
        truth("Answers", "Parse all", "raw"),
    )
    yield case(
        "largest of no rows",
        [
            data("Reports", [{"rows": [3, 4]}, {"rows": []}]),
            every("Max", "return { json: { max: $json.rows.reduce((a, b) => (a > b ? a : b)) } };"),
        ],
        truth("Reports", "Max", "rows"),
    )
    yield case(
        "currency lost",
        [
            data("Buchungen", [{"betrag": 12, "waehrung": "EUR"}]),
            expression_set("Kurz", {"betrag": "={{ $json.betrag }}"}, keep=False, kind="number"),
            every(
                "Format",
                "const f = new Intl.NumberFormat('de-DE', { style: 'currency', currency: $json.waehrung });\nreturn { json: { t: f.format($json.betrag) } };",
            ),
        ],
        truth("Kurz", "Format", "waehrung"),
    )
    yield case(
        "link without a scheme",
        [
            data("Links", [{"link": "https://example.com/a"}, {"link": "example.com/b"}]),
            every("Host", "const [, rest] = $json.link.split('://');\nreturn { json: { host: rest.split('/')[0] } };"),
        ],
        truth("Links", "Host", "link", "example.com/b"),
    )
    yield case(
        "percent sign in a text",
        [
            data("Texts", [{"q": "100%"}]),
            every("Decode", "return { json: { q: decodeURIComponent($json.q) } };"),
        ],
        truth("Texts", "Decode", "q"),
    )
    yield case(
        "negative number of stars",
        [
            data("Reviews", [{"stars": 4}, {"stars": -1}]),
            every("Draw", "return { json: { s: '*'.repeat($json.stars) } };"),
        ],
        truth("Reviews", "Draw", "stars", "-1"),
    )
