"""Odd cases: nodes and habits that no other set has, written last of all."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import SERVICE, START, Truth, expression_set
from .fresh_parts import call_child, case, compare, data, every, get, truth
from .shapes import Case


def odd_cases() -> Iterator[Case]:
    yield from _nodes()
    yield from _habits()
    yield from _silent()


def _nodes() -> Iterator[Case]:
    yield case(
        "file that is no JSON",
        [
            data("Make", [{"text": "{oops"}]),
            node("To file", "convertToFile", 1.1, {"operation": "toText", "sourceProperty": "text", "options": {}}),
            node("From file", "extractFromFile", 1, {"operation": "fromJson", "options": {}}),
        ],
        truth("Make", "From file", "JSON", also=("From file", "To file")),
    )
    yield case(
        "file from a field that is missing",
        [
            data("Make", [{"text": "hello"}]),
            expression_set("Rename", {"content": "={{ $json.text }}"}, keep=False),
            node("To file", "convertToFile", 1.1, {"operation": "toText", "sourceProperty": "text", "options": {}}),
        ],
        truth("Rename", "To file", "text", also=("To file",)),
    )
    yield case(
        "stop with a message from the data",
        [
            data("見積", [{"理由": "在庫なし", "数": 0}]),
            node("中止", "stopAndError", 1, {"errorMessage": "={{ '中止: ' + $json.理由 }}"}),
        ],
        truth(None, "中止", "在庫なし"),
    )
    yield case(
        "workflow that does not exist",
        [data("Seed", [{"a": None}]), call_child("Call nobody", "={{ 'doesNotExist1234' }}")],
        truth(None, "Call nobody"),
    )
    yield case(
        "list to sort has objects",
        [
            data("Rows", [{"v": {"a": 1}}, {"v": {"a": 2}}]),
            every("Take", "return { json: { n: $json.v.a.b.c } };"),
        ],
        truth("Rows", "Take", "b", also=("Take",)),
    )
    yield case(
        "text where the crypto node wants one",
        [
            data("Users", [{"name": "Ito"}]),
            node(
                "Hash",
                "crypto",
                1,
                {"action": "hash", "type": "SHA256", "value": "={{ $json.password }}", "dataPropertyName": "hash"},
            ),
            every("Cut", "return { json: { short: $json.hash.slice(0, 8) } };"),
        ],
        truth("Users", "Hash", "password", also=("Hash",)),
    )
    yield case(
        "days added to no date",
        [
            data("Loans", [{"since": "yesterday"}]),
            node(
                "Due",
                "dateTime",
                2,
                {
                    "operation": "addToDate",
                    "magnitude": "={{ $json.since }}",
                    "duration": 14,
                    "outputFieldName": "due",
                    "options": {},
                },
            ),
            pass_on("Remind"),
        ],
        truth("Loans", "Due", "since", also=("Due",)),
    )
    yield case(
        "compare needs a field that one side lacks",
        [
            data("Old", [{"id": 1, "v": 1}]),
            data("New", [{"ident": 1, "v": 2}]),
            node(
                "Compare",
                "compareDatasets",
                2.3,
                {"mergeByFields": {"values": [{"field1": "id", "field2": "id"}]}, "options": {}},
            ),
            expression_set("Changed", {"c": "1"}),
        ],
        truth("Compare", None, "Changed", also=("New",)),
        [
            Wire("Old", "Compare"),
            Wire(START, "New"),
            Wire("New", "Compare", input=1),
            Wire("Compare", "Changed", output=2),
        ],
    )
    yield case(
        "batch node fed with nothing",
        [
            get("List", "/list"),
            node("Each", "splitInBatches", 3, {"options": {}}),
            expression_set("Work", {"w": "1"}),
            expression_set("Done", {"d": "1"}),
        ],
        truth("List", None, "Done", also=("Each",)),
        [*chain("List", "Each", "Done"), Wire("Each", "Work", output=1), Wire("Work", "Each")],
    )
    yield case(
        "JSON body from an empty field",
        [
            data("Cart", [{"sku": "a", "count": 2}]),
            every("Slim", "return { json: { sku: $json.sku } };"),
            get(
                "Order",
                "/ok",
                method="POST",
                sendBody=True,
                specifyBody="json",
                jsonBody='={ "sku": "{{ $json.sku }}", "count": {{ $json.count }} }',
            ),
        ],
        truth("Slim", "Order", "count", also=("Order",)),
    )


def _habits() -> Iterator[Case]:
    yield case(
        "own error field from a catch",
        [
            data("Lines", [{"raw": '{"a": 1}'}, {"raw": "oops"}]),
            every(
                "Parse",
                "try {\n  return { json: { data: JSON.parse($json.raw) } };\n} catch (e) {\n  return { json: { failed: e.message } };\n}",
            ),
            every("Use", "return { json: { a: $json.data.a } };"),
        ],
        truth("Parse", "Use", "data", also=("Lines",)),
    )
    yield case(
        "forgotten await",
        [
            data("Seed", [{"id": 1}]),
            every(
                "Ask",
                f"const answer = this.helpers.httpRequest({{ url: '{SERVICE}/total' }});\nreturn {{ json: {{ total: answer.total.toFixed(1) }} }};",
            ),
        ],
        truth(None, "Ask", "toFixed"),
    )
    yield case(
        "counter of another language",
        [
            data("売上", [{"金額": "１２００"}, {"金額": "3000"}]),
            code(
                "合計",
                "let sum = 0;\nfor (const { json } of $input.all()) {\n  const v = Number(json.金額);\n  if (!Number.isFinite(v)) throw new Error(`金額が数値ではありません: ${json.金額}`);\n  sum += v;\n}\nreturn [{ json: { sum } }];",
            ),
        ],
        truth("売上", "合計", "金額", "１２００"),
    )
    yield case(
        "check in a chain of ifs",
        [
            data("Jobs", [{"kind": "mail", "to": "a@b"}, {"kind": "fax", "to": "1"}]),
            expression_set("Lower", {"kind": "={{ $json.kind.toLowerCase() }}"}),
            every(
                "Do",
                "const kind = $json.kind;\nif (kind === 'mail') {\n  return { json: { ok: 1 } };\n} else if (kind === 'sms') {\n  return { json: { ok: 2 } };\n} else {\n  throw new Error('unsupported');\n}",
            ),
        ],
        truth("Jobs", "Do", "kind", "fax", also=("Lower", "Do")),
    )
    yield case(
        "map of required columns",
        [
            data("Sheet", [{"Name": "Ito", "E-Mail": ""}]),
            every(
                "Check",
                "const missing = ['Name', 'E-Mail'].filter((column) => !$json[column]);\nif (missing.length > 0) {\n  throw new Error('Missing columns: ' + missing.join(', '));\n}\nreturn { json: $json };",
            ),
        ],
        truth("Sheet", "Check", "E-Mail", also=("Check",)),
    )
    yield case(
        "class with a check",
        [
            data("Rows", [{"amount": None}]),
            every(
                "Wrap",
                "class Money {\n  constructor(amount) {\n    if (amount === null) throw new Error('no amount');\n    this.amount = amount;\n  }\n}\nreturn { json: { m: new Money($json.amount).amount } };",
            ),
        ],
        truth("Rows", "Wrap", "amount", also=("Wrap",)),
    )
    yield case(
        "reduce to an object",
        [
            data("Orders", [{"buyer": {"id": 1}, "sum": 2}, {"sum": 3}]),
            code(
                "Per buyer",
                "const out = $input.all().reduce((all, { json }) => {\n  all[json.buyer.id] = (all[json.buyer.id] ?? 0) + json.sum;\n  return all;\n}, {});\nreturn [{ json: out }];",
            ),
        ],
        truth("Orders", "Per buyer", "buyer", also=("Per buyer",)),
    )
    yield case(
        "price in a nested template",
        [
            get("Orders", "/orders"),
            code(
                "Lines",
                "const lines = [];\n$input.all().forEach((item, index) => {\n  const { id, buyer } = item.json;\n  lines.push(`${index}: ${id} ${buyer.mail}`);\n});\nreturn [{ json: { text: lines.join('\\n') } }];",
            ),
        ],
        truth("Orders", "Lines", "buyer", "null"),
    )
    yield case(
        "first match of a pattern",
        [
            data("Mails", [{"subject": "Order 17"}, {"subject": "Hello"}]),
            every("Number", "const [, number] = $json.subject.match(/Order (\\d+)/);\nreturn { json: { number } };"),
        ],
        truth("Mails", "Number", "subject", also=("Number",)),
    )
    yield case(
        "lookup of a translation",
        [
            data("Users", [{"lang": "ja"}, {"lang": "fr"}]),
            every(
                "Greet",
                "const texts = { ja: { hello: 'こんにちは' }, en: { hello: 'hello' } };\nreturn { json: { text: texts[$json.lang].hello } };",
            ),
        ],
        truth(None, "Greet", also=("Users", "Greet")),
    )
    yield case(
        "guard on another node that was filtered",
        [
            data("Rates", [{"cur": "USD", "r": 1}, {"cur": "EUR", "r": 2}]),
            node("Only EUR", "filter", 2.2, compare("={{ $json.cur }}", "string", "equals", "EUR")),
            data("Bill", [{"cur": "USD"}]),
            every(
                "Convert",
                "const rate = $('Only EUR').all().find((one) => one.json.cur === $json.cur);\nif (!rate) throw new Error('no rate for ' + $json.cur);\nreturn { json: rate.json };",
            ),
        ],
        truth("Only EUR", "Convert", also=("Convert", "Bill")),
    )
    yield case(
        "value of a form of numbers",
        [
            data("Form", [{"age": "17"}]),
            expression_set("Adult?", {"adult": "={{ $json.age >= 18 }}"}, kind="boolean"),
            every("Let in", "if ($json.adult !== true) throw new Error('only adults');\nreturn { json: $json };"),
        ],
        truth(None, "Let in", "adults", also=("Adult?", "Form")),
    )


def _silent() -> Iterator[Case]:
    nothing = Truth(cause=None, failing=None)
    yield case(
        "selected fields only",
        [
            data("People", [{"name": "Ito", "mail": "i@x", "tel": "1"}]),
            node(
                "Pick",
                "set",
                3.4,
                {
                    "assignments": {"assignments": []},
                    "includeOtherFields": True,
                    "include": "selected",
                    "includeFields": "name, tel",
                    "options": {},
                },
            ),
            expression_set("Text", {"t": "={{ 'Mail: ' + $json.mail.toLowerCase() }}"}),
            pass_on("Send"),
        ],
        truth("Pick", None, "mail", also=("Text",)),
    )
    yield case(
        "names joined with a hole",
        [
            data("利用者", [{"姓": "森", "名": None}]),
            every("氏名", "return { json: { 氏名: `${$json.姓} ${$json.名前}` } };"),
            pass_on("印刷"),
        ],
        truth("氏名", None, "undefined", "名前", also=("利用者",)),
    )
    yield case(
        "both branches empty after a limit of zero",
        [
            data("Rows", [{"n": 5}]),
            node("Cut", "filter", 2.2, compare("={{ $json.m }}", "number", "gt", 1)),
            expression_set("Use", {"u": "1"}),
        ],
        truth("Cut", None, "m", "Use", also=("Rows",)),
    )
    yield case(
        "healthy: errors are counted on purpose",
        [
            data("Rows", [{"errors": 0, "error": ""}]),
            expression_set("Sum", {"n": "={{ $json.errors }}"}, kind="number"),
            pass_on("Save"),
        ],
        nothing,
    )
    yield case(
        "healthy: branch for both",
        [
            data("Rows", [{"n": 1}, {"n": 9}]),
            node("Big?", "if", 2.2, compare("={{ $json.n }}", "number", "gt", 5)),
            pass_on("Big"),
            pass_on("Small"),
        ],
        nothing,
        [*chain("Rows", "Big?", "Big"), Wire("Big?", "Small", output=1)],
    )
    yield case(
        "healthy: null by choice in code",
        [
            data("Rows", [{"n": 1}]),
            every("Maybe", "return { json: { n: $json.n, m: $json.n > 5 ? $json.n * 2 : null } };"),
            pass_on("Save"),
        ],
        nothing,
    )
    yield case(
        "healthy: retry that worked in a loop",
        [
            data("Rows", [{"n": 1}, {"n": 2}]),
            node("Each", "splitInBatches", 3, {"options": {}}),
            get("Push", "/flaky/two", retryOnFail=True),
            pass_on("End"),
        ],
        nothing,
        [*chain("Rows", "Each", "End"), Wire("Each", "Push", output=1), Wire("Push", "Each")],
    )
