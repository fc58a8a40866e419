"""Sixth cases that fail: files, dates, old ways of reading other nodes, sub-workflows for each item, mixed faults."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import SERVICE, START, expression_set
from .fresh_parts import call_child, case, compare, data, every, get, truth
from .shapes import Case

_POST = {"method": "POST", "sendBody": True}


def sixth_cases() -> Iterator[Case]:
    yield from _files()
    yield from _old_ways()
    yield from _mixed()


def _files() -> Iterator[Case]:
    yield case(
        "csv that is read as json",
        [
            get("Download", "/csv", options={"response": {"response": {"responseFormat": "file"}}}),
            node("Read", "extractFromFile", 1, {"operation": "fromJson", "options": {}}),
        ],
        truth(None, "Read", "json", also=("Download",)),
    )
    yield case(
        "file under another name",
        [
            get(
                "Download",
                "/csv",
                options={"response": {"response": {"responseFormat": "file", "outputPropertyName": "report"}}},
            ),
            node("Read", "extractFromFile", 1, {"operation": "csv", "options": {}}),
        ],
        truth(None, "Read", "report", also=("Download",)),
    )
    yield case(
        "file dropped by a set",
        [
            get("Download", "/csv", options={"response": {"response": {"responseFormat": "file"}}}),
            node(
                "Tag",
                "set",
                3.4,
                {
                    "assignments": {"assignments": [{"id": "1", "name": "tag", "value": "x", "type": "string"}]},
                    "includeOtherFields": True,
                    "options": {"stripBinary": True},
                },
            ),
            node("Read", "extractFromFile", 1, {"operation": "csv", "options": {}}),
        ],
        truth("Tag", "Read", "binary"),
    )
    yield case(
        "columns with a semicolon",
        [
            get("Download", "/csv", options={"response": {"response": {"responseFormat": "file"}}}),
            node("Read", "extractFromFile", 1, {"operation": "csv", "options": {}}),
            every("Ort", "return { json: { o: $json.ort.trim() } };"),
        ],
        truth("Read", "Ort", "name;ort"),
    )
    yield case(
        "base64 that is none",
        [
            data("Upload", [{"file": {"name": "a.txt"}}]),
            every(
                "Decode",
                "const text = Buffer.from($json.file.content, 'base64').toString();\nreturn { json: { text } };",
            ),
        ],
        truth(None, "Decode", "content", also=("Upload",)),
    )
    yield case(
        "html without the element",
        [
            get("Page", "/html", options={"response": {"response": {"responseFormat": "text"}}}),
            node(
                "Get price",
                "html",
                1.2,
                {
                    "operation": "extractHtmlContent",
                    "extractionValues": {"values": [{"key": "price", "cssSelector": ".price", "returnArray": True}]},
                    "options": {},
                },
            ),
            every("First", "return { json: { p: $json.price[0].replace('€', '') } };"),
        ],
        truth("Get price", "First", "price", also=("Page",)),
    )


def _old_ways() -> Iterator[Case]:
    yield case(
        "old reference to a renamed node",
        [
            data("Customers", [{"mail": "a@x"}]),
            expression_set("Mail", {"to": '={{ $node["Customer"].json["mail"] }}'}),
        ],
        truth(None, "Mail", "Customer"),
    )
    yield case(
        "items of the old function node",
        [
            data("Rows", [{"user": {"tel": "1"}}, {"user": {}}]),
            code(
                "Tel",
                "for (const item of items) {\n  item.json.tel = item.json.user.tel.replace(/^0/, '+49');\n}\nreturn items;",
            ),
        ],
        truth("Rows", "Tel", "tel"),
    )
    yield case(
        "index in another node",
        [
            data("Names", [{"n": "a"}]),
            data("Rows", [{"i": 0}, {"i": 1}]),
            every("Pair", "const name = $('Names').all()[$itemIndex].json.n;\nreturn { json: { name } };"),
        ],
        truth(None, "Pair", "Names", also=("Names",)),
    )
    yield case(
        "jmespath with a wrong key",
        [
            data("Api", [{"people": [{"name": "A"}]}]),
            every(
                "Names",
                "const names = $jmespath($json, 'persons[*].name');\nreturn { json: { first: names[0].toUpperCase() } };",
            ),
        ],
        truth(None, "Names", "persons", also=("Api",)),
    )
    yield case(
        "env in code",
        [data("Rows", [{"a": None}]), every("Key", "return { json: { k: $env.SECRET.trim() } };")],
        truth(None, "Key"),
    )
    yield case(
        "static data that is not there yet",
        [
            data("Rows", [{"id": 3, "x": None}]),
            code(
                "Diff",
                "const store = $getWorkflowStaticData('global');\nconst last = store.lastRun.id;\nreturn [{ json: { last } }];",
            ),
        ],
        truth(None, "Diff", "lastRun"),
    )


def _mixed() -> Iterator[Case]:
    yield case(
        "child for each item, second is bad",
        [
            data("Orders", [{"nr": 1, "lines": [1]}, {"nr": 2, "lines": None}]),
            {**call_child("Each order"), "parameters": {**call_child("x")["parameters"], "mode": "each"}},
        ],
        truth("Orders", "Each order", "lines"),
        None,
        ([every("Sum", "return { json: { n: $json.lines.length } };")], None),
    )
    yield case(
        "answer of a child that lost a field",
        [
            data("Orders", [{"nr": 1, "kunde": "A"}]),
            call_child("Enrich"),
            every("Letter", "return { json: { an: $json.kunde.toUpperCase() } };"),
        ],
        truth("Only total", "Letter", "kunde"),
        None,
        ([expression_set("Only total", {"total": "5"}, keep=False)], None),
    )
    yield case(
        "both sides of a merge have the name",
        [
            data("Crm", [{"id": 1, "name": "Ann"}]),
            data("Erp", [{"id": 1, "name": None, "ust": "DE1"}]),
            node("Both", "merge", 3.2, {"mode": "combine", "fieldsToMatchString": "id", "options": {}}),
            every("Card", "return { json: { c: $json.name.toUpperCase() + $json.ust } };"),
        ],
        truth("Erp", "Card", "name", also=("Both",)),
        [Wire(START, "Erp"), Wire("Crm", "Both"), Wire("Erp", "Both", input=1), Wire("Both", "Card")],
    )
    yield case(
        "aggregate and then a wrong name",
        [
            data("Rows", [{"mail": "a"}, {"mail": "b"}]),
            node(
                "List",
                "aggregate",
                1,
                {"fieldsToAggregate": {"fieldToAggregate": [{"fieldToAggregate": "mail"}]}, "options": {}},
            ),
            every("Join", "return { json: { to: $json.mails.join(',') } };"),
        ],
        truth(None, "Join", "mail", also=("List",)),
    )
    yield case(
        "wrong month in a date node",
        [
            data("Rows", [{"d": "2026-02-30T99:00"}]),
            node(
                "Add",
                "dateTime",
                2,
                {
                    "operation": "addToDate",
                    "magnitude": "={{ $json.d }}",
                    "timeUnit": "days",
                    "duration": 3,
                    "options": {},
                },
            ),
        ],
        truth("Rows", "Add", "2026-02-30", also=("Add",)),
    )
    yield case(
        "typo in a method of a text",
        [data("Rows", [{"t": "a b"}]), every("Up", "return { json: { t: $json.t.toUppercase() } };")],
        truth(None, "Up", "toUpperCase"),
    )
    yield case(
        "loop variable that shadows",
        [
            data("Rows", [{"tags": ["a", "b"], "name": "n"}]),
            code(
                "Tags",
                "const out = [];\nfor (const item of $input.all()) {\n  for (const item2 of item.json.tags) {\n    out.push({ json: { tag: item2.json.name } });\n  }\n}\nreturn out;",
            ),
        ],
        truth(None, "Tags", "json", also=("Rows",)),
    )
    yield case(
        "promise all with a bad address",
        [
            data("Rows", [{"u": "/users/1"}, {"u": "/users/x"}]),
            code(
                "Fetch",
                f"const all = await Promise.all($input.all().map((i) => this.helpers.httpRequest({{ url: '{SERVICE}' + i.json.u, json: true }})));\nreturn all.map((json) => ({{ json }}));",
            ),
        ],
        truth(None, "Fetch", "404", also=("Rows",)),
    )
    yield case(
        "if that compares a list",
        [
            data("Rows", [{"tags": ["vip"]}]),
            node("Vip?", "if", 2.2, compare("={{ $json.tags }}", "string", "contains", "vip")),
            pass_on("Yes"),
        ],
        truth(None, "Vip?", "tags", also=("Rows",)),
    )
    yield case(
        "number field of a set gets an empty text",
        [
            data("Rows", [{"qty": "3"}, {"qty": "three"}]),
            expression_set("Typed", {"qty": "={{ $json.qty }}"}, kind="number"),
        ],
        truth("Rows", "Typed", "three"),
    )
    yield case(
        "error of the first item, code for all",
        [
            data("Rows", [{"a": {"b": 1}}, {"a": None}, {"a": {"b": 3}}]),
            get("Log", "/ok", onError="continueRegularOutput"),
            code(
                "Sum",
                "let s = 0;\nfor (const r of $('Rows').all()) {\n  s += r.json.a.b;\n}\nreturn [{ json: { s } }];",
            ),
        ],
        truth("Rows", "Sum", "a"),
    )
    yield case(
        "wait until a day that is none",
        [
            data("Rows", [{"until": "next friday"}]),
            node("Sleep", "wait", 1.1, {"resume": "specificTime", "dateTime": "={{ $json.until }}"}),
        ],
        truth("Rows", "Sleep", "next friday", also=("Sleep",)),
    )
    yield case(
        "remove duplicates by a name that is not there",
        [
            data("Rows", [{"Mail": "a"}, {"Mail": "a"}]),
            node(
                "Once",
                "removeDuplicates",
                2,
                {
                    "operation": "removeDuplicateInputItems",
                    "compare": "selectedFields",
                    "fieldsToCompare": "mail",
                    "options": {},
                },
            ),
        ],
        truth(None, "Once", "Mail"),
    )
    yield case(
        "second request needs what the first did not give",
        [
            get("Create", "/ok", **_POST, bodyParameters={"parameters": [{"name": "n", "value": "1"}]}),
            get("Details", "", url=f"={SERVICE}/users/{{{{ $json.user.id }}}}"),
        ],
        truth(None, "Details", "user", also=("Create",)),
    )
    yield case(
        "credit check that is down",
        [
            data("Orders", [{"id": 4, "company": None}]),
            get("Check", "/status/503", onError="continueRegularOutput"),
            every(
                "Decide",
                "if ($json.score === undefined) throw new Error('no score');\nreturn { json: { ok: $json.score > 5 } };",
            ),
        ],
        truth("Check", "Decide", "503"),
    )
    yield case(
        "handler that reads what an error has not",
        [
            data("Ids", [{"id": "x"}]),
            get("User", "", url=f"={SERVICE}/users/{{{{ $json.id }}}}", onError="continueErrorOutput"),
            pass_on("Ok"),
            every("Log", "return { json: { code: $json.error.details[0].code } };"),
        ],
        truth(None, "Log", "details", also=("User",)),
        [*chain("Ids", "User", "Ok"), Wire("User", "Log", output=1)],
    )
