"""Last cases, written after everything else was mended: what was not thought of before."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import SERVICE, START, Truth, expression_set
from .fresh_parts import by_hand, call_child, case, compare, data, every, get, truth
from .shapes import GRANDCHILD, Case


def last_cases() -> Iterator[Case]:
    yield from _shops()
    yield from _offices()
    yield from _services()
    yield from _quiet()


def _shops() -> Iterator[Case]:
    yield case(
        "discount rule not found",
        [
            data("Basket", [{"code": "XMAS", "sum": 20}]),
            expression_set("Upper", {"code": "={{ $json.code.toLowerCase() }}"}),
            code(
                "Discount",
                "const rules = { XMAS: { percent: 10 } };\nconst { code, sum } = $input.first().json;\nconst rule = rules[code];\nif (!rule) {\n  throw new Error('no such discount: ' + code);\n}\nreturn [{ json: { sum: sum * rule.percent } }];",
            ),
        ],
        truth(None, "Discount", "discount", also=("Upper",)),
    )
    yield case(
        "several required fields, one missing",
        [
            data("Form", [{"name": "Ito", "mail": "i@x", "tel": "1"}]),
            every("Drop tel", "const { tel, ...rest } = $json;\nreturn { json: rest };"),
            pass_on("Relay"),
            every(
                "Require",
                "for (const field of ['name', 'mail', 'tel']) {\n  if (!$json[field]) throw new Error(`${field} is required`);\n}\nreturn { json: $json };",
            ),
        ],
        truth("Drop tel", "Require", "tel"),
    )
    yield case(
        "early return, then a throw",
        [
            data("注文", [{"番号": 1, "状態": "済"}, {"番号": 2, "状態": ""}]),
            every("確認", "if ($json.状態) return { json: $json };\nthrow new Error('状態がない注文です');"),
        ],
        truth("注文", "確認", "状態", also=("確認",)),
    )
    yield case(
        "negative stock by a mistake in a Set node",
        [
            data("Stock", [{"sku": "a", "count": 3, "sold": 5}]),
            expression_set("Left", {"left": "={{ $json.count - $json.sold }}"}, kind="number"),
            every("Reserve", "if ($json.left < 0) throw new Error('cannot reserve');\nreturn { json: $json };"),
        ],
        truth("Left", "Reserve", "left", also=("Reserve", "Stock")),
    )
    yield case(
        "price from the wrong end of a merge",
        [
            data("Old prices", [{"sku": "a", "price": 5}]),
            data("New prices", [{"sku": "a", "price": "on request"}]),
            node("Join", "merge", 3.1, {"mode": "combine", "fieldsToMatchString": "sku", "options": {}}),
            every("Round", "return { json: { p: $json.price.toFixed(2) } };"),
        ],
        truth("New prices", "Round", "price", "on request", also=("Join",)),
        [*chain("Old prices", "Join", "Round"), Wire(START, "New prices"), Wire("New prices", "Join", input=1)],
    )
    yield case(
        "three inputs, the third gives nothing",
        [
            data("A", [{"a": 1}]),
            data("B", [{"b": 1}]),
            code("C", "return [];"),
            node(
                "All",
                "merge",
                3.1,
                {"mode": "combine", "combineBy": "combineByPosition", "numberInputs": 3, "options": {}},
            ),
            expression_set("Use", {"x": "1"}),
        ],
        truth("C", None, "Use", also=("All",)),
        [
            *chain("A", "All", "Use"),
            Wire(START, "B"),
            Wire("B", "All", input=1),
            Wire(START, "C"),
            Wire("C", "All", input=2),
        ],
    )
    yield case(
        "rows grouped, then read one by one",
        [
            data("Sales", [{"shop": "N", "v": 1}, {"shop": "S", "v": 2}]),
            code(
                "Group",
                "const groups = {};\nfor (const { json } of $input.all()) (groups[json.shop] ??= []).push(json);\nreturn [{ json: groups }];",
            ),
            code("Read W", "const west = $input.first().json.W;\nreturn west.map((json) => ({ json }));"),
        ],
        truth("Group", "Read W", "W", also=("Sales", "Read W")),
    )


def _offices() -> Iterator[Case]:
    yield case(
        "leave request of a stranger",
        [
            data("社員", [{"番号": 1, "上司": {"氏名": "森"}}]),
            data("申請", [{"社員番号": 2}]),
            code(
                "照合",
                "const all = $('社員').all().map((one) => one.json);\nreturn $input.all().map(({ json }) => {\n  const found = all.find((one) => one.番号 === json.社員番号);\n  return { json: { 上司: found.上司.氏名 } };\n});",
            ),
        ],
        truth(None, "照合", also=("申請", "社員")),
    )
    yield case(
        "optional chain in the wrong place",
        [
            data("Staff", [{"name": "Ito", "office": {"desk": 1}}, {"name": "Abe", "office": None}]),
            expression_set("Mark", {"m": "1"}),
            every("Desk", "return { json: { desk: $json?.office.desk } };"),
        ],
        truth("Staff", "Desk", "office", "null"),
    )
    yield case(
        "minutes from a number",
        [
            data("Log", [{"from": 900, "to": "10:30"}]),
            every("Span", "const [h, m] = $json.from.split(':');\nreturn { json: { h, m } };"),
        ],
        truth("Log", "Span", "from", "number"),
    )
    yield case(
        "date made by a Date & Time node from nothing",
        [
            data("Contracts", [{"id": 1, "ends": ""}]),
            node(
                "Until",
                "dateTime",
                2,
                {
                    "operation": "formatDate",
                    "date": "={{ $json.ends }}",
                    "format": "yyyy-MM-dd",
                    "outputFieldName": "until",
                    "options": {},
                },
            ),
            every("Month", "return { json: { month: $json.until.slice(5, 7) } };"),
        ],
        truth("Until", None, "ends", also=("Contracts",)),
    )
    yield case(
        "report of an empty week",
        [
            data("Week", [{"days": []}]),
            node("Days", "splitOut", 1, {"fieldToSplitOut": "days", "options": {}}),
            expression_set("Line", {"l": "={{ $json.days }}"}),
            pass_on("Print"),
        ],
        truth("Days", None, "days", "Line", also=("Week",)),
    )
    yield case(
        "parent hands a text down where an object belongs",
        [
            data("Read mail", [{"sender": "Ito <i@x>"}]),
            pass_on("Relay"),
            call_child("Call CRM"),
        ],
        truth("Read mail", "Split name", "sender", short=("Called", "Call CRM", "Call names")),
        child=([pass_on("In"), call_child("Call names", GRANDCHILD)], None),
        grandchild=([every("Split name", "return { json: { n: $json.sender.name.split(' ') } };")], None),
    )
    yield case(
        "child called once for each item",
        [
            data("People", [{"who": {"n": "a"}}, {"who": None}]),
            node(
                "Per person",
                "executeWorkflow",
                1.2,
                {"workflowId": {"__rl": True, "mode": "id", "value": "id-of-the-child"}, "mode": "each", "options": {}},
            ),
        ],
        truth("People", "Greet", "who", "null", short=("Called", "Per person")),
        child=([every("Greet", "return { json: { t: $json.who.n } };")], None),
    )
    yield by_hand(
        case(
            "pinned list is empty",
            [
                get("Fetch", "/total"),
                code(
                    "First",
                    "const rows = $input.first().json.rows;\nif (!Array.isArray(rows) || rows.length === 0) throw new Error('nothing to do');\nreturn rows;",
                ),
            ],
            truth("Fetch", "First", "rows"),
        ),
        {"Fetch": [{"rows": []}]},
    )
    yield case(
        "wrong node of two with like names",
        [
            data("Get order", [{"order": {"id": 7}}]),
            data("Get orders", [{"orders": [1]}]),
            every("Use", "return { json: { id: $('Get orders').first().json.order.id } };"),
        ],
        truth("Use", "Use", "order", also=("Get orders",)),
    )
    yield case(
        "assignment by map with an index",
        [
            data("Names", [{"names": ["a", "b", "c"], "ages": [1, 2]}]),
            every(
                "Pair",
                "const out = $json.names.map((name, i) => ({ name, age: $json.ages[i].toFixed(0) }));\nreturn { json: { out } };",
            ),
        ],
        truth("Names", "Pair", "ages", also=("Pair",)),
    )


def _services() -> Iterator[Case]:
    yield case(
        "page number out of range",
        [
            data("Start page", [{"page": 1}]),
            get("Load", "/nothing"),
            every("Next", "const next = $json.next.split('=')[1];\nreturn { json: { next } };"),
        ],
        truth("Load", "Next", "next", "null"),
    )
    yield case(
        "results of a search are none",
        [get("Search", "/nothing"), every("Best", "const [best] = $json.results;\nreturn { json: { id: best.id } };")],
        truth("Search", "Best", "results", also=("Best",)),
    )
    yield case(
        "token under another name",
        [
            get("Login", "/token"),
            expression_set("Keep token", {"token": "={{ $json.accessToken }}"}, keep=False),
            get(
                "Use",
                "/secure",
                sendHeaders=True,
                headerParameters={"parameters": [{"name": "Authorization", "value": "=Bearer {{ $json.token }}"}]},
            ),
        ],
        truth("Login", "Use", "accessToken", "401", also=("Keep token",), short=("Use",)),
    )
    yield case(
        "bad gateway while nulls are sent",
        [
            data("Seed", [{"id": None, "email": None}]),
            get(
                "Send",
                "/status/502",
                method="POST",
                sendBody=True,
                bodyParameters={"parameters": [{"name": "email", "value": "={{ $json.email }}"}]},
            ),
        ],
        truth(None, "Send", "502"),
    )
    yield case(
        "conflict while a null is sent",
        [
            data("Seed", [{"id": 5, "note": None}]),
            get(
                "Put",
                "/status/409",
                method="POST",
                sendBody=True,
                bodyParameters={"parameters": [{"name": "note", "value": "={{ $json.note }}"}]},
            ),
        ],
        truth(None, "Put", "409"),
    )
    yield case(
        "host that does not exist",
        [
            data("Seed", [{"host": None}]),
            node("Ping", "httpRequest", 4.2, {"url": "http://nowhere.invalid/x", "options": {}}),
        ],
        truth(None, "Ping", "nowhere", also=()),
    )
    yield case(
        "address built from a list",
        [data("Seed", [{"ids": ["1", "x"]}]), get("Load", "", url=f"={SERVICE}/users/{{{{ $json.ids }}}}")],
        truth(None, "Load", "404", also=("Seed",)),
    )
    yield case(
        "error output, then a guard on it",
        [
            data("Seed", [{"a": 1}]),
            get("Try", "/status/500", onError="continueRegularOutput"),
            every("Check", "if ($json.error) throw new Error('the service is down');\nreturn { json: $json };"),
        ],
        truth("Try", "Check", "500"),
    )
    yield case(
        "JSON in JSON",
        [
            data("Queue", [{"message": '{"body": "{\\"id\\": 1}"}'}]),
            every(
                "Unpack",
                "const message = JSON.parse($json.message);\nreturn { json: { id: message.body.id.toString() } };",
            ),
        ],
        truth(None, "Unpack", also=("Queue", "Unpack")),
    )


def _quiet() -> Iterator[Case]:
    nothing = Truth(cause=None, failing=None)
    yield case(
        "trailing blank in a Japanese state",
        [
            data("台帳", [{"状態": "完了　"}, {"状態": "完了　"}]),
            node("完了のみ", "filter", 2.2, compare("={{ $json.状態 }}", "string", "equals", "完了")),
            expression_set("通知", {"n": "1"}),
        ],
        truth("完了のみ", None, "状態", "通知", also=("台帳",)),
    )
    yield case(
        "total with a hole",
        [
            data("Bill", [{"net": 10}]),
            every("Tax", "return { json: { net: $json.net, tax: $json.net * $json.rate } };"),
            expression_set("Text", {"t": "=Total: {{ $json.net + $json.tax }} ({{ $json.currency }})"}),
            pass_on("Send"),
        ],
        truth("Tax", None, also=("Text", "Bill")),
    )
    yield case(
        "all rows are duplicates",
        [
            data("Rows", [{"id": 1}, {"id": 1}]),
            node(
                "Unique", "removeDuplicates", 2, {"compare": "selectedFields", "fieldsToCompare": "id", "options": {}}
            ),
            pass_on("Save"),
        ],
        nothing,
    )
    yield case(
        "healthy: guard that is not met",
        [
            data("Rows", [{"id": 1}]),
            every("Check", "if (!$json.id) throw new Error('no id');\nreturn { json: $json };"),
            pass_on("Save"),
        ],
        nothing,
    )
    yield case(
        "healthy: child gives back",
        [data("Rows", [{"id": 1}]), call_child("Help"), pass_on("Save")],
        nothing,
        child=([expression_set("Add", {"x": "={{ $json.id }}"})], None),
    )
    yield case(
        "healthy: left join with nothing on the right",
        [
            data("L", [{"id": 1}]),
            data("R", [{"id": 2, "x": 1}]),
            node(
                "Join",
                "merge",
                3.1,
                {"mode": "combine", "fieldsToMatchString": "id", "joinMode": "enrichInput1", "options": {}},
            ),
            expression_set("Safe", {"x": "={{ $json.x ?? 0 }}"}, kind="number"),
        ],
        nothing,
        [*chain("L", "Join", "Safe"), Wire(START, "R"), Wire("R", "Join", input=1)],
    )
