"""Daily cases of services: refusals, odd answers, bodies and addresses made from data, files and credentials."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import SERVICE, expression_set
from .fresh_parts import by_hand, case, data, every, get, truth
from .shapes import Case


def daily_services() -> Iterator[Case]:
    yield from _refused()
    yield from _went_on()
    yield from _bodies()
    yield from _formats()


def _refused() -> Iterator[Case]:
    orders = data(
        "Bestellungen", [{"nr": 17, "kunde": None, "rabatt": None}, {"nr": 18, "kunde": "Weber", "rabatt": 5}]
    )
    yield case(
        "gone for good beside nulls", [orders, get("Katalog lesen", "/status/410")], truth(None, "Katalog lesen", "410")
    )
    yield case(
        "method not allowed", [orders, get("Senden", "/status/405", method="POST")], truth(None, "Senden", "405")
    )
    yield case(
        "unavailable in a helper chain",
        [
            orders,
            expression_set("Vorbereiten", {"ref": "=R-{{ $json.nr }}"}),
            get("Lager", "/status/503"),
            pass_on("Ende"),
        ],
        truth(None, "Lager", "503"),
    )
    yield case(
        "key in the header is wrong",
        [
            orders,
            get(
                "CRM",
                "/secure",
                sendHeaders=True,
                headerParameters={"parameters": [{"name": "Authorization", "value": "Bearer bad"}]},
            ),
        ],
        truth(None, "CRM", "401"),
    )
    yield case(
        "id lost before the address",
        [
            data("Users", [{"id": 7, "name": "Ana"}, {"id": 8, "name": "Ben"}]),
            expression_set("Only name", {"name": "={{ $json.name }}"}, keep=False),
            get("Lookup", "", url=f"={SERVICE}/users/{{{{ $json.id }}}}"),
        ],
        truth("Only name", "Lookup", "id", short=("Lookup",)),
    )
    yield case(
        "address from a field of another name",
        [
            data("Benutzer", [{"benutzerNr": 7, "name": "Ana"}]),
            get("Nachschlagen", "", url=f"={SERVICE}/users/{{{{ $json.benutzerNummer }}}}"),
        ],
        truth("Nachschlagen", "Nachschlagen", "benutzerNummer", also=("Benutzer",)),
    )
    yield case(
        "one user of three is unknown",
        [
            data("Members", [{"id": 1}, {"id": 2}, {"id": "guest"}]),
            get("Profile", "", url=f"={SERVICE}/users/{{{{ $json.id }}}}"),
        ],
        truth("Members", "Profile", "guest", "404", also=("Profile",)),
    )
    yield case(
        "tls on a plain port",
        [data("Seed", [{"a": None}]), get("Secure call", "", url=SERVICE.replace("http:", "https:") + "/ok")],
        truth(None, "Secure call"),
    )
    yield case(
        "endless redirect", [data("Seed", [{"a": 1}]), get("Follow", "/redirect")], truth(None, "Follow", "redirect")
    )
    yield case(
        "time limit in a batch loop",
        [
            data("Jobs", [{"n": 1, "hint": None}, {"n": 2, "hint": None}]),
            node("Each", "splitInBatches", 3, {"batchSize": 1, "options": {}}),
            get("Render", "/slow", options={"timeout": 800}),
            pass_on("After"),
        ],
        truth(None, "Render"),
        [*chain("Jobs", "Each", "After"), Wire("Each", "Render", output=1), Wire("Render", "Each")],
    )
    yield case(
        "request in code is refused",
        [
            data("Liste", [{"id": 1, "memo": None}]),
            code(
                "取得",
                f"const out = [];\nfor (const item of $input.all()) {{\n  const r = await this.helpers.httpRequest({{ url: '{SERVICE}/status/403?x=' + item.json.id, json: true }});\n  out.push({{ json: r }});\n}}\nreturn out;",
            ),
        ],
        truth(None, "取得", "403"),
    )
    slack = node(
        "Melden",
        "slack",
        2.3,
        {"resource": "user", "operation": "info", "user": {"__rl": True, "mode": "id", "value": "U1"}},
    )
    yield by_hand(case("slack without credentials", [orders, slack], truth(None, "Melden", "credential")), {})
    query = node("Speichern", "postgres", 2.6, {"operation": "executeQuery", "query": "select 1", "options": {}})
    yield by_hand(case("database without credentials", [orders, query], truth(None, "Speichern", "credential")), {})


def _went_on() -> Iterator[Case]:
    yield case(
        "refusal went on, code reads the answer",
        [
            data("Seed", [{"id": 3}]),
            get("Load customer", "/status/500", onError="continueRegularOutput"),
            every("Greeting", "const first = $json.customer.firstName;\nreturn { json: { first } };"),
        ],
        truth("Load customer", "Greeting", "customer", also=()),
    )
    yield case(
        "refusal went on, a list is split",
        [
            get("Load list", "/status/404", onError="continueRegularOutput"),
            node("Split", "splitOut", 1, {"fieldToSplitOut": "rows", "options": {}}),
            every("Use", "return { json: { v: $json.value.trim() } };"),
        ],
        truth("Load list", None, "404", also=()),
    )
    yield case(
        "status in the data, never an error",
        [
            get(
                "Inventory",
                "/status/500",
                options={"response": {"response": {"neverError": True, "fullResponse": True}}},
            ),
            code("Rows", "return $input.first().json.body.items.map((json) => ({ json }));"),
        ],
        truth("Inventory", "Rows", "items"),
    )
    yield case(
        "last page has no next",
        [
            get("First page", "/nothing"),
            expression_set("Next address", {"url": "={{ $json.next }}"}),
            get("Second page", "", url="={{ $json.url }}"),
        ],
        truth("First page", "Second page", "next", also=("Next address",)),
    )
    yield case(
        "no content, then a total",
        [
            get("Void", "/empty"),
            every("Sum", "const { total } = $json;\nreturn { json: { total: total.toFixed(2) } };"),
        ],
        truth("Void", "Sum", "total", also=("Sum",)),
    )
    yield case(
        "file instead of fields",
        [
            get("Download", "/ok", options={"response": {"response": {"responseFormat": "file"}}}),
            every("Total", "return { json: { t: $json.total.toFixed(2) } };"),
        ],
        truth("Download", "Total", "total"),
    )
    yield case(
        "error output joins the main road",
        [
            data("Ids", [{"id": 4}]),
            get("Ask", "/status/502", onError="continueErrorOutput"),
            expression_set("Good", {"ok": "yes"}),
            every("Report", "return { json: { line: $json.order.number.toString() } };"),
        ],
        truth("Ask", "Report", "502"),
        [*chain("Ids", "Ask", "Good", "Report"), Wire("Ask", "Report", output=1)],
    )
    yield case(
        "soft error in Japanese",
        [
            get("注文照会", "/fehler"),
            every("明細", "return { json: { n: $json.明細.length } };"),
        ],
        truth("注文照会", "明細", "明細", "在庫サービス停止中"),
    )


def _bodies() -> Iterator[Case]:
    post = {"method": "POST", "sendBody": True}
    yield case(
        "line break in a comment",
        [
            data("Comments", [{"id": 1, "comment": "fine"}, {"id": 2, "comment": 'He said\n"no"'}]),
            get("Publish", "/ok", **post, specifyBody="json", jsonBody='={ "text": "{{ $json.comment }}" }'),
        ],
        truth("Comments", "Publish", "comment", also=("Publish",)),
    )
    yield case(
        "required mail under an old name",
        [
            data("Leads", [{"mail_address": "a@b.c", "name": "A"}]),
            get(
                "Create",
                "/create",
                **post,
                bodyParameters={"parameters": [{"name": "email", "value": "={{ $json.email }}"}]},
            ),
        ],
        truth("Create", "Create", "email", "422", also=("Leads",)),
    )
    yield case(
        "required mail dropped on the way",
        [
            data("Leads", [{"email": "a@b.c", "name": "A"}]),
            expression_set("Shape", {"full": "={{ $json.name }}"}, keep=False),
            pass_on("Gap"),
            get(
                "Create", "/create", **post, specifyBody="json", jsonBody="={{ { email: $json.email, n: $json.full } }}"
            ),
        ],
        truth("Shape", "Create", "email", short=("Create",)),
    )
    yield case(
        "number missing in a JSON body",
        [
            data("Warenkorb", [{"artikel": "A1", "menge": 2}]),
            node(
                "Umbenennen",
                "renameKeys",
                1,
                {"keys": {"key": [{"currentKey": "menge", "newKey": "anzahl"}]}, "additionalOptions": {}},
            ),
            get(
                "Bestellen",
                "/ok",
                **post,
                specifyBody="json",
                jsonBody='={ "sku": "{{ $json.artikel }}", "qty": {{ $json.menge }} }',
            ),
        ],
        truth("Umbenennen", "Bestellen", "menge", also=("Bestellen",)),
    )
    yield case(
        "answer of a webhook is no JSON",
        [
            data("Note", [{"text": 'a "quoted" word'}]),
            node(
                "Answer",
                "respondToWebhook",
                1.1,
                {"respondWith": "json", "responseBody": '={ "text": "{{ $json.text }}" }', "options": {}},
            ),
        ],
        truth("Note", "Answer", "JSON", also=("Answer",)),
    )


def _formats() -> Iterator[Case]:
    yield case(
        "csv with semicolons",
        [
            get("Export", "/csv", options={"response": {"response": {"responseFormat": "file"}}}),
            node("Read csv", "extractFromFile", 1, {"operation": "csv", "options": {}}),
            every("Clean", "return { json: { name: $json.name.trim() } };"),
        ],
        truth("Read csv", "Clean", "name", also=("Export",)),
    )
    yield case(
        "broken xml",
        [
            data("Feed", [{"data": "<order><id>7</id>"}]),
            node("Xml", "xml", 1, {"mode": "xmlToJson", "dataPropertyName": "data", "options": {}}),
        ],
        truth("Feed", "Xml", "data", also=("Xml",)),
    )
    yield case(
        "xml property under another name",
        [
            data("Feed", [{"xml": "<order><id>7</id></order>"}]),
            node("Xml", "xml", 1, {"mode": "xmlToJson", "dataPropertyName": "data", "options": {}}),
        ],
        truth("Xml", "Xml", "data", also=("Feed",)),
    )
    yield case(
        "file under another name",
        [
            get(
                "Hole Datei",
                "/csv",
                options={"response": {"response": {"responseFormat": "file", "outputPropertyName": "anhang"}}},
            ),
            node("Lies CSV", "extractFromFile", 1, {"operation": "csv", "options": {}}),
        ],
        truth("Lies CSV", "Lies CSV", "data", also=("Hole Datei",)),
    )
    yield case(
        "file lost by code",
        [
            get("取得する", "/csv", options={"response": {"response": {"responseFormat": "file"}}}),
            every("印", "return { json: { ok: true } };"),
            node("読む", "extractFromFile", 1, {"operation": "csv", "options": {}}),
        ],
        truth("印", "読む", "data", short=("読む",)),
    )
    yield case(
        "page for a feed",
        [data("Go", [{"a": 1}]), node("Feed", "rssFeedRead", 1.2, {"url": f"{SERVICE}/html", "options": {}})],
        truth(None, "Feed"),
    )
    yield case(
        "python that cannot run",
        [
            data("Rows", [{"a": None}]),
            node(
                "Py",
                "code",
                2,
                {
                    "language": "pythonNative",
                    "pythonCode": "return [{'json': {'a': i['json']['a'].strip()}} for i in _items]",
                },
            ),
        ],
        truth(None, "Py", "Python"),
    )
    yield case(
        "base64 of nothing",
        [
            data("Mails", [{"subject": "Hi", "body64": None}]),
            every(
                "Decode",
                "const text = Buffer.from($json.body64, 'base64').toString('utf8');\nreturn { json: { text } };",
            ),
        ],
        truth("Mails", "Decode", "body64"),
    )
    yield case(
        "file made of no field",
        [
            data("Docs", [{"inhalt": "Hallo"}]),
            node("Datei", "convertToFile", 1.1, {"operation": "toBinary", "sourceProperty": "data", "options": {}}),
        ],
        truth("Datei", "Datei", "data", also=("Docs",)),
    )
