"""Broken workflows that fail, written last: shops, clinics and schools, with nodes that no other case has."""

from collections.abc import Iterator
from typing import Any

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, condition, node, pass_on

from .fault import START, expression_set
from .fresh_parts import call_child, case, compare, data, every, get, truth
from .shapes import Case

_PATIENTS: list[dict[str, Any]] = [
    {"患者": "山田", "生年月日": "1980-02-30", "保険": {"番号": "A1"}, "診療": [{"点数": 10}, {"点数": 20}]},
    {"患者": "鈴木", "生年月日": "1975-07-01", "保険": None, "診療": []},
]
_PUPILS: list[dict[str, Any]] = [
    {"name": "Ada", "marks": {"math": 1}, "class": "5b", "guardian": {"phone": "030 1"}},
    {"name": "Ben", "marks": {"math": 2}, "class": "5a"},
]
_FORMATTER = """\
function line(p) {
  return p.guardian.phone + ' ' + p.name;
}
const out = [];
for (const one of $input.all()) {
  const pupil = one.json;
  out.push({ json: { text: pupil.guardian.phone + ' ' + pupil.name } });
}
return out;"""
_LOOKUP = """\
const prices = $('Price list').all();
const first = prices[0].json;
return { json: { total: first.net.amount * $json.count } };"""
_TWO_LINES = """\
const customer = $('Load customer').first().json;
const address = customer.shipping;
const label = [address.street, address.city].join(', ');
return [{ json: { label } }];"""
_NESTED_DESTRUCTURING = """\
const { data: { attributes } } = $input.first().json;
return [{ json: { title: attributes.title.toUpperCase() } }];"""
_INDEXED = """\
const rows = $input.all();
return rows.map((row, i) => ({ json: { mail: row.json['E-Mail'].toLowerCase(), i } }));"""


def unseen_failing_cases() -> Iterator[Case]:
    yield from _missing()
    yield from _types()
    yield from _services()
    yield from _structure()


def _missing() -> Iterator[Case]:
    yield case(
        "insurance of one patient is null",
        [
            data("受付", _PATIENTS),
            pass_on("待合"),
            every("請求", "const { 保険 } = $json;\nreturn { json: { no: 保険.番号 } };"),
        ],
        truth("受付", "請求", "保険", "null"),
    )
    yield case(
        "guardian missing in a loop of code",
        [data("Pupils", _PUPILS), expression_set("Year", {"year": "2026"}), code("Phone list", _FORMATTER)],
        truth("Pupils", "Phone list", "guardian"),
    )
    yield case(
        "price list of another node",
        [
            data("Price list", [{"article": "pen", "net": None}]),
            data("Cart", [{"article": "pen", "count": 2}]),
            pass_on("Check stock"),
            every("Total", _LOOKUP),
        ],
        truth("Price list", "Total", "net", "null"),
    )
    yield case(
        "address of a customer that was not loaded",
        [
            data("Load customer", [{"id": 4, "billing": {"street": "A 1"}}]),
            expression_set("Greeting", {"hello": "Dear customer"}, keep=False),
            code("Label", _TWO_LINES),
        ],
        truth("Load customer", "Label", "shipping", also=("Label",)),
    )
    yield case(
        "attributes of an answer",
        [data("Answer", [{"data": {"id": 3, "attributes": {"titel": "Faust"}}}]), code("Title", _NESTED_DESTRUCTURING)],
        truth("Answer", "Title", "title", "titel", also=("Title",)),
    )
    yield case(
        "Set chain that loses a value",
        [
            data("Form", [{"customer_name": "Kato", "customer_mail": "k@example.com"}]),
            expression_set(
                "Rename", {"name": "={{ $json.customer_name }}", "mail": "={{ $json.customer_email }}"}, keep=False
            ),
            expression_set("Sender", {"from": "shop@example.com"}),
            every("Write mail", "return { json: { to: $json.mail.trim() } };"),
        ],
        truth("Rename", "Write mail", "customer_email"),
    )
    yield case(
        "header with a hyphen",
        [data("Sheet", [{"Email": "A@B.de"}, {"Email": "C@D.de"}]), code("Lower", _INDEXED)],
        truth("Lower", "Lower", "E-Mail", "Email", also=("Sheet",)),
    )
    yield case(
        "sorted away",
        [
            data("Offers", [{"price": 3, "seller": {"name": "X"}}, {"price": 2}]),
            node(
                "Cheapest",
                "sort",
                1,
                {"sortFieldsUi": {"sortField": [{"fieldName": "price", "order": "ascending"}]}, "options": {}},
            ),
            node("One", "limit", 1, {"maxItems": 1}),
            every("Announce", "return { json: { who: $json.seller.name } };"),
        ],
        truth("Offers", "Announce", "seller"),
    )
    yield case(
        "summary has other names",
        [
            data("Sales", [{"shop": "N", "sum": 3}, {"shop": "N", "sum": 4}]),
            node(
                "Per shop",
                "summarize",
                1.1,
                {
                    "fieldsToSummarize": {"values": [{"aggregation": "sum", "field": "sum"}]},
                    "fieldsToSplitBy": "shop",
                    "options": {},
                },
            ),
            every("Report", "return { json: { text: $json.sum.toFixed(2) } };"),
        ],
        truth("Per shop", "Report", "sum"),
    )


def _types() -> Iterator[Case]:
    yield case(
        "list as a text",
        [
            data("Import", [{"tags": "red,green"}]),
            expression_set("Source", {"from": "csv"}),
            every("Tags", "const { tags } = $json;\nreturn { json: { n: tags.filter((t) => t).length } };"),
        ],
        truth("Import", "Tags", "tags", "string"),
    )
    yield case(
        "object where a list was",
        [
            get("Read cart", "/plain"),
            expression_set("Lines", {"lines": '={{ ({ "a": 1 }) }}'}, kind="object"),
            every("Sum", "let n = 0;\nfor (const l of $json.lines) n += l;\nreturn { json: { n } };"),
        ],
        truth("Lines", "Sum", "lines", "object"),
    )
    yield case(
        "phone number is a number",
        [
            data("Contacts", [{"tel": 3012345}]),
            every("Clean", "return { json: { tel: $json.tel.replace(/ /g, '') } };"),
        ],
        truth("Contacts", "Clean", "tel", "number"),
    )
    yield case(
        "settings in broken JSON",
        [
            data("Config", [{"raw": "{retries: 3}"}]),
            expression_set("Env", {"env": "test"}),
            every("Load", "const text = $json.raw;\nconst conf = JSON.parse(text);\nreturn { json: conf };"),
        ],
        truth("Config", "Load", "raw", "JSON"),
    )
    yield case(
        "delivery date in words",
        [
            data("Orders", [{"due": "next friday"}]),
            every(
                "Plan", "const due = new Date($json.due);\nreturn { json: { day: due.toISOString().slice(0, 10) } };"
            ),
        ],
        truth("Orders", "Plan", "due", "next friday"),
    )
    yield case(
        "yes in a boolean condition",
        [
            data("Poll", [{"ok": "yes"}]),
            node("Agreed?", "if", 2.2, compare("={{ $json.ok }}", "boolean", "true", "")),
            pass_on("Go"),
        ],
        truth("Poll", "Agreed?", "ok", "yes"),
    )
    yield case(
        "amount with a currency",
        [
            data("Bank", [{"amount": "EUR 12"}]),
            expression_set("Book", {"amount": "={{ $json.amount }}"}, kind="number"),
        ],
        truth("Bank", "Book", "amount"),
    )
    yield case(
        "file name for a file",
        [
            data("Upload", [{"file": "report.pdf"}]),
            node("Read PDF", "extractFromFile", 1, {"operation": "pdf", "binaryPropertyName": "data", "options": {}}),
        ],
        truth("Read PDF", "Read PDF", "binary", also=("Upload",)),
    )


def _services() -> Iterator[Case]:
    rows = data("Rows", [{"id": 5, "memo": None, "ref": None}])
    yield case("conflict of the service", [rows, get("Save row", "/status/409")], truth(None, "Save row", "409"))
    yield case("gateway timeout", [rows, get("Report", "/status/504")], truth(None, "Report", "504"))
    yield case("payment required", [rows, get("Pay", "/status/402")], truth(None, "Pay", "402"))
    yield case(
        "address with an empty id",
        [
            data("Tickets", [{"ticket": {"id": None}}]),
            pass_on("Queue"),
            get("Fetch ticket", "", url="=http://service.invalid/users/{{ $json.ticket.id }}"),
        ],
        truth("Tickets", "Fetch ticket", "ticket.id", "404"),
    )
    yield case(
        "address that is no address",
        [data("Links", [{"link": None}]), get("Open link", "", url="={{ $json.link }}")],
        truth("Links", "Open link", "link"),
    )
    yield case(
        "retried and failed",
        [rows, get("Push", "/status/503", retryOnFail=True)],
        truth(None, "Push", "503"),
    )


def _structure() -> Iterator[Case]:
    yield case(
        "child throws its own message",
        [data("Begin", [{"a": None}]), call_child("Helper")],
        truth(None, "検査", "在庫切れ"),
        child=([every("検査", "throw new Error('在庫切れ');")], None),
    )
    yield case(
        "child fails in a service",
        [data("Begin", [{"a": None}]), pass_on("Between"), call_child("Helper")],
        truth(None, "Ask", "503"),
        child=([expression_set("Prepare", {"x": "1"}), get("Ask", "/status/503")], None),
    )
    yield case(
        "reads a node of the other branch",
        [
            data("Votes", [{"yes": True}]),
            node("Accepted?", "if", 2.2, condition("={{ $json.yes }}", "true")),
            expression_set("Reason", {"why": "late"}),
            expression_set("Letter", {"text": "={{ $('Reason').first().json.why }}"}),
        ],
        truth(None, "Letter", "Reason"),
        [*chain("Votes", "Accepted?", "Letter"), Wire("Accepted?", "Reason", output=1)],
    )
    yield case(
        "node was renamed",
        [data("Get orders", [{"n": 1}]), every("Count", "return { json: { n: $('Get order').item.json.n } };")],
        truth(None, "Count", "Get order"),
    )
    yield case(
        "new items have no pair",
        [
            data("Guests", [{"g": 1}, {"g": 2}, {"g": 3}]),
            code("Tables", "return [{ json: { t: 1 } }, { json: { t: 2 } }];"),
            pass_on("Seat"),
            expression_set("Card", {"who": "={{ $('Guests').item.json.g }}"}),
        ],
        truth("Tables", "Card", "pair"),
    )
    yield case(
        "async forgotten",
        [data("A", [{"n": None}]), code("Call", "const x = fetchAll($input.all());\nreturn x;")],
        truth(None, "Call", "fetchAll"),
    )
    yield case(
        "constant changed",
        [data("A", [{"n": None}]), code("Add", "const sum = 1;\nsum = 2;\nreturn [];")],
        truth(None, "Add", "constant"),
    )
    merged = {"mode": "combine", "combineBy": "combineByPosition", "options": {"includeUnpaired": True}}
    yield case(
        "shorter side of a merge",
        [
            data("Names", [{"name": "a"}, {"name": "b"}]),
            data("Ages", [{"age": {"years": 3}}]),
            node("Both", "merge", 3.1, merged),
            every("Say", "return { json: { s: $json.name + $json.age.years } };"),
        ],
        truth("Names", "Say", "age", also=("Ages", "Both")),
        [*chain("Names", "Both", "Say"), Wire(START, "Ages"), Wire("Ages", "Both", input=1)],
    )
