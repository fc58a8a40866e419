"""Broken workflows that count as a success, and healthy ones, written last."""

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import START, Truth, expression_set
from .fresh_parts import call_child, case, compare, data, every, get, truth
from .shapes import Case


def unseen_quiet_cases() -> Iterator[Case]:
    yield from _texts()
    yield from _flows()
    yield from _healthy()


def _texts() -> Iterator[Case]:
    yield case(
        "list of objects in a mail",
        [
            data("Basket", [{"items": [{"n": 1}, {"n": 2}]}]),
            every("Mail body", "return { json: { body: 'You bought: ' + $json.items } };"),
            pass_on("Send"),
        ],
        truth("Mail body", None, "[object Object]", "items"),
    )
    yield case(
        "undefined in an address",
        [
            data("Users", [{"name": "Ito", "addr": {"city": "Kobe"}}]),
            every("Address", "return { json: { line: `${$json.name}, ${$json.addr.zip}` } };"),
            pass_on("Print"),
        ],
        truth("Address", None, "undefined", "zip"),
    )
    yield case(
        "average of nothing",
        [
            data("Ratings", [{"sum": 0, "count": 0}]),
            every("Average", "return { json: { text: 'Average ' + ($json.sum / $json.count) } };"),
            pass_on("Show"),
        ],
        truth("Average", None, "NaN", also=("Ratings",)),
    )
    yield case(
        "price lost on the way to the sum",
        [
            data("Goods", [{"name": "pen", "price": 3, "n": 2}]),
            expression_set("Short", {"name": "={{ $json.name }}", "n": "={{ $json.n }}"}, keep=False),
            every("合計", "return { json: { 文: `合計は${$json.price * $json.n}円` } };"),
            pass_on("印刷"),
        ],
        truth("Short", None, "price", "NaN", also=("合計",)),
    )
    yield case(
        "date of nobody",
        [
            data("Staff", [{"born": "unknown"}]),
            every("Birthday", "return { json: { text: `${new Date($json.born)}` } };"),
            pass_on("Show"),
        ],
        truth("Birthday", None, "Invalid Date", also=("Staff",)),
    )
    yield case(
        "expression calls what a number has not",
        [
            data("Codes", [{"code": 17}]),
            expression_set("Pad", {"padded": "={{ $json.code.padStart(4, '0') }}"}),
            pass_on("Show"),
        ],
        truth("Pad", None, "padded", "code", also=("Codes",)),
    )
    yield case(
        "expression through nothing",
        [
            data("Users", [{"name": "Ito"}]),
            expression_set("City", {"city": "={{ $json.address.city.toUpperCase() }}"}),
            pass_on("Show"),
        ],
        truth("City", None, "address", also=("Users",)),
    )


def _flows() -> Iterator[Case]:
    active = compare("={{ $json.state }}", "string", "equals", "active")
    yield case(
        "state with a space",
        [
            data("Accounts", [{"state": "active "}, {"state": "active "}]),
            node("Active?", "if", 2.2, active),
            expression_set("Bill", {"b": "1"}),
            pass_on("Skip"),
        ],
        truth("Active?", None, "Bill", "active "),
        [*chain("Accounts", "Active?", "Bill"), Wire("Active?", "Skip", output=1)],
    )
    yield case(
        "filter on a field that was renamed",
        [
            data("Leads", [{"score": 9}]),
            expression_set("Map", {"points": "={{ $json.score }}"}, keep=False),
            node("Hot", "filter", 2.2, compare("={{ $json.score }}", "number", "gt", 5)),
            pass_on("Call them"),
        ],
        truth("Map", None, "score", "Call them", also=("Hot",)),
    )
    yield case(
        "nothing new",
        [
            data("Feed", [{"id": 1}, {"id": 1}]),
            code("Only new", "return $input.all().filter((one) => one.json.id > 5);"),
            expression_set("Post", {"p": "1"}),
            pass_on("Log"),
        ],
        truth("Only new", None, "Post"),
    )
    yield case(
        "error branch that nobody reads",
        [
            data("Mails", [{"to": None}, {"to": "a@b"}]),
            every("Check", "return { json: { to: $json.to.trim() } };", onError="continueErrorOutput"),
            pass_on("Send"),
        ],
        truth("Mails", None, "to", "null", also=("Check",)),
        chain("Mails", "Check", "Send"),
    )
    yield case(
        "service refuses and nobody minds",
        [
            data("Docs", [{"d": 1}]),
            get("Upload", "/status/403", onError="continueRegularOutput"),
            expression_set("Done", {"state": "uploaded"}),
        ],
        truth("Upload", None, "403"),
    )
    yield case(
        "keys of two types",
        [
            data("People", [{"id": "7", "n": "x"}]),
            data("Salaries", [{"id": 7, "s": 1}]),
            node("Join", "merge", 3.1, {"mode": "combine", "fieldsToMatchString": "id", "options": {}}),
            pass_on("Pay"),
        ],
        truth("Join", None, "id", "Pay"),
        [*chain("People", "Join", "Pay"), Wire(START, "Salaries"), Wire("Salaries", "Join", input=1)],
    )
    yield case(
        "child gives nothing back",
        [data("Begin", [{"a": 1}]), call_child("Helper"), pass_on("After")],
        truth("選別", None, "a"),
        child=([node("選別", "filter", 2.2, compare("={{ $json.a }}", "number", "gt", 5)), pass_on("続き")], None),
    )


def _healthy() -> Iterator[Case]:
    nothing = Truth(cause=None, failing=None)
    people = data("People", [{"name": "A", "tags": ["x"], "note": "", "n": 0}])
    yield case(
        "healthy: zero, empty text and lists",
        [
            people,
            expression_set("Copy", {"count": "={{ $json.tags.length }}", "none": "={{ $json.note }}"}),
            pass_on("Save"),
        ],
        nothing,
    )
    yield case(
        "healthy: a choice in an expression",
        [
            people,
            expression_set("Pick", {"p": "={{ $json.fax ? $json.fax : null }}", "q": "={{ $json.x ?? null }}"}),
            pass_on("Save"),
        ],
        nothing,
    )
    yield case(
        "healthy: a merge of two lists",
        [
            data("L", [{"id": 1}]),
            data("R", [{"id": 1, "x": 2}]),
            node("Join", "merge", 3.1, {"mode": "combine", "fieldsToMatchString": "id", "options": {}}),
            pass_on("Save"),
        ],
        nothing,
        [*chain("L", "Join", "Save"), Wire(START, "R"), Wire("R", "Join", input=1)],
    )
    yield case(
        "healthy: some items are filtered",
        [
            data("P", [{"n": 1}, {"n": 9}]),
            node("Big", "filter", 2.2, compare("={{ $json.n }}", "number", "gt", 5)),
            pass_on("Save"),
        ],
        nothing,
    )
    yield case(
        "healthy: code that counts",
        [
            data("P", [{"n": 1}, {"n": 9}]),
            code("Sum", "return [{ json: { sum: $input.all().length, avg: null } }];"),
            pass_on("Save"),
        ],
        nothing,
    )
    yield case(
        "healthy: an answer with an error field",
        [data("P", [{"error": None, "errors": []}]), expression_set("Keep", {"ok": "yes"}), pass_on("Save")],
        nothing,
    )
