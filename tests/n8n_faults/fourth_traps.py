"""Fourth cases that lay traps: messages that sound like another fault, handlers, holes that do no harm."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import SERVICE
from .fresh_parts import case, data, every, get, truth
from .shapes import Case

_POST = {"method": "POST", "sendBody": True}
_HEALTHY = truth(None, None)


def fourth_traps() -> Iterator[Case]:
    yield from _words()
    yield from _handlers()
    yield from _loops()


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
