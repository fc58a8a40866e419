"""Fourth cases that lay traps: messages that sound like another fault, holes that do no harm, values that are equal."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import SERVICE, START, expression_set
from .fresh_parts import call_child, case, compare, data, every, get, truth
from .shapes import Case

_POST = {"method": "POST", "sendBody": True}


def fourth_traps() -> Iterator[Case]:
    yield from _words()
    yield from _handlers()
    yield from _bodies()
    yield from _loops()
    yield from _makers()
    yield from _expressions()
    yield from _quiet()


def _words() -> Iterator[Case]:
    yield case(
        "thrown: invalid date of a person",
        [
            data("Leave", [{"name": "Ann", "from": "2026-05-10", "to": "2026-05-01"}]),
            every(
                "Check",
                "if ($json.to < $json.from) throw new Error('Invalid date range for ' + $json.name);\nreturn { json: $json };",
            ),
        ],
        truth(None, "Check", "to"),
    )
    yield case(
        "thrown: not authorized",
        [
            data("Req", [{"user": "bob", "role": "guest", "mail": None}]),
            every(
                "Gate",
                "const allowed = ['admin', 'editor'];\nif (!allowed.includes($json.role)) throw new Error(`User ${$json.user} is not authorized`);\nreturn { json: $json };",
            ),
        ],
        truth(None, "Gate", "role", also=("Req",)),
    )
    yield case(
        "thrown: timed out",
        [
            data("Job", [{"id": 1, "seconds": 700, "err": None}]),
            every("Watch", "if ($json.seconds > 600) throw new Error('Job timed out');\nreturn { json: $json };"),
        ],
        truth(None, "Watch", "700"),
    )
    yield case(
        "thrown: 500 items",
        [
            code("Many", "return Array.from({ length: 501 }, (_, i) => ({ json: { i } }));"),
            code(
                "Cap",
                "const n = $input.all().length;\nif (n > 500) throw new Error(`${n} items are too many`);\nreturn $input.all();",
            ),
        ],
        truth(None, "Cap", "501"),
    )
    yield case(
        "thrown: rate is not defined",
        [
            data("Sale", [{"land": "FR", "netto": 10, "ust": None}]),
            every(
                "Steuer",
                "const rates = { DE: 19, AT: 20 };\nconst rate = rates[$json.land];\nif (rate === undefined) throw new Error(`Tax rate for ${$json.land} is not defined`);\nreturn { json: { ust: rate } };",
            ),
        ],
        truth(None, "Steuer", "FR", also=("Sale",)),
    )
    yield case(
        "thrown: must return a number",
        [
            data("Calc", [{"formula": "a+b", "v": None}]),
            every(
                "Eval",
                "const f = (x) => x.formula.length;\nif (f($json) === 3) throw new Error('The formula must return a number');\nreturn { json: {} };",
            ),
        ],
        truth(None, "Eval", "formula", also=("Calc",)),
    )
    yield case(
        "thrown: binary data",
        [
            data("Mail", [{"subject": "x", "attachments": 0}]),
            every(
                "Need file",
                "if (!$json.attachments) throw new Error('The mail has no binary data');\nreturn { json: $json };",
            ),
        ],
        truth("Mail", "Need file", "attachments", also=("Need file",)),
    )
    yield case(
        "thrown: no valid JSON of another field",
        [
            data("Msg", [{"id": "abc", "body": "x=1"}]),
            every(
                "Decode",
                "const looks = $json.body.startsWith('{');\nif (!looks) throw new Error('Message ' + $json.id + ' is not valid JSON');\nreturn { json: JSON.parse($json.body) };",
            ),
        ],
        truth("Msg", "Decode", "body", also=("Decode",)),
    )
    yield case(
        "stop: message that speaks of null",
        [
            data("Row", [{"id": 3, "x": None}]),
            node("Stop", "stopAndError", 1, {"errorMessage": "=Row {{ $json.id }} has null values"}),
        ],
        truth(None, "Stop", "on purpose"),
    )
    yield case(
        "thrown by a helper of the code",
        [
            data("Users", [{"name": "Ann", "age": 30}, {"name": "Bo", "age": -4}]),
            code(
                "Validate",
                "class ValidationError extends Error {}\nconst check = (cond, msg) => { if (!cond) throw new ValidationError(msg); };\nreturn $input.all().map(({ json }) => {\n  check(json.age >= 0, 'age must be positive');\n  return { json };\n});",
            ),
        ],
        truth(None, "Validate", "-4", also=("Users",)),
    )


def _handlers() -> Iterator[Case]:
    yield case(
        "handler with a typo",
        [
            data("Ids", [{"id": "x"}]),
            get("User", "", url=f"={SERVICE}/users/{{{{ $json.id }}}}", onError="continueErrorOutput"),
            pass_on("Ok"),
            every("Report", "const text = mesage + ' failed';\nreturn { json: { text } };"),
        ],
        truth(None, "Report", "mesage"),
        [*chain("Ids", "User", "Ok"), Wire("User", "Report", output=1)],
    )
    yield case(
        "handler whose service is down too",
        [
            data("Ids", [{"id": "x"}]),
            get("User", "", url=f"={SERVICE}/users/{{{{ $json.id }}}}", onError="continueErrorOutput"),
            pass_on("Ok"),
            get("Alert", "/status/500", **_POST),
        ],
        truth(None, "Alert", "500"),
        [*chain("Ids", "User", "Ok"), Wire("User", "Alert", output=1)],
    )
    yield case(
        "field called error that is data",
        [
            data("Tests", [{"name": "t1", "error": "0.5 mm", "unit": None}]),
            every("Round", "return { json: { e: $json.error.toFixed(1) } };"),
        ],
        truth("Tests", "Round", "error", also=("Round",)),
    )
    yield case(
        "went on and nobody minds, another fails",
        [
            data("Ids", [{"id": "x"}]),
            get("Optional", "", url=f"={SERVICE}/users/{{{{ $json.id }}}}", onError="continueRegularOutput"),
            every("Final", "const list = $('Ids').all().map((i) => i.json.nr.toString());\nreturn { json: { list } };"),
        ],
        truth(None, "Final", "nr", also=("Ids",)),
    )


def _bodies() -> Iterator[Case]:
    yield case(
        "quotes in one field and null in another",
        [
            data("Comments", [{"author": None, "text": 'say "hi"', "id": 4}]),
            get(
                "Post",
                "/ok",
                **_POST,
                specifyBody="json",
                jsonBody='={ "id": {{ $json.id }}, "author": "{{ $json.author }}", "text": "{{ $json.text }}" }',
            ),
        ],
        truth("Comments", "Post", "text", "quotes", also=("Post",)),
    )
    yield case(
        "comma at the end of a body",
        [
            data("Row", [{"a": 1, "b": None}]),
            get("Send", "/ok", **_POST, specifyBody="json", jsonBody='={ "a": {{ $json.a }}, "b": "{{ $json.b }}", }'),
        ],
        truth(None, "Send", "JSON"),
    )
    yield case(
        "text without quotes in a body",
        [
            data("Row", [{"name": "Ann", "n": None}]),
            get("Send", "/ok", **_POST, specifyBody="json", jsonBody='={ "name": {{ $json.name }} }'),
        ],
        truth(None, "Send", "name"),
    )
    yield case(
        "line break in a raw set",
        [
            data("Note", [{"title": "A", "text": "one\ntwo", "tag": None}]),
            node(
                "Build",
                "set",
                3.4,
                {
                    "mode": "raw",
                    "jsonOutput": '={ "title": "{{ $json.title }}", "tag": "{{ $json.tag }}", "text": "{{ $json.text }}" }',
                    "options": {},
                },
            ),
        ],
        truth("Note", "Build", "text", also=("Build",)),
    )
    yield case(
        "same wrong value in two fields",
        [
            data("A", [{"qty": "n/a"}]),
            expression_set("B", {"comment": "n/a"}),
            node(
                "C",
                "set",
                3.4,
                {
                    "assignments": {
                        "assignments": [
                            {"id": "1", "name": "comment", "value": "={{ $json.comment }}", "type": "string"},
                            {"id": "2", "name": "qty", "value": "={{ $json.qty }}", "type": "number"},
                        ]
                    },
                    "options": {},
                },
            ),
        ],
        truth("A", "C", "qty", also=("C",)),
    )


def _loops() -> Iterator[Case]:
    yield case(
        "null in every round, wrong status in the third",
        [
            data("Rows", [{"id": "1", "note": None}, {"id": "2", "note": None}, {"id": "x", "note": None}]),
            node("Loop", "splitInBatches", 3, {"batchSize": 1, "options": {}}),
            get(
                "Get",
                "",
                url=f"={SERVICE}/users/{{{{ $json.id }}}}",
                sendQuery=True,
                queryParameters={"parameters": [{"name": "user", "value": "={{ $json.note }}"}]},
            ),
            pass_on("End"),
        ],
        truth(None, "Get", "404", also=("Rows",)),
        [*chain("Rows", "Loop", "End"), Wire("Loop", "Get", output=1), Wire("Get", "Loop")],
    )
    yield case(
        "missing mail in all, refused for the last only",
        [
            data("Rows", [{"email": "a@x", "name": None}, {"email": "", "name": None}]),
            get(
                "Add",
                "/create",
                **_POST,
                specifyBody="json",
                jsonBody="={{ JSON.stringify({ email: $json.email || undefined, name: $json.name }) }}",
            ),
        ],
        truth("Rows", "Add", "email", also=("Add",)),
    )
    yield case(
        "page that ends too early",
        [
            data("Pages", [{"page": 1}, {"page": 2}]),
            node("Loop", "splitInBatches", 3, {"batchSize": 1, "options": {}}),
            get("Fetch", "/nothing"),
            every("Next", "const cursor = $json.next.split('=')[1];\nreturn { json: { cursor } };"),
            pass_on("End"),
        ],
        truth("Fetch", "Next", "next"),
        [*chain("Pages", "Loop", "End"), Wire("Loop", "Fetch", output=1), *chain("Fetch", "Next", "Loop")],
    )
    yield case(
        "second batch has another form",
        [
            data("Rows", [{"tags": ["a"]}, {"tags": ["b"]}, {"tags": "c,d"}]),
            node("Loop", "splitInBatches", 3, {"batchSize": 2, "options": {}}),
            code("Flat", "return $input.all().map((i) => ({ json: { t: i.json.tags.map((x) => x.trim()) } }));"),
            pass_on("End"),
        ],
        truth("Rows", "Flat", "tags"),
        [*chain("Rows", "Loop", "End"), Wire("Loop", "Flat", output=1), Wire("Flat", "Loop")],
    )


def _makers() -> Iterator[Case]:
    yield case(
        "two nodes set the same field",
        [
            data("Src", [{"status": "new", "owner": "kim"}]),
            expression_set("First", {"owner": "={{ $json.owner }}"}),
            expression_set("Second", {"owner": "={{ null }}"}),
            every("Use", "return { json: { o: $json.owner.toUpperCase() } };"),
        ],
        truth("Second", "Use", "owner"),
    )
    yield case(
        "code that blanks a field",
        [
            data("Src", [{"phone": "0170 1"}, {"phone": "none"}]),
            code(
                "Clean",
                "return $input.all().map(({ json }) => ({ json: { ...json, phone: /^\\d/.test(json.phone) ? json.phone : null } }));",
            ),
            pass_on("Wait here"),
            every("Dial", "return { json: { p: $json.phone.replace(' ', '') } };"),
        ],
        truth("Clean", "Dial", "phone"),
    )
    yield case(
        "merge that overwrites",
        [
            data("Crm", [{"id": 1, "mail": "a@x"}]),
            data("Shop", [{"id": 1, "mail": None}]),
            node("Join", "merge", 3.2, {"mode": "combine", "fieldsToMatchString": "id", "options": {}}),
            every("Send", "return { json: { m: $json.mail.trim() } };"),
        ],
        truth("Shop", "Send", "mail", also=("Join",)),
        [Wire(START, "Shop"), Wire("Crm", "Join"), Wire("Shop", "Join", input=1), Wire("Join", "Send")],
    )
    yield case(
        "merge by position shifts",
        [
            data("Names", [{"n": "a"}, {"n": "b"}, {"n": "c"}]),
            data("Ages", [{"age": 1}, {"age": 2}]),
            node(
                "Side by side",
                "merge",
                3.2,
                {"mode": "combine", "combineBy": "combineByPosition", "options": {"includeUnpaired": True}},
            ),
            every("Line", "return { json: { l: $json.n + $json.age.toFixed(0) } };"),
        ],
        truth("Side by side", "Line", "age", also=("Ages",)),
        [
            Wire(START, "Ages"),
            Wire("Names", "Side by side"),
            Wire("Ages", "Side by side", input=1),
            Wire("Side by side", "Line"),
        ],
    )
    yield case(
        "split out drops the rest",
        [
            data("Order", [{"nr": 7, "lines": [{"sku": "a"}, {"sku": "b"}]}]),
            node("Lines", "splitOut", 1, {"fieldToSplitOut": "lines", "options": {}}),
            every("Label", "return { json: { l: $json.nr.toString() + $json.sku } };"),
        ],
        truth("Lines", "Label", "nr", also=("Label",)),
    )
    yield case(
        "summarize changes the names",
        [
            data("Sales", [{"shop": "A", "eur": 5}, {"shop": "A", "eur": 7}]),
            node(
                "Total",
                "summarize",
                1.1,
                {
                    "fieldsToSummarize": {"values": [{"aggregation": "sum", "field": "eur"}]},
                    "fieldsToSplitBy": "shop",
                    "options": {},
                },
            ),
            every("Show", "return { json: { t: $json.eur.toFixed(2) } };"),
        ],
        truth(None, "Show", "sum_eur", also=("Total",)),
    )
    yield case(
        "date that became a text on the way",
        [
            code("Made", "return [{ json: { at: new Date('2026-01-02') } }];"),
            every("Year", "return { json: { y: $json.at.getFullYear() } };"),
        ],
        truth(None, "Year", "at", also=("Made",)),
    )
    yield case(
        "child that gives back another form",
        [
            data("In", [{"id": 1}]),
            call_child("Lookup"),
            every("Use", "return { json: { c: $json.customer.name } };"),
        ],
        truth("Find", "Use", "customer", also=("Lookup",)),
        None,
        ([expression_set("Find", {"kunde": "Ann"}, keep=False)], None),
    )


def _expressions() -> Iterator[Case]:
    yield case(
        "set that reads a wrong node",
        [
            data("A", [{"mail": "x@y"}]),
            expression_set("B", {"k": "1"}, keep=False),
            expression_set("C", {"to": "={{ $('Z').item.json.mail }}"}),
        ],
        truth(None, "C", "Z"),
    )
    yield case(
        "switch without a way",
        [
            data("Rows", [{"kind": 7}]),
            node("Sw", "switch", 3.2, {"mode": "expression", "numberOutputs": 3, "output": "={{ $json.kind }}"}),
        ],
        truth("Rows", "Sw", "7", also=("Sw",)),
    )
    yield case(
        "strict if on null",
        [
            data("Rows", [{"n": 4}, {"n": None}]),
            node("Big?", "if", 2.2, compare("={{ $json.n.toFixed(0) }}", "string", "equals", "4")),
            pass_on("Yes"),
        ],
        truth("Rows", None, "n", also=("Big?",)),
    )
    yield case(
        "date node with a word",
        [
            data("Rows", [{"when": "tomorrow"}]),
            node(
                "Format",
                "dateTime",
                2,
                {"operation": "formatDate", "date": "={{ $json.when }}", "format": "yyyy-MM-dd", "options": {}},
            ),
        ],
        truth("Rows", "Format", "tomorrow", also=("Format",)),
    )
    yield case(
        "compare of two lists where one is empty",
        [
            data("Old", [{"id": 1}]),
            node(
                "Sorted",
                "sort",
                1,
                {"sortFieldsUi": {"sortField": [{"fieldName": "Id", "order": "ascending"}]}, "options": {}},
            ),
        ],
        truth(None, "Sorted", "Id"),
    )
    yield case(
        "markdown of nothing",
        [
            data("Doc", [{"title": "a", "body": None}]),
            node("Md", "markdown", 1, {"mode": "markdownToHtml", "markdown": "={{ $json.body }}", "options": {}}),
        ],
        truth("Doc", None, "body", also=("Md",)),
    )
    yield case(
        "respond with a broken body",
        [
            data("Res", [{"msg": 'He said "no"', "x": None}]),
            node(
                "Answer",
                "respondToWebhook",
                1.1,
                {"respondWith": "json", "responseBody": '={ "msg": "{{ $json.msg }}" }', "options": {}},
            ),
        ],
        truth("Res", "Answer", "msg", also=("Answer",)),
    )


def _quiet() -> Iterator[Case]:
    yield case(
        "healthy: contacts with optional phones",
        [
            data("Contacts", [{"name": "A", "phone": "1"}, {"name": "B"}]),
            expression_set("Map", {"fullName": "={{ $json.name }}", "tel": "={{ $json.phone }}"}, keep=False),
            pass_on("Save"),
        ],
        truth(None, None),
    )
    yield case(
        "healthy: word undefined on purpose",
        [
            data("Rows", [{"state": None}]),
            every("Text", "return { json: { text: 'state: ' + ($json.state ?? 'undefined') } };"),
        ],
        truth(None, None),
    )
    yield case(
        "healthy: is it there?",
        [
            data("Rows", [{"id": 1}, {"id": 2}]),
            node("Has coupon?", "if", 2.2, compare("={{ $json.coupon }}", "string", "exists", "")),
            pass_on("Apply"),
            pass_on("Skip"),
        ],
        truth(None, None),
        [*chain("Rows", "Has coupon?", "Apply"), Wire("Has coupon?", "Skip", output=1)],
    )
    yield case(
        "healthy: year and month as one number",
        [
            data("Rows", [{"y": "2026", "m": "11"}]),
            expression_set("Period", {"p": "={{ $json.y + '-' + $json.m }}"}),
        ],
        truth(None, None),
    )
    yield case(
        "healthy: retried and well",
        [data("Rows", [{"a": None}]), get("Flaky", "/flaky/fourth", retryOnFail=True), pass_on("Done")],
        truth(None, None),
    )
    yield case(
        "healthy: vip only for some",
        [
            data("Customers", [{"n": "A"}, {"n": "B"}]),
            node("Vip", "filter", 2.2, {**compare("={{ $json.vip }}", "boolean", "equals", True)}),
            pass_on("Gift"),
        ],
        truth(None, None, also=("Vip",)),
    )
    yield case(
        "healthy: compare datasets finds the same",
        [
            data("A", [{"id": 1, "v": 1}]),
            data("B", [{"id": 1, "v": 1}]),
            node(
                "Diff",
                "compareDatasets",
                2.3,
                {"mergeByFields": {"values": [{"field1": "id", "field2": "id"}]}, "options": {}},
            ),
            pass_on("Only A"),
            pass_on("Same"),
        ],
        truth(None, None),
        [
            Wire(START, "B"),
            Wire("A", "Diff"),
            Wire("B", "Diff", input=1),
            Wire("Diff", "Only A"),
            Wire("Diff", "Same", output=1),
        ],
    )
    yield case(
        "healthy: answer that has an error field",
        [
            get("Check", "/say/200/fine"),
            expression_set("Store", {"state": "={{ $json.status }}"}),
        ],
        truth(None, None),
    )
