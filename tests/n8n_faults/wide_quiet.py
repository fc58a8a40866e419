"""Wide cases that count as a success: branches that nobody takes, texts with holes, and healthy workflows."""

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import SERVICE, START, Truth, expression_set
from .fresh_parts import case, compare, data, every, get, truth
from .shapes import Case


def wide_quiet() -> Iterator[Case]:
    yield case(
        "full-width digits",
        [
            data("申込", [{"区分": "２０"}, {"区分": "２０"}]),
            node("二十か", "if", 2.2, compare("={{ $json.区分 }}", "string", "equals", "20")),
            expression_set("割引", {"x": "1"}),
            pass_on("通常"),
        ],
        truth("二十か", None, "割引", "２０", also=("申込",)),
        [*chain("申込", "二十か", "割引"), Wire("二十か", "通常", output=1)],
    )
    yield case(
        "condition on a level that was flattened",
        [
            data("Events", [{"body": {"type": "order"}}]),
            every("Flatten", "return { json: { ...$json.body } };"),
            node("Order?", "if", 2.2, compare("={{ $json.body.type }}", "string", "equals", "order")),
            expression_set("Book", {"x": "1"}),
            pass_on("Drop"),
        ],
        truth("Order?", None, "type", "Book", also=("Flatten",)),
        [*chain("Events", "Flatten", "Order?", "Book"), Wire("Order?", "Drop", output=1)],
    )
    yield case(
        "filter by a date that is over",
        [
            data("Rooms", [{"until": "2020-01-01"}, {"until": "2021-01-01"}]),
            node("Still valid", "filter", 2.2, compare("={{ $json.until }}", "dateTime", "after", "2026-01-01")),
            expression_set("Offer", {"o": "1"}),
        ],
        truth("Still valid", None, "until", "Offer", also=("Rooms",)),
    )
    yield case(
        "switch with a line break in the value",
        [
            data("Mails", [{"kind": "invoice\n"}]),
            node(
                "Sort",
                "switch",
                3.2,
                {
                    "rules": {
                        "values": [
                            {
                                "conditions": compare("={{ $json.kind }}", "string", "equals", one)["conditions"],
                                "renameOutput": False,
                            }
                            for one in ("invoice", "offer")
                        ]
                    },
                    "options": {},
                },
            ),
            expression_set("Book", {"b": "1"}),
            expression_set("Answer", {"a": "1"}),
        ],
        truth("Sort", None, "invoice", "Book", also=("Mails",)),
        [*chain("Mails", "Sort", "Book"), Wire("Sort", "Answer", output=1)],
    )
    yield case(
        "rate limit for some items",
        [
            data("Ids", [{"p": "total"}, {"p": "limit"}, {"p": "total"}]),
            get("Ask", "", url=f"={SERVICE}/{{{{ $json.p }}}}", onError="continueRegularOutput"),
            expression_set("Keep", {"k": "1"}),
        ],
        truth("Ask", None, "429"),
    )
    yield case(
        "branch of the loop that never comes back",
        [
            data("Tasks", [{"n": 1}, {"n": 2}, {"n": 3}]),
            node("Each", "splitInBatches", 3, {"options": {}}),
            node("Odd?", "if", 2.2, compare("={{ $json.n }}", "number", "gt", 5)),
            pass_on("Work"),
            expression_set("Report", {"r": "1"}),
        ],
        truth("Odd?", None, "Report", also=("Each",)),
        [*chain("Tasks", "Each", "Report"), Wire("Each", "Odd?", output=1), *chain("Odd?", "Work", "Each")],
    )
    yield case(
        "date format that does not fit",
        [
            data("台帳", [{"日付": "2026-11-17"}]),
            expression_set("変換", {"日": "={{ DateTime.fromFormat($json.日付, 'yyyy/MM/dd').toISODate() }}"}),
            pass_on("保存"),
        ],
        truth("変換", None, "日付", also=("台帳",)),
    )
    yield case(
        "field name with a capital",
        [
            data("Sheet", [{"First name": " Ito "}]),
            expression_set("Trim", {"name": "={{ $json['first name'].trim() }}"}),
            pass_on("Save"),
        ],
        truth("Trim", None, "First name"),
    )
    yield case(
        "method of a date on a text",
        [
            data("Rows", [{"created": "2026-11-17"}]),
            expression_set("Year", {"y": "={{ $json.created.toFormat('yyyy') }}"}),
            pass_on("Save"),
        ],
        truth("Year", None, "created", also=("Rows",)),
    )
    yield case(
        "error output that nobody reads",
        [
            data("Files", [{"n": "a"}, {"n": None}]),
            every("Name", "return { json: { n: $json.n.toUpperCase() } };", onError="continueErrorOutput"),
            expression_set("Store", {"s": "1"}),
        ],
        truth("Files", None, "null", also=("Name",)),
    )
    yield case(
        "undefined in a mail from a lost field",
        [
            data("予約", [{"客": "森", "部屋": "204"}]),
            expression_set("控え", {"部屋": "={{ $json.部屋 }}"}, keep=False),
            every("案内文", "return { json: { 文: `${$json.客}様、${$json.部屋}号室です` } };"),
            pass_on("送信"),
        ],
        truth("控え", None, "客", "undefined", also=("案内文",)),
    )
    yield case(
        "merge by position drops the rest",
        [
            data("Seats", [{"seat": 1}, {"seat": 2}, {"seat": 3}]),
            code("Guests", "return [];"),
            node("Pair", "merge", 3.1, {"mode": "combine", "combineBy": "combineByPosition", "options": {}}),
            expression_set("Print", {"p": "1"}),
        ],
        truth("Guests", None, "Print", also=("Pair",)),
        [*chain("Seats", "Pair", "Print"), Wire(START, "Guests"), Wire("Guests", "Pair", input=1)],
    )
    yield case(
        "average of texts",
        [
            data("Marks", [{"mark": "B"}]),
            every("Average", "return { json: { text: 'average ' + ($json.mark / 2) } };"),
            pass_on("Show"),
        ],
        truth("Marks", None, "mark", "NaN", also=("Average",)),
    )
    yield case(
        "empty answer ends everything",
        [get("Find new", "/list"), expression_set("Post", {"p": "1"}), pass_on("Done")],
        truth("Find new", None, "Post"),
    )


def wide_healthy() -> Iterator[Case]:
    nothing = Truth(cause=None, failing=None)
    yield case(
        "healthy: nulls and nothing read",
        [
            data("Rows", [{"a": None, "b": "", "c": [], "d": {}}]),
            expression_set("Keep", {"e": "={{ $json.b }}"}),
            pass_on("Save"),
        ],
        nothing,
    )
    yield case(
        "healthy: worked at the second try",
        [
            data("Rows", [{"a": 1}]),
            get("Push", "/flaky/one", retryOnFail=True),
            expression_set("Done", {"d": "={{ $json.total }}"}),
        ],
        nothing,
    )
    yield case(
        "healthy: loop over all",
        [
            data("Rows", [{"n": 1}, {"n": 2}, {"n": 3}]),
            node("Each", "splitInBatches", 3, {"options": {}}),
            expression_set("Work", {"w": "={{ $json.n }}"}),
            pass_on("End"),
        ],
        nothing,
        [*chain("Rows", "Each", "End"), Wire("Each", "Work", output=1), Wire("Work", "Each")],
    )
    yield case(
        "healthy: optional chains",
        [
            data("Rows", [{"user": None}]),
            every("Name", "return { json: { name: $json.user?.name ?? 'nobody' } };"),
            pass_on("Save"),
        ],
        nothing,
    )
    yield case(
        "healthy: text that speaks of undefined",
        [
            data("Rows", [{"t": "undefined behaviour and NaN"}]),
            expression_set("Copy", {"u": "={{ $json.t }}"}),
            pass_on("Save"),
        ],
        nothing,
    )
    yield case(
        "healthy: error output that is read",
        [
            data("Rows", [{"a": 1}, {"a": 2}]),
            every("Ok", "return { json: { a: $json.a + 1 } };", onError="continueErrorOutput"),
            pass_on("Good"),
            pass_on("Bad"),
        ],
        nothing,
        [*chain("Rows", "Ok", "Good"), Wire("Ok", "Bad", output=1)],
    )
