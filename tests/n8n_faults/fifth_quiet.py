"""Fifth cases that count as a success: healthy ones, and settings that met nothing."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import SERVICE, expression_set
from .fresh_parts import case, compare, data, every, get, truth
from .shapes import Case

_POST = {"method": "POST", "sendBody": True}
_HEALTHY = truth(None, None)


def fifth_quiet() -> Iterator[Case]:
    yield from _healthy()
    yield from _quiet()


def _healthy() -> Iterator[Case]:
    yield case(
        "healthy: second line of an address",
        [
            data("People", [{"name": "A", "line1": "Road 1"}, {"name": "B", "line1": "Road 2"}]),
            expression_set("Label", {"text": "={{ $json.name }}, {{ $json.line1 }} {{ $json.line2 }}"}),
        ],
        _HEALTHY,
    )
    yield case(
        "healthy: shipping address only if it differs",
        [
            data("Orders", [{"nr": 1, "billing_address": "Road 1"}]),
            get(
                "Send",
                "/ok",
                **_POST,
                bodyParameters={
                    "parameters": [
                        {"name": "to", "value": "={{ $json.shipping_address }}"},
                        {"name": "bill", "value": "={{ $json.billing_address }}"},
                    ]
                },
            ),
        ],
        _HEALTHY,
    )
    yield case(
        "healthy: coordinates in one text",
        [
            data("Places", [{"pos": "48.1,11.5"}]),
            every("Split", "const [lat, lon] = $json.pos.split(',').map(parseFloat);\nreturn { json: { lat, lon } };"),
        ],
        _HEALTHY,
    )
    yield case(
        "healthy: latest date of texts",
        [
            data("Rows", [{"d": "2026-01-02"}, {"d": "2026-03-04"}]),
            node(
                "Latest",
                "summarize",
                1.1,
                {"fieldsToSummarize": {"values": [{"aggregation": "max", "field": "d"}]}, "options": {}},
            ),
        ],
        _HEALTHY,
    )
    yield case(
        "healthy: one summary of many",
        [
            data("Rows", [{"v": 1}, {"v": 2}]),
            code(
                "Mail",
                "const total = $input.all().reduce((s, i) => s + i.json.v, 0);\nreturn [{ json: { text: `Sum ${total}` } }];",
            ),
            get(
                "Post", "/ok", **_POST, bodyParameters={"parameters": [{"name": "text", "value": "={{ $json.text }}"}]}
            ),
        ],
        _HEALTHY,
    )
    yield case(
        "healthy: config of the first item",
        [
            data("Config", [{"base": "x"}]),
            data("Rows", [{"v": 1}, {"v": 2}]),
            expression_set("Url", {"url": "={{ $('Config').first().json.base }}/{{ $json.v }}"}),
        ],
        _HEALTHY,
    )
    yield case(
        "healthy: error that is asked for",
        [
            get("Probe", "/status/404", options={"response": {"response": {"neverError": True, "fullResponse": True}}}),
            node("There?", "if", 2.2, compare("={{ $json.statusCode }}", "number", "equals", 200)),
            pass_on("Update"),
            pass_on("Create"),
        ],
        _HEALTHY,
        [*chain("Probe", "There?", "Update"), Wire("There?", "Create", output=1)],
    )
    yield case(
        "healthy: page with a next link that a loop follows",
        [
            get("Page", "/say/200/paged"),
            node("Rows", "splitOut", 1, {"fieldToSplitOut": "rows", "options": {}}),
            pass_on("Save"),
        ],
        truth(None, None, also=("Page",)),
    )
    yield case(
        "healthy: empty strings are trimmed",
        [
            data("Rows", [{"t": "  "}, {"t": " a "}]),
            expression_set("Trim", {"t": "={{ $json.t.trim() }}"}),
        ],
        _HEALTHY,
    )
    yield case(
        "healthy: boolean texts in a switch",
        [
            data("Rows", [{"on": "yes"}, {"on": "no"}]),
            node(
                "On",
                "switch",
                3.2,
                {
                    "rules": {
                        "values": [
                            compare("={{ $json.on }}", "string", "equals", "yes"),
                            compare("={{ $json.on }}", "string", "equals", "no"),
                        ]
                    },
                    "options": {},
                },
            ),
            pass_on("Yes"),
            pass_on("No"),
        ],
        _HEALTHY,
        [*chain("Rows", "On", "Yes"), Wire("On", "No", output=1)],
    )
    yield case(
        "healthy: error output that is wired",
        [
            data("Ids", [{"id": "1"}, {"id": "x"}]),
            get("User", "", url=f"={SERVICE}/users/{{{{ $json.id }}}}", onError="continueErrorOutput"),
            pass_on("Ok"),
            pass_on("Later"),
        ],
        truth(None, None),
        [*chain("Ids", "User", "Ok"), Wire("User", "Later", output=1)],
    )


def _quiet() -> Iterator[Case]:
    yield case(
        "mails to the first only",
        [
            data("Rows", [{"m": "a"}, {"m": "b"}, {"m": "c"}]),
            code("One", "return [{ json: { to: $json.m } }];"),
            pass_on("Send"),
        ],
        truth("One", None, "first"),
    )
    yield case(
        "loop that ends after one round",
        [
            data("Rows", [{"n": 1}, {"n": 2}]),
            node("Loop", "splitInBatches", 3, {"batchSize": 1, "options": {}}),
            expression_set("Work", {"w": "={{ $json.n }}"}),
            pass_on("Done"),
        ],
        truth("Loop", None, "back", also=("Work",)),
        [*chain("Rows", "Loop", "Done"), Wire("Loop", "Work", output=1)],
    )
    yield case(
        "expression that is none",
        [data("U", [{"n": "A"}]), expression_set("Hi", {"text": "Hello {{ $json.n }}"}), pass_on("Send")],
        truth("Hi", None, "{{"),
    )
    yield case(
        "german number in a sum",
        [
            data("Lines", [{"b": "1.250,00"}, {"b": "80,50"}]),
            every("Num", "return { json: { b: parseFloat($json.b) } };"),
            node(
                "Sum",
                "summarize",
                1.1,
                {"fieldsToSummarize": {"values": [{"aggregation": "sum", "field": "b"}]}, "options": {}},
            ),
        ],
        truth("Num", None, "1.250,00", also=("Lines",)),
    )
    yield case(
        "answer reads the wrong name",
        [
            data("User", [{"userName": "A", "id": 1}]),
            node(
                "Answer",
                "respondToWebhook",
                1.1,
                {
                    "respondWith": "json",
                    "responseBody": "={{ JSON.stringify({ user: $json.username }) }}",
                    "options": {},
                },
            ),
        ],
        truth("Answer", None, "userName"),
    )
    yield case(
        "group by a name that is not there",
        [
            data("Sales", [{"City": "Ulm", "eur": 4}, {"City": "Bonn", "eur": 5}]),
            node(
                "Per city",
                "summarize",
                1.1,
                {
                    "fieldsToSummarize": {"values": [{"aggregation": "sum", "field": "eur"}]},
                    "fieldsToSplitBy": "city",
                    "options": {},
                },
            ),
        ],
        truth("Per city", None, "City"),
    )
