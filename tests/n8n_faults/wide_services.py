"""Wide cases of services that refuse or answer oddly, of error outputs and of sub-workflows two deep."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import SERVICE, expression_set
from .fresh_parts import call_child, case, compare, data, every, get, truth
from .shapes import GRANDCHILD, Case


def wide_services() -> Iterator[Case]:
    yield from _answers()
    yield from _refusals()
    yield from _error_outputs()
    yield from _families()


def _answers() -> Iterator[Case]:
    yield case(
        "plain text for data",
        [
            get("Create", "/text"),
            expression_set("Note", {"n": "1"}),
            every("Link", "return { json: { link: '/' + $json.id.toString() } };"),
        ],
        truth("Create", "Link", "id", also=("Link",)),
    )
    yield case(
        "errors of a query language",
        [get("Query", "/graphql"), every("Name", "return { json: { name: $json.data.user.name } };")],
        truth("Query", "Name", "data"),
    )
    yield case(
        "polite refusal",
        [
            get("Order", "/soft"),
            expression_set("Mark", {"m": "x"}),
            every("Receipt", "return { json: { id: $json.result.id } };"),
        ],
        truth("Order", "Receipt", "quota"),
    )
    yield case(
        "page instead of a list",
        [get("List items", "/html"), code("Map", "return $input.first().json.items.map((one) => ({ json: one }));")],
        truth("List items", "Map", "HTML", "items"),
    )
    yield case(
        "no content",
        [get("Delete", "/empty"), every("Log", "return { json: { id: $json.id.toFixed(0) } };")],
        truth("Delete", "Log", "id", also=("Log",)),
    )
    yield case(
        "one order without a buyer",
        [
            get("Orders", "/orders"),
            expression_set("Stamp", {"s": "={{ $json.id }}"}),
            every("Mail", "const to = $json.buyer.mail;\nreturn { json: { to } };"),
        ],
        truth("Orders", "Mail", "buyer", "null"),
    )
    yield case(
        "JSON cut short",
        [
            data("Seed", [{"x": None}]),
            get("Read", "/broken", options={"response": {"response": {"responseFormat": "json"}}}),
        ],
        truth(None, "Read", "JSON"),
    )
    yield case(
        "markup read as data",
        [
            get("Old system", "/xml"),
            expression_set("Take id", {"id": "={{ $json.order.id }}"}, keep=False),
            every("Use", "return { json: { id: $json.id.trim() } };"),
        ],
        truth("Old system", "Use", "order", also=("Take id",)),
    )
    yield case(
        "selector that finds nothing",
        [
            get("Page", "/html"),
            node(
                "Scrape",
                "html",
                1.2,
                {
                    "operation": "extractHtmlContent",
                    "extractionValues": {
                        "values": [
                            {"key": "price", "cssSelector": ".price", "returnValue": "attribute", "attribute": "data-p"}
                        ]
                    },
                    "options": {},
                },
            ),
            every("Round", "return { json: { p: $json.price.replace('€', '') } };"),
        ],
        truth("Scrape", "Round", "price", also=("Page",)),
    )


def _refusals() -> Iterator[Case]:
    header = {
        "sendHeaders": True,
        "headerParameters": {"parameters": [{"name": "Authorization", "value": "=Bearer {{ $json.access_token }}"}]},
    }
    yield case(
        "token that the login did not give",
        [get("Login", "/token"), get("Use", "/secure", **header)],
        truth("Login", "Use", "access_token", "401", short=("Use",)),
    )
    yield case(
        "token that ran out",
        [data("Seed", [{"token": "abc", "refresh": None}]), get("Use", "/expired")],
        truth(None, "Use", "401"),
    )
    body = {"method": "POST", "sendBody": True, "specifyBody": "json", "jsonBody": "={{ JSON.stringify($json) }}"}
    yield case(
        "service misses a field that was dropped",
        [
            data("Signup", [{"name": "Ito", "email": "i@x", "age": None}]),
            expression_set("Pick", {"name": "={{ $json.name }}"}, keep=False),
            get("Create user", "/create", **body),
        ],
        truth("Pick", "Create user", "email", "422", short=("Create user",)),
    )
    fields = {
        "method": "POST",
        "sendBody": True,
        "bodyParameters": {"parameters": [{"name": "email", "value": "={{ $json.mail }}"}]},
    }
    yield case(
        "service misses a field that is null",
        [
            data("Signup", [{"name": "Ito", "mail": "i@x"}]),
            every("Check", "return { json: { name: $json.name, mail: null } };"),
            get("Create user", "/create", **fields),
        ],
        truth("Check", "Create user", "mail", "422", short=("Create user",)),
    )
    yield case(
        "forbidden beside nulls",
        [
            data("Seed", [{"id": 1, "role": None, "token": ""}]),
            get("Admin", "", url=f"={SERVICE}/status/403?id={{{{ $json.id }}}}"),
        ],
        truth(None, "Admin", "403"),
    )
    yield case(
        "unknown user beside nulls",
        [data("Seed", [{"user": "A-12", "role": None}]), get("Find", "", url=f"={SERVICE}/users/{{{{ $json.user }}}}")],
        truth(None, "Find", "404", also=("Seed",)),
    )
    yield case(
        "tried three times",
        [data("Seed", [{"a": None}]), get("Push", "/status/503", retryOnFail=True)],
        truth(None, "Push", "503"),
    )
    yield case(
        "too slow in code",
        [
            data("Seed", [{"a": None}]),
            every(
                "Ask",
                f"const got = await this.helpers.httpRequest({{ url: '{SERVICE}/status/500' }});\nreturn {{ json: {{ a: $json.a, got }} }};",
            ),
        ],
        truth(None, "Ask", "500"),
    )
    yield case(
        "too slow for its limit",
        [data("Seed", [{"deadline": None}]), get("Report", "/slow", options={"timeout": 400})],
        truth(None, "Report", "time"),
    )


def _error_outputs() -> Iterator[Case]:
    yield case(
        "error output that notifies",
        [
            data("Mails", [{"user": {"mail": "a@b"}}]),
            get("Send", "/status/500", onError="continueErrorOutput"),
            every("Notify", "return { json: { to: $json.user.mail.trim() } };"),
            pass_on("Sent"),
        ],
        truth("Send", None, "500"),
        [*chain("Mails", "Send", "Sent"), Wire("Send", "Notify", output=1)],
    )
    yield case(
        "one of two requests failed and went on",
        [
            data("Ids", [{"id": "1"}, {"id": "x"}]),
            get("Load", "", url=f"={SERVICE}/users/{{{{ $json.id }}}}", onError="continueRegularOutput"),
            code(
                "Sum",
                "let sum = 0;\nfor (const one of $input.all()) sum += Number(one.json.total.toFixed(0));\nreturn [{ json: { sum } }];",
            ),
        ],
        truth("Load", "Sum", "404"),
    )
    yield case(
        "error item reaches a letter two nodes later",
        [
            data("顧客", [{"名": None}]),
            every("敬称", "return { json: { 宛名: $json.名.trim() + '様' } };", onError="continueRegularOutput"),
            expression_set("文面", {"件名": "お知らせ"}),
            every("印字", "return { json: { 頭: $json.宛名.slice(0, 3) } };"),
        ],
        truth("顧客", "印字", "名", also=("敬称",)),
    )


def _families() -> Iterator[Case]:
    yield case(
        "null handed down two workflows",
        [data("Prepare", [{"customer": None, "n": 1}]), call_child("Call billing")],
        truth("Prepare", "Print name", "customer", "null", short=("Called", "Call billing", "Call letter")),
        child=([expression_set("Bill", {"b": "1"}), call_child("Call letter", GRANDCHILD)], None),
        grandchild=([every("Print name", "return { json: { t: $json.customer.name } };")], None),
    )
    yield case(
        "null made in the child, met in the grandchild",
        [data("Begin", [{"customer": {"name": "Ito"}}]), call_child("Call billing")],
        truth("Strip", "Print name", "customer", short=("Called", "Call letter", "Call billing")),
        child=([every("Strip", "return { json: { customer: null } };"), call_child("Call letter", GRANDCHILD)], None),
        grandchild=([every("Print name", "return { json: { t: $json.customer.name } };")], None),
    )
    yield case(
        "service fails two workflows down",
        [data("Begin", [{"customer": None}]), call_child("Call billing")],
        truth(None, "Store", "500"),
        child=([pass_on("Relay"), call_child("Call store", GRANDCHILD)], None),
        grandchild=([get("Store", "/status/500")], None),
    )
    yield case(
        "grandchild gives nothing back",
        [data("Begin", [{"n": 1}]), call_child("Call billing"), pass_on("After")],
        truth("Only big", None, "n", short=("Call billing", "Call store")),
        child=([call_child("Call store", GRANDCHILD), pass_on("Behind")], None),
        grandchild=(
            [node("Only big", "filter", 2.2, compare("={{ $json.n }}", "number", "gt", 5)), pass_on("Rest")],
            None,
        ),
    )
    yield case(
        "child gives back items without the field",
        [
            data("Begin", [{"n": 1}]),
            call_child("Call tax"),
            every("Show", "return { json: { t: $json.tax.toFixed(2) } };"),
        ],
        truth("Result", "Show", "tax", short=("Call tax", "Show")),
        child=(
            [
                every("Compute", "return { json: { tax: 3, n: $json.n } };"),
                expression_set("Result", {"n": "={{ $json.n }}"}, keep=False),
            ],
            None,
        ),
    )
    yield case(
        "child fails on what it was handed, by a guard",
        [
            data("読込", [{"部署": "営業", "社員": ""}]),
            expression_set("選ぶ", {"社員": "={{ $json.社員 }}"}, keep=False),
            call_child("通知を呼ぶ"),
        ],
        truth("読込", "宛先", "社員", also=("選ぶ",), short=("Called", "通知を呼ぶ")),
        child=([every("宛先", "if (!$json.社員) throw new Error('社員が空です');\nreturn { json: $json };")], None),
    )
