"""Fourth cases of code: null by design, and readers that are wrong."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import code, node

from .fault import expression_set
from .fresh_parts import case, data, every, truth
from .shapes import Case

_POST = {"method": "POST", "sendBody": True}
_HEALTHY = truth(None, None)


def fourth_code() -> Iterator[Case]:
    yield from _by_design()
    yield from _wrong_reader()


def _by_design() -> Iterator[Case]:
    yield case(
        "optional fields beside a broken call",
        [
            data("People", [{"name": "Ann", "middle": None, "title": None, "born": "1990-01-01"}]),
            every(
                "Format",
                "const full = [$json.title, $json.name, $json.middle].filter(Boolean).join(' ');\nconst age = calcAge($json.born);\nreturn { json: { full, age } };",
            ),
        ],
        truth(None, "Format", "calcAge"),
    )
    yield case(
        "null that is handled and a typo behind it",
        [
            data("Orders", [{"nr": 1, "discount": None, "lines": [{"sku": "a", "price": 3}]}]),
            code(
                "Totals",
                "return $input.all().map(({ json }) => {\n  const off = json.discount ?? 0;\n  const sum = json.line.reduce((s, l) => s + l.price, 0);\n  return { json: { nr: json.nr, sum: sum - off } };\n});",
            ),
        ],
        truth(None, "Totals", "lines"),
    )
    yield case(
        "map that misses a code of a country",
        [
            data("Kunden", [{"name": "A", "land": "DE", "fax": None}, {"name": "B", "land": "CH", "fax": None}]),
            code(
                "Steuer",
                "const rates = { DE: { vat: 19 }, AT: { vat: 20 } };\nreturn $input.all().map((i) => ({ json: { ...i.json, vat: rates[i.json.land].vat } }));",
            ),
        ],
        truth(None, "Steuer", "CH", also=("Kunden",)),
    )
    yield case(
        "static table without a key that is null by design",
        [
            data("Tickets", [{"id": 1, "assignee": None}, {"id": 2, "assignee": "kim"}]),
            code(
                "Route",
                "const mail = { kim: { to: 'kim@x' }, lee: { to: 'lee@x' } };\nconst out = [];\nfor (const t of $input.all()) {\n  const who = t.json.assignee || 'triage';\n  out.push({ json: { to: mail[who].to } });\n}\nreturn out;",
            ),
        ],
        truth(None, "Route", "triage", also=("Tickets",)),
    )
    yield case(
        "await that is missing",
        [
            data("Urls", [{"path": "/ok", "note": None}]),
            code(
                "Fetch",
                "const res = this.helpers.httpRequest({ url: 'http://service.invalid/profile', json: true });\nreturn [{ json: { n: res.user.name } }];",
            ),
        ],
        truth(None, "Fetch", "await"),
    )
    yield case(
        "python spelling in code",
        [data("Rows", [{"a": None, "b": 2}]), code("Count", "const n = len($input.all());\nreturn [{ json: { n } }];")],
        truth(None, "Count", "len"),
    )
    yield case(
        "constant that is changed",
        [
            data("Rows", [{"a": 1}, {"a": None}]),
            code(
                "Sum",
                "const total = 0;\nfor (const i of $input.all()) {\n  total += i.json.a ?? 0;\n}\nreturn [{ json: { total } }];",
            ),
        ],
        truth(None, "Sum", "constant"),
    )
    yield case(
        "regular expression that does not match anything",
        [
            data("Mails", [{"subject": "Order #123", "cc": None}, {"subject": "Re: hello", "cc": None}]),
            code("Numbers", "return $input.all().map((m) => ({ json: { nr: m.json.subject.match(/#(\\d+)/)[1] } }));"),
        ],
        truth("Mails", "Numbers", "Re: hello", also=("Numbers",)),
    )
    yield case(
        "helper with a wrong argument",
        [
            data("Leads", [{"first": "Ann", "last": "Lee", "company": None}]),
            code(
                "Names",
                "function initials(first, last) {\n  return first[0] + last[0];\n}\nreturn $input.all().map((l) => ({ json: { i: initials(l.json.first) } }));",
            ),
        ],
        truth(None, "Names"),
    )
    yield case(
        "return of a text",
        [data("Rows", [{"a": None}]), code("Text", "return JSON.stringify($input.all().map((i) => i.json));")],
        truth(None, "Text", "items"),
    )
    yield case(
        "endless recursion",
        [
            data("Tree", [{"id": 1, "parent": None}]),
            code("Depth", "const depth = (n) => depth(n.parent) + 1;\nreturn [{ json: { d: depth({}) } }];"),
        ],
        truth(None, "Depth"),
    )


def _wrong_reader() -> Iterator[Case]:
    yield case(
        "body of a webhook that is forgotten",
        [every("Greet", "return { json: { hi: $json.from.toUpperCase() } };")],
        truth(None, "Greet", "body.from"),
    )
    yield case(
        "first item of a node that gave many",
        [
            data("Config", [{"key": "a", "val": "1"}, {"key": "b", "val": {"x": 2}}]),
            data("Work", [{"n": 1}]),
            every("Use", "const c = $('Config').first().json;\nreturn { json: { x: c.val.x.toFixed(1) } };"),
        ],
        truth(None, "Use", "val", also=("Config",)),
    )
    yield case(
        "list read as an object",
        [
            data("Answer", [{"data": [{"id": 5}], "meta": None}]),
            every("Pick", "return { json: { id: $json.data.id.toString() } };"),
        ],
        truth(None, "Pick", "list", also=("Answer",)),
    )
    yield case(
        "field of a sibling with the same name",
        [
            data("A", [{"user": {"name": "Ann"}, "order": {"id": 3}}]),
            every("B", "return { json: { n: $json.order.name.trim() } };"),
        ],
        truth(None, "B", "order.name", also=("A",)),
    )
    yield case(
        "wrong node in the expression",
        [
            data("Customer", [{"id": 1, "mail": "a@x"}]),
            data("Invoice", [{"nr": 9}]),
            every("Letter", "return { json: { to: $('Invoice').item.json.mail.toLowerCase() } };"),
        ],
        truth(None, "Letter", "mail", also=("Invoice",)),
    )
    yield case(
        "case of the letters after a rename",
        [
            data("Raw", [{"E-Mail": "a@x", "Name": "Ann"}]),
            expression_set("Clean", {"email": "={{ $json['E-Mail'] }}", "name": "={{ $json.Name }}"}, keep=False),
            every("Check", "return { json: { ok: $json.Email.includes('@') } };"),
        ],
        truth(None, "Check", "email", also=("Clean",)),
    )
    yield case(
        "index of an item that is not there",
        [
            data("Three", [{"v": 1}, {"v": 2}, {"v": 3}]),
            node("Top two", "limit", 1, {"maxItems": 2}),
            code("Third", "const items = $input.all();\nreturn [{ json: { v: items[2].json.v } }];"),
        ],
        truth("Top two", "Third", "2", also=("Third",)),
    )
    yield case(
        "aggregate that nests",
        [
            data("Rows", [{"x": 1}, {"x": 2}]),
            node(
                "Collect",
                "aggregate",
                1,
                {"aggregate": "aggregateAllItemData", "destinationFieldName": "data", "options": {}},
            ),
            every("Sum", "return { json: { s: $json.x.reduce((a, b) => a + b, 0) } };"),
        ],
        truth(None, "Sum", "x", also=("Collect",)),
    )
    yield case(
        "number in japanese letters",
        [
            data("注文", [{"品名": "茶", "数量": "３"}, {"品名": "米", "数量": "二"}]),
            code(
                "計算",
                "return $input.all().map((i) => {\n  const n = Number(i.json['数量'].normalize('NFKC'));\n  if (Number.isNaN(n)) throw new Error('数量が数字ではありません');\n  return { json: { n } };\n});",
            ),
        ],
        truth("注文", "計算", "数量", also=("計算",)),
    )
    yield case(
        "key with umlaut in another form",
        [
            data("Liste", [{"Stra\u0308ße": "x", "Stadt": "Ulm"}]),
            every("Brief", "return { json: { s: $json['Stra\u00e4ße'].trim() } };"),
        ],
        truth(None, "Brief", also=("Liste",)),
    )
    yield case(
        "set with dots makes objects",
        [
            data("Flat", [{"a": 1}]),
            expression_set("Put", {"user.name": "Ann"}),
            every("Get", "return { json: { n: $json['user.name'].length } };"),
        ],
        truth(None, "Get", "user.name", also=("Put",)),
    )
