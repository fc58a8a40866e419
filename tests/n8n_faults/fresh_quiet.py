"""Broken workflows of another hand that count as a success, and healthy ones."""

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import JsonObject, Wire, chain, condition, node, pass_on

from .fault import START, Truth, expression_set
from .fresh_parts import HOTEL, call_child, case, compare, data, every, get, truth
from .shapes import Case


def quiet_cases() -> Iterator[Case]:
    yield from _texts()
    yield from _flows()
    yield from _services()


def _texts() -> Iterator[Case]:
    hotel = data("Bookings", HOTEL)
    yield case(
        "object in a mail",
        [
            data("CRM", [{"contact": {"first": "Ken", "last": "Ito"}}]),
            expression_set("Mail", {"subject": "=Welcome {{ $json.contact }}"}),
            pass_on("Send"),
        ],
        truth("Mail", None, "contact", "object"),
    )
    yield case(
        "undefined in a label",
        [
            hotel,
            every("Label", "return { json: { label: 'Room ' + $json.floor + '-' + $json.room } };"),
            pass_on("Print"),
        ],
        truth("Label", None, "floor", "undefined"),
    )
    yield case(
        "NaN from a comma",
        [
            hotel,
            every("Price", "return { json: { text: `Total ${$json.rate * $json.nights} JPY` } };"),
            pass_on("Print"),
        ],
        truth("Price", None, "NaN", also=("Bookings",)),
    )
    yield case(
        "method that does not exist in a Set",
        [hotel, expression_set("Upper", {"guest": "={{ $json.guest.toUppercase() }}"}), pass_on("Print")],
        truth("Upper", None, "guest"),
    )
    yield case(
        "Set reads a misspelt field",
        [hotel, expression_set("Copy", {"to": "={{ $json.email }}"}), pass_on("Print")],
        truth("Copy", None, "mail"),
    )
    reminder = "const d = new Date($json.arrival);\nreturn { json: { text: 'See you on ' + d.toDateString() } };"
    yield case(
        "invalid date in a reminder",
        [hotel, every("Reminder", reminder), pass_on("Send")],
        truth("Reminder", None, "Invalid Date", also=("Bookings",)),
    )
    yield case(
        "division by nights",
        [
            hotel,
            every("Per night", "return { json: { text: 'per night: ' + 100 / $json.nights } };"),
            pass_on("Print"),
        ],
        truth("Per night", None, "Infinity", also=("Bookings",)),
    )
    yield case(
        "child shows NaN",
        [data("Begin", [{"a": 1}]), call_child("Delegate"), pass_on("Done")],
        truth("計算", None, "NaN"),
        child=([every("計算", "return { json: { 合計: `${$json.数量 * 3}円` } };")], None),
    )


def _flows() -> Iterator[Case]:
    hotel = data("Bookings", HOTEL)
    suites = compare("={{ $json.room }}", "string", "startsWith", "9")
    yield case(
        "nobody matches",
        [hotel, node("Only suites", "filter", 2.2, suites), expression_set("Offer", {"o": "1"}), pass_on("Send")],
        truth("Only suites", None, "Offer", "204"),
    )
    yield case(
        "number compared as text",
        [
            hotel,
            node("Room 204?", "if", 2.2, _loose("={{ $json.room }}", "204 ")),
            pass_on("Page them"),
            pass_on("Nothing"),
        ],
        truth("Room 204?", None, "Page them"),
        [*chain("Bookings", "Room 204?", "Page them"), Wire("Room 204?", "Nothing", output=1)],
    )
    matched = {"mode": "combine", "fieldsToMatchString": "code", "options": {}}
    yield case(
        "two lists without a common key",
        [
            data("商品", [{"code": "p-1"}, {"code": "p-2"}]),
            data("在庫", [{"code": "P-1"}]),
            node("突き合わせ", "merge", 3.1, matched),
            pass_on("発注"),
        ],
        truth("突き合わせ", None, "code", "発注"),
        [*chain("商品", "突き合わせ", "発注"), Wire(START, "在庫"), Wire("在庫", "突き合わせ", input=1)],
    )
    yield case(
        "swallowed on the error output",
        [
            hotel,
            every(
                "Ages",
                "if (!$json.nights) throw new Error('zero nights');\nreturn { json: $json };",
                onError="continueErrorOutput",
            ),
            pass_on("Good"),
            pass_on("Bad"),
        ],
        truth("Ages", None, "zero nights", also=("Bookings",)),
        [*chain("Bookings", "Ages", "Good"), Wire("Ages", "Bad", output=1)],
    )


def _services() -> Iterator[Case]:
    yield case(
        "empty answer of a service",
        [get("List tickets", "/list"), pass_on("Work"), pass_on("Close")],
        truth("List tickets", None, "Work"),
    )
    yield case(
        "swallowed time-out",
        [
            data("Bookings", HOTEL),
            get("Ask slow one", "/slow", options={"timeout": 500}, onError="continueRegularOutput"),
            pass_on("Go on"),
        ],
        truth("Ask slow one", None, "500"),
    )
    yield case(
        "login page for data",
        [
            get("Load users", "/html"),
            expression_set("Pick", {"id": "={{ $json.id }}", "name": "={{ $json.name }}"}),
            pass_on("Save"),
        ],
        truth("Load users", None, "HTML"),
    )


def _loose(left: str, right: str) -> JsonObject:
    test = condition(left, "equals", kind="string", right=right)
    test["conditions"]["options"]["typeValidation"] = "loose"
    return test


def healthy_cases() -> Iterator[Case]:
    """Workflows in which nothing is wrong: whoever is blamed here is blamed wrongly."""
    nothing = Truth(cause=None, failing=None)
    people = data("People", [{"name": "A", "fax": None}])
    yield case(
        "healthy: nulls that nobody minds",
        [people, expression_set("Copy", {"copy": "={{ $json.fax }}"}), pass_on("Save")],
        nothing,
    )
    yield case(
        "healthy: optional fields",
        [people, every("Use", "return { json: { f: $json.fax?.trim() ?? '' } };"), pass_on("Save")],
        nothing,
    )
    yield case(
        "healthy: the word undefined",
        [
            data("Terms", [{"term": "undefined behaviour"}]),
            expression_set("Text", {"t": "=About {{ $json.term }}"}),
            pass_on("Save"),
        ],
        nothing,
    )
    numbers = data("P", [{"n": 1}, {"n": 9}])
    yield case(
        "healthy: both branches",
        [
            numbers,
            node("Big?", "if", 2.2, compare("={{ $json.n }}", "number", "gt", 5)),
            pass_on("Yes"),
            pass_on("No"),
        ],
        nothing,
        [*chain("P", "Big?", "Yes"), Wire("Big?", "No", output=1)],
    )
    title = {"values": [{"key": "title", "cssSelector": "title"}]}
    yield case(
        "healthy: a page on purpose",
        [
            get("Page", "/html"),
            node("Title", "html", 1.2, {"operation": "extractHtmlContent", "extractionValues": title, "options": {}}),
            pass_on("Save"),
        ],
        nothing,
    )
    yield case(
        "healthy: loop",
        [
            numbers,
            node("L", "splitInBatches", 3, {"batchSize": 1, "options": {}}),
            expression_set("B", {"x": "1"}),
            pass_on("End"),
        ],
        nothing,
        [*chain("P", "L", "End"), Wire("L", "B", output=1), Wire("B", "L")],
    )
    yield case(
        "healthy: sub-workflow",
        [data("Begin", [{"a": 1}]), call_child("Delegate"), pass_on("Done")],
        nothing,
        child=([every("Double", "return { json: { b: $json.a * 2 } };")], None),
    )
