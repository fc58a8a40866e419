"""Wide cases: joins, lists, loops, types and dates, written with no look at the rules."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import SERVICE, START, expression_set
from .fresh_parts import by_hand, case, data, every, get, truth
from .shapes import Case
from .wide_guards import wide_guards
from .wide_quiet import wide_healthy, wide_quiet
from .wide_services import wide_services

_MERGE = {"mode": "combine", "combineBy": "combineByPosition", "options": {}}


def wide_cases() -> Iterator[Case]:
    yield from wide_guards()
    yield from _joins()
    yield from _lists()
    yield from _loops()
    yield from _types()
    yield from _references()
    yield from wide_services()
    yield from wide_quiet()
    yield from wide_healthy()


def _joins() -> Iterator[Case]:
    yield case(
        "merge by position with one too few",
        [
            data("Goods", [{"sku": "a"}, {"sku": "b"}, {"sku": "c"}]),
            data("Prices", [{"price": {"net": 1}}, {"price": {"net": 2}}]),
            node("Side by side", "merge", 3.1, {**_MERGE, "options": {"includeUnpaired": True}}),
            every("Label", "return { json: { text: $json.sku + $json.price.net } };"),
        ],
        truth("Prices", "Label", "price", also=("Side by side",)),
        [*chain("Goods", "Side by side", "Label"), Wire(START, "Prices"), Wire("Prices", "Side by side", input=1)],
    )
    yield case(
        "merge by position with a null on the right",
        [
            data("Goods", [{"sku": "a", "note": None}, {"sku": "b", "note": None}]),
            data("Prices", [{"price": {"net": 1}}, {"price": None}]),
            node("Side by side", "merge", 3.1, _MERGE),
            every("Label", "return { json: { text: $json.sku + $json.price.net } };"),
        ],
        truth("Prices", "Label", "price", "null"),
        [*chain("Goods", "Side by side", "Label"), Wire(START, "Prices"), Wire("Prices", "Side by side", input=1)],
    )
    yield case(
        "merge in which the right name wins",
        [
            data("CRM", [{"id": 1, "name": "Ito"}]),
            data("Shop", [{"id": 1, "name": None, "cart": 3}]),
            node("Join", "merge", 3.1, {"mode": "combine", "fieldsToMatchString": "id", "options": {}}),
            every("Greet", "return { json: { text: 'Hello ' + $json.name.trim() } };"),
        ],
        truth("Shop", "Greet", "name", "null", also=("Join",)),
        [*chain("CRM", "Join", "Greet"), Wire(START, "Shop"), Wire("Shop", "Join", input=1)],
    )
    yield case(
        "enriching join without a partner",
        [
            data("注文", [{"品番": "A-1"}]),
            data("在庫", [{"品番": "B-2", "棚": {"列": 3}}]),
            node(
                "突合",
                "merge",
                3.1,
                {"mode": "combine", "fieldsToMatchString": "品番", "joinMode": "enrichInput1", "options": {}},
            ),
            every("札", "return { json: { 列: $json.棚.列 } };"),
        ],
        truth("突合", "札", "棚", also=("在庫",)),
        [*chain("注文", "突合", "札"), Wire(START, "在庫"), Wire("在庫", "突合", input=1)],
    )
    yield case(
        "lookup table without the key",
        [
            data("Customers", [{"id": 1, "name": "Ito"}]),
            data("Orders", [{"customerId": 99}]),
            code(
                "Join",
                "const byId = Object.fromEntries($('Customers').all().map((c) => [c.json.id, c.json]));\nreturn $input.all().map((o) => ({ json: { name: byId[o.json.customerId].name } }));",
            ),
        ],
        truth(None, "Join", also=("Orders", "Customers")),
    )
    yield case(
        "aggregate, then one item is expected",
        [
            data("Guests", [{"name": "Ito"}, {"name": "Abe"}]),
            node(
                "Collect",
                "aggregate",
                1,
                {"aggregate": "aggregateAllItemData", "destinationFieldName": "guests", "options": {}},
            ),
            every("Badge", "return { json: { badge: $json.name.toUpperCase() } };"),
        ],
        truth("Badge", "Badge", "name", also=("Collect",)),
    )
    yield case(
        "summary under another name",
        [
            data("Sales", [{"area": "N", "amount": 3}, {"area": "N", "amount": 4}]),
            node(
                "Sum",
                "summarize",
                1.1,
                {
                    "fieldsToSummarize": {"values": [{"aggregation": "sum", "field": "amount"}]},
                    "fieldsToSplitBy": "area",
                    "options": {},
                },
            ),
            every("Print", "return { json: { line: $json.amount.toFixed(2) } };"),
        ],
        truth("Print", "Print", "sum_amount", also=("Sum",)),
    )


def _lists() -> Iterator[Case]:
    yield case(
        "split of a text that looks like a list",
        [
            data("Order", [{"id": 5, "lines": '[{"sku": "a"}]'}]),
            node("Split lines", "splitOut", 1, {"fieldToSplitOut": "lines", "options": {}}),
            every("Pick", "return { json: { sku: $json.lines.sku.trim() } };"),
        ],
        truth("Order", "Pick", "lines", also=("Split lines", "Pick")),
    )
    yield case(
        "split that leaves the head behind",
        [
            data("Orders", [{"orderId": "o-1", "lines": [{"sku": "a"}, {"sku": "b"}]}]),
            node("Split lines", "splitOut", 1, {"fieldToSplitOut": "lines", "options": {}}),
            every("Write", "return { json: { key: $json.orderId.concat('/', $json.sku) } };"),
        ],
        truth("Split lines", "Write", "orderId"),
    )
    yield case(
        "renamed by Rename Keys",
        [
            data("Leads", [{"mail": "a@b", "n": 1}]),
            node(
                "Tidy",
                "renameKeys",
                1,
                {"keys": {"key": [{"currentKey": "mail", "newKey": "email"}]}, "additionalOptions": {}},
            ),
            every("Send", "return { json: { to: $json.mail.toLowerCase() } };"),
        ],
        truth("Tidy", "Send", "mail", "email", also=("Send",)),
    )
    yield case(
        "first of an empty list inside",
        [
            get("Profile", "/profile"),
            expression_set("Tag", {"t": "1"}),
            every("Role", "return { json: { role: $json.user.roles[0].name } };"),
        ],
        truth("Profile", "Role", "roles"),
    )
    yield case(
        "counted loop over orders",
        [
            data("Day", [{"orders": [{"price": {"amount": 1}}, {"price": None}]}]),
            pass_on("Relay"),
            every(
                "Sum",
                "let total = 0;\nfor (let i = 0; i < $json.orders.length; i++) {\n  const order = $json.orders[i];\n  total += order.price.amount;\n}\nreturn { json: { total } };",
            ),
        ],
        truth("Day", "Sum", "price"),
    )
    yield case(
        "one item where several are needed",
        [
            data("Rates", [{"r": 1}, {"r": 2}]),
            expression_set("Stamp", {"s": "1"}, executeOnce=True),
            code("Spread", "const all = $input.all();\nreturn [{ json: { spread: all[1].json.r - all[0].json.r } }];"),
        ],
        truth("Stamp", "Spread", also=("Spread",)),
    )
    yield case(
        "index behind the end",
        [
            data("Rows", [{"rows": [{"id": 1}]}]),
            every("Last", "const { rows } = $json;\nreturn { json: { id: rows[rows.length].id } };"),
        ],
        truth(None, "Last", also=("Last",)),
    )
    yield case(
        "field with a dot in its name",
        [
            data("Seed", [{"n": 1}]),
            expression_set("Name it", {"user.name": "Ito"}),
            every("Use", "return { json: { name: $json['user.name'].trim() } };"),
        ],
        truth("Use", "Use", "user", also=("Name it",)),
    )


def _loops() -> Iterator[Case]:
    yield case(
        "bad item in a later batch",
        [
            data("品目", [{"価格": 1}, {"価格": 2}, {"価格": 3}, {"価格": "時価"}]),
            node("二つずつ", "splitInBatches", 3, {"batchSize": 2, "options": {}}),
            every("表示", "return { json: { 値: $json.価格.toFixed(1) } };"),
            pass_on("終わり"),
        ],
        truth("品目", "表示", "価格", "時価"),
        [*chain("品目", "二つずつ", "終わり"), Wire("二つずつ", "表示", output=1), Wire("表示", "二つずつ")],
    )
    yield case(
        "loop that drops the id before the request",
        [
            data("Users", [{"id": 3, "n": "a"}, {"id": 4, "n": "b"}]),
            node("Each", "splitInBatches", 3, {"options": {}}),
            expression_set("Slim", {"n": "={{ $json.n }}"}, keep=False),
            get("Load user", "", url=f"={SERVICE}/users/{{{{ $json.id }}}}"),
            pass_on("End"),
        ],
        truth("Slim", "Load user", "id", "404"),
        [*chain("Users", "Each", "End"), Wire("Each", "Slim", output=1), *chain("Slim", "Load user", "Each")],
    )


def _types() -> Iterator[Case]:
    yield case(
        "text where a list is joined",
        [
            data("Post", [{"title": "x"}]),
            expression_set("Tags", {"tags": "red,blue"}),
            every("Line", "return { json: { line: $json.tags.join(' / ') } };"),
        ],
        truth("Tags", "Line", "tags", "string"),
    )
    yield case(
        "number where a text is replaced",
        [get("Fetch total", "/total"), every("Clean", "return { json: { t: $json.total.replace(',', '') } };")],
        truth("Fetch total", "Clean", "total", "number", also=("Clean",)),
    )
    yield case(
        "date object that became a text",
        [
            data("Trip", [{"days": 3}]),
            every("Depart", "return { json: { start: DateTime.fromISO('2026-11-17'), days: $json.days } };"),
            every("End", "return { json: { end: $json.start.plus({ days: $json.days }) } };"),
        ],
        truth("Depart", "End", "start", "string", also=("End",)),
    )
    yield case(
        "era date",
        [
            data("台帳", [{"期日": "令和8年11月17日"}]),
            pass_on("中継"),
            every("換算", "const 日 = new Date($json.期日);\nreturn { json: { iso: 日.toISOString() } };"),
        ],
        truth("台帳", "換算", "期日", "令和"),
    )
    yield case(
        "array field from a text",
        [
            data("Tags", [{"one": "red"}]),
            expression_set("List", {"many": "={{ $json.one }}"}, kind="array"),
            pass_on("Save"),
        ],
        truth("Tags", "List", "one", also=("List",)),
    )
    yield case(
        "boolean from a word",
        [
            data("申込", [{"同意": "はい"}]),
            expression_set("判定", {"ok": "={{ $json.同意 }}"}, kind="boolean"),
            pass_on("保存"),
        ],
        truth("申込", "判定", "同意", "はい", also=("判定",)),
    )
    yield case(
        "raw JSON with a hole",
        [
            data("Stock", [{"sku": "a", "count": 4}]),
            expression_set("Slim", {"sku": "={{ $json.sku }}"}, keep=False),
            node(
                "Body",
                "set",
                3.4,
                {"mode": "raw", "jsonOutput": '={ "sku": "{{ $json.sku }}", "n": {{ $json.count }} }', "options": {}},
            ),
        ],
        truth("Slim", None, "count", also=("Body",)),
    )
    yield case(
        "wait until nonsense",
        [
            data("Plan", [{"resumeAt": "sometime"}]),
            node("Hold", "wait", 1.1, {"resume": "specificTime", "dateTime": "={{ $json.resumeAt }}"}),
            pass_on("Go on"),
        ],
        truth("Plan", "Hold", "resumeAt", also=("Hold",)),
    )


def _references() -> Iterator[Case]:
    yield case(
        "node by half of its name",
        [
            data("設定値", [{"税率": 10}]),
            data("品目", [{"値": 3}]),
            every("計算", "return { json: { t: $('設定').first().json.税率 * $json.値 } };"),
        ],
        truth(None, "計算", "設定値"),
    )
    yield case(
        "setting under another spelling",
        [
            data("Config", [{"base_url": SERVICE}]),
            data("Jobs", [{"j": 1}]),
            get("Call", "", url="={{ $('Config').first().json.baseUrl }}/ok"),
        ],
        truth("Call", "Call", "base_url", also=("Config",)),
    )
    yield case(
        "items by the old function",
        [
            data("Leads", [{"who": {"mail": "a@b"}}]),
            every("Mask", "return { json: { who: null } };"),
            pass_on("Relay"),
            code("Use", "return [{ json: { m: $items('Mask')[0].json.who.mail } }];"),
        ],
        truth("Mask", "Use", "who", "null"),
    )
    yield case(
        "field written from a misspelt one",
        [
            data("Guests", [{"email": "a@b"}]),
            expression_set("Map", {"mail": "={{ $json.emial }}"}, keep=False),
            every("Send", "return { json: { to: $json.mail.trim() } };"),
        ],
        truth("Map", "Send", "emial"),
    )
    yield case(
        "nothing remembered yet",
        [
            data("Tick", [{"now": 1}]),
            code(
                "Since",
                "const memory = $getWorkflowStaticData('global');\nreturn [{ json: { since: memory.lastRun.toString() } }];",
            ),
        ],
        truth(None, "Since", "toString"),
    )
    yield case(
        "disabled node in the middle",
        [
            data("Cart", [{"net": 3}]),
            expression_set("Add total", {"total": "={{ $json.net * 1.1 }}"}, kind="number", disabled=True),
            every("Show", "return { json: { text: $json.total.toFixed(2) } };"),
        ],
        truth("Add total", "Show", "total", short=("Cart", "Show")),
    )
    yield case(
        "webhook body without the field",
        [pass_on("Relay"), every("Read order", "return { json: { id: $json.body.order.id } };")],
        truth(START, "Read order", "order", also=("Read order",)),
    )
    yield by_hand(
        case(
            "pinned item without the field",
            [
                get("Fetch", "/total"),
                expression_set("Mark", {"m": "1"}),
                every("Show", "return { json: { t: $json.total.toFixed(2) } };"),
            ],
            truth("Fetch", "Show", "total", also=("Show",)),
        ),
        {"Fetch": [{"id": 1, "sum": 12}]},
    )
    yield case(
        "module that is not there",
        [
            data("Seed", [{"a": None}]),
            code("Load", "const axios = require('axios');\nreturn [{ json: { a: $json.a } }];"),
        ],
        truth(None, "Load", "axios"),
    )
    yield case(
        "list returned for each item",
        [data("Seed", [{"a": [1], "b": None}]), every("Each", "return $json.a.map((a) => ({ json: { a } }));")],
        truth(None, "Each"),
    )
