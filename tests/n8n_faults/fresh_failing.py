"""Broken workflows of another hand that fail."""

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import expression_set
from .fresh_parts import HOTEL, call_child, case, compare, data, every, get, truth
from .shapes import Case

_SUM_EXTRAS = """\
const all = $input.all().map((b) => b.json);
const total = all.reduce((sum, b) => sum + b.extras.length, 0);
return [{ json: { total } }];"""
_CHECK_EAN = """\
const p = $json;
if (p.ean === undefined) throw new Error(`ean missing for ${p.sku}`);
return { json: p };"""
_MINIMUM = """\
if ($json.sum < 10) {
  throw new Error('Minimum order value not reached');
}
return { json: $json };"""
_TAXES = """\
const sum = $json.lines.map((line) => line.tax.rate).reduce((a, b) => a + b, 0);
return { json: { sum } };"""
_FIND_VIP = """\
const vip = $input.all().find((b) => b.json.guest === 'Sato');
return [{ json: { name: vip.json.guest } }];"""
_PARSE_RATE = """\
const n = Number($json.rate.replace(',', ''));
if (!$json.nights) throw new Error('no nights');
return { json: { ...$json, n } };"""
_A_FILE = """\
const data = Buffer.from('x').toString('base64');
return [{ json: { n: 1 }, binary: { report: { data, mimeType: 'text/plain', fileName: 'r.txt' } } }];"""


def failing_cases() -> Iterator[Case]:
    yield from _missing_values()
    yield from _wrong_values()
    yield from _own_faults()
    yield from _sub_workflows()


def _missing_values() -> Iterator[Case]:
    hotel = data("Bookings", HOTEL)
    yield case(
        "reduce over a missing list",
        [hotel, expression_set("Tag", {"season": "autumn"}), code("Sum extras", _SUM_EXTRAS)],
        truth("Bookings", "Sum extras", "extras", also=("Sum extras",)),
    )
    count = "const answer = $input.first().json;\nreturn answer.parts.map((p) => ({ json: p }));"
    yield case(
        "API answer without the list",
        [get("Ask stock service", "/plain"), code("Count parts", count)],
        truth("Ask stock service", "Count parts", "parts", also=("Count parts",)),
    )
    greet = "const { from } = $json;\nreturn { json: { hello: from.toUpperCase() } };"
    yield case(
        "webhook field one level up",
        [expression_set("Note", {"seen": "yes"}), every("挨拶を書く", greet)],
        truth("挨拶を書く", "挨拶を書く", "from", "body.from"),
    )
    renamed = {"keys": {"key": [{"currentKey": "電話", "newKey": "電話番号"}]}}
    yield case(
        "rename that the letter does not know",
        [
            data("名簿", [{"氏名": "田中", "電話": "03-1111"}]),
            node("名前を変える", "renameKeys", 1, renamed),
            every("電話帳", "return { json: { tel: $json['電話'].replace('-', '') } };"),
        ],
        truth("名前を変える", "電話帳", "電話"),
    )
    collected = {"fieldsToAggregate": {"fieldToAggregate": [{"fieldToAggregate": "guest"}]}, "options": {}}
    yield case(
        "aggregate swallowed the fields",
        [
            hotel,
            node("Collect", "aggregate", 1, collected),
            every("Sign", "return { json: { sign: $json.room.padStart(5, '0') } };"),
        ],
        truth("Collect", "Sign", "room"),
    )
    yield case(
        "check of a field throws",
        [
            data("Import", [{"sku": "A1", "ean": "490"}, {"sku": "A2"}]),
            expression_set("Shop", {"shop": "Kobe"}),
            every("Check", _CHECK_EAN),
        ],
        truth("Import", "Check", "ean"),
    )
    yield case(
        "deep null in a list",
        [
            data("Invoices", [{"no": 1, "lines": [{"tax": {"rate": 10}}, {"tax": None}]}]),
            expression_set("Stamp", {"stamp": "ok"}),
            every("Taxes", _TAXES),
        ],
        truth("Invoices", "Taxes", "tax", "null"),
    )
    yield case("lookup finds nothing", [hotel, code("Find VIP", _FIND_VIP)], truth(None, "Find VIP", "json"))


def _wrong_values() -> Iterator[Case]:
    hotel = data("Bookings", HOTEL)
    yield case(
        "number from a text with a comma",
        [hotel, every("Bill", "const price = $json.rate.toFixed(2);\nreturn { json: { ...$json, price } };")],
        truth("Bookings", "Bill", "rate", "string"),
    )
    arrivals = "const when = new Date($json.arrival);\nreturn { json: { when: when.toISOString() } };"
    yield case(
        "date in the wrong order",
        [hotel, every("Arrivals", arrivals)],
        truth("Bookings", "Arrivals", "arrival", "20.11.2026"),
    )
    yield case(
        "parsed twice",
        [
            data("Queue", [{"message": {"id": 7}}]),
            every("Open message", "const m = JSON.parse($json.message);\nreturn { json: m };"),
        ],
        truth("Queue", "Open message", "message", also=("Open message",)),
    )
    yield case(
        "half a JSON text",
        [
            data("Log lines", [{"line": '{"level":"info"}'}, {"line": '{"level":"wa'}]),
            every("Read line", "return { json: JSON.parse($json.line) };"),
        ],
        truth("Log lines", "Read line", "line", "JSON"),
    )
    only_name = {"assignments": [{"id": "1", "name": "file", "value": "r.txt", "type": "string"}]}
    yield case(
        "file lost in a Set node",
        [
            code("Make file", _A_FILE),
            node("Only name", "set", 3.4, {"assignments": only_name, "options": {"stripBinary": True}}),
            node(
                "Open file",
                "extractFromFile",
                1,
                {"operation": "text", "binaryPropertyName": "report", "options": {}},
            ),
        ],
        truth("Only name", "Open file", "binary"),
    )
    yield case(
        "text in a numeric condition",
        [hotel, node("Long stay?", "if", 2.2, compare("={{ $json.rate }}", "number", "gt", 9000)), pass_on("Gift")],
        truth("Bookings", "Long stay?", "rate", "8,500"),
    )
    yield case(
        "split of something that is no list",
        [
            data("Orders", [{"order": 1, "rows": "none"}]),
            every("Rows", "return { json: { n: $json.rows.map((r) => r.id) } };"),
        ],
        truth("Orders", "Rows", "rows", "string"),
    )


def _own_faults() -> Iterator[Case]:
    hotel = data("Bookings", HOTEL)
    posted = {"method": "POST", "sendBody": True, "specifyBody": "json"}
    yield case(
        "bad gateway beside nulls",
        [
            data("Jobs", [{"job": None, "url": None, "name": "x"}]),
            get("Start job", "/status/502", **posted, jsonBody="={{ JSON.stringify({ job: $json.job }) }}"),
        ],
        truth(None, "Start job", "502"),
    )
    yield case(
        "rate limit in a loop",
        [
            hotel,
            node("Batches", "splitInBatches", 3, {"batchSize": 1, "options": {}}),
            get("予約を送る", "/status/429"),
            pass_on("Finished"),
        ],
        truth(None, "予約を送る", "429"),
        [
            *chain("Bookings", "Batches", "Finished"),
            Wire("Batches", "予約を送る", output=1),
            Wire("予約を送る", "Batches"),
        ],
    )
    yield case(
        "own check throws",
        [data("Carts", [{"cart": 1, "coupon": None, "sum": 3}]), every("Minimum", _MINIMUM)],
        truth(None, "Minimum", "Minimum order value"),
    )
    yield case(
        "typo in a method",
        [hotel, every("Shout", "return { json: { loud: $json.guest.toUppercase() } };")],
        truth("Shout", "Shout", "toUppercase"),
    )
    yield case(
        "unknown variable",
        [hotel, code("Total nights", "const n = bookings.length;\nreturn [{ json: { n } }];")],
        truth(None, "Total nights", "bookings"),
    )
    yield case(
        "bracket forgotten", [hotel, code("Typo", "return [{ json: { a: 1 }];")], truth(None, "Typo", "Unexpected")
    )


def _sub_workflows() -> Iterator[Case]:
    hotel = data("Bookings", HOTEL)
    begin = data("Begin", [{"a": 1}])
    yield case(
        "grandchild fails",
        [begin, call_child("Delegate")],
        truth("中の変換", "中の利用", "値", "null"),
        child=(
            [
                every("中の変換", "return { json: { 値: null } };"),
                pass_on("中継"),
                every("中の利用", "return { json: { x: $json.値.length } };"),
            ],
            None,
        ),
    )
    yield case(
        "child got too little",
        [begin, call_child("Delegate")],
        truth("Called", "Use b", "b", also=("Begin", "Use b")),
        child=([every("Use b", "return { json: { x: $json.b.c } };")], None),
    )
    yield case(
        "error item breaks the next node",
        [
            hotel,
            every("Parse rate", _PARSE_RATE, onError="continueRegularOutput"),
            expression_set("Pass", {"p": "1"}),
            every("Per night", "return { json: { per: $json.n.toFixed(1) } };"),
        ],
        truth("Parse rate", "Per night", "no nights"),
    )
