"""Fourth cases of fields that several nodes make, expressions, and healthy ones that look odd."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import START, expression_set
from .fresh_parts import call_child, case, compare, data, every, get, truth
from .shapes import Case

_POST = {"method": "POST", "sendBody": True}
_HEALTHY = truth(None, None)


def fourth_makers() -> Iterator[Case]:
    yield from _makers()
    yield from _expressions()
    yield from _quiet()


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
