"""Fourth cases that count as a success: healthy ones that look odd, and faults that leave only traces."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import SERVICE, START, expression_set
from .fresh_parts import call_child, case, compare, data, every, get, truth
from .shapes import Case

_POST = {"method": "POST", "sendBody": True}
_HEALTHY = truth(None, None)


def fourth_quiet() -> Iterator[Case]:
    yield from _healthy()
    yield from _faults()


def _healthy() -> Iterator[Case]:
    yield case(
        "healthy: nothing to alert",
        [
            data("Servers", [{"host": "a", "up": True, "note": None}, {"host": "b", "up": True, "note": None}]),
            node("Down only", "filter", 2.2, compare("={{ $json.up }}", "boolean", "equals", False)),
            get("Alert", "/ok"),
        ],
        _HEALTHY,
    )
    yield case(
        "healthy: all are paid",
        [
            data("Invoices", [{"nr": 1, "paid": True}, {"nr": 2, "paid": True}]),
            node("Paid?", "if", 2.2, compare("={{ $json.paid }}", "boolean", "equals", True)),
            pass_on("Archive"),
            pass_on("Remind"),
        ],
        _HEALTHY,
        [*chain("Invoices", "Paid?", "Archive"), Wire("Paid?", "Remind", output=1)],
    )
    yield case(
        "healthy: optional fields in a letter",
        [
            data("People", [{"name": "Ann", "title": None}, {"name": "Bo", "title": "Dr."}]),
            expression_set("Letter", {"text": "=Dear {{ $json.title }} {{ $json.name }}"}),
        ],
        _HEALTHY,
    )
    yield case(
        "healthy: optional field that nobody has today",
        [
            data("People", [{"name": "Ann"}, {"name": "Bo"}]),
            expression_set("Row", {"label": "={{ $json.name }}{{ $json.suffix ? ', ' + $json.suffix : '' }}"}),
        ],
        _HEALTHY,
    )
    yield case(
        "healthy: copied null",
        [
            data("Rows", [{"id": 1, "deletedAt": None}]),
            expression_set("Map", {"id": "={{ $json.id }}", "deleted": "={{ $json.deletedAt }}"}, keep=False),
        ],
        _HEALTHY,
    )
    yield case(
        "healthy: code that returns null on purpose",
        [
            data("Rows", [{"a": 1, "b": 0}]),
            every("Ratio", "const ratio = $json.b ? $json.a / $json.b : null;\nreturn { json: { ratio } };"),
        ],
        _HEALTHY,
    )
    yield case(
        "healthy: text that speaks of undefined",
        [
            data("Posts", [{"title": "Why undefined is not a function"}]),
            expression_set("Slug", {"slug": "={{ $json.title.toLowerCase().replaceAll(' ', '-') }}"}),
        ],
        _HEALTHY,
    )
    yield case(
        "healthy: html that is wanted",
        [
            get("Page", "/html", options={"response": {"response": {"responseFormat": "text"}}}),
            node(
                "Title",
                "html",
                1.2,
                {
                    "operation": "extractHtmlContent",
                    "extractionValues": {"values": [{"key": "title", "cssSelector": "title"}]},
                    "options": {},
                },
            ),
        ],
        _HEALTHY,
    )
    yield case(
        "healthy: success false of a check that asks",
        [
            get("Exists?", "/say/200/absent"),
            node("New?", "if", 2.2, compare("={{ $json.found }}", "boolean", "equals", False)),
            pass_on("Create"),
        ],
        _HEALTHY,
    )
    yield case(
        "healthy: error that is handled",
        [
            data("Ids", [{"id": "x"}]),
            get("User", "", url=f"={SERVICE}/users/{{{{ $json.id }}}}", onError="continueErrorOutput"),
            pass_on("Update"),
            expression_set("Create", {"new": "={{ $json.id }}"}),
        ],
        truth("User", None, "404", also=("Ids",)),
        [*chain("Ids", "User", "Update"), Wire("User", "Create", output=1)],
    )
    yield case(
        "healthy: no new mails",
        [
            get("Inbox", "/list"),
            node("Split", "splitOut", 1, {"fieldToSplitOut": "mails", "options": {}}),
            pass_on("Store"),
        ],
        truth(None, None, also=("Inbox", "Split")),
    )
    yield case(
        "healthy: loop to the end",
        [
            data("Rows", [{"n": 1, "x": None}, {"n": 2, "x": None}, {"n": 3, "x": None}]),
            node("Loop", "splitInBatches", 3, {"batchSize": 2, "options": {}}),
            expression_set("Double", {"d": "={{ $json.n * 2 }}"}, kind="number"),
            code("All", "return [{ json: { count: $input.all().length } }];"),
        ],
        _HEALTHY,
        [*chain("Rows", "Loop", "All"), Wire("Loop", "Double", output=1), Wire("Double", "Loop")],
    )
    yield case(
        "healthy: left join with holes",
        [
            data("Orders", [{"id": 1}, {"id": 2}]),
            data("Notes", [{"id": 1, "note": "fast"}]),
            node(
                "Join",
                "merge",
                3.2,
                {"mode": "combine", "fieldsToMatchString": "id", "joinMode": "enrichInput1", "options": {}},
            ),
            expression_set("Line", {"line": "=Order {{ $json.id }}: {{ $json.note || '-' }}"}),
        ],
        _HEALTHY,
        [Wire(START, "Notes"), Wire("Orders", "Join"), Wire("Notes", "Join", input=1), Wire("Join", "Line")],
    )
    yield case(
        "healthy: switch with a rare output",
        [
            data("Events", [{"type": "created"}, {"type": "created"}]),
            node(
                "Type",
                "switch",
                3.2,
                {
                    "rules": {
                        "values": [
                            compare("={{ $json.type }}", "string", "equals", "created"),
                            compare("={{ $json.type }}", "string", "equals", "deleted"),
                        ]
                    },
                    "options": {},
                },
            ),
            pass_on("Add"),
            pass_on("Remove"),
        ],
        _HEALTHY,
        [*chain("Events", "Type", "Add"), Wire("Type", "Remove", output=1)],
    )
    yield case(
        "healthy: condition on a list that may be missing",
        [
            data("Posts", [{"title": "a", "tags": ["x"]}, {"title": "b"}]),
            node("Tagged", "filter", 2.2, compare("={{ $json.tags?.length ?? 0 }}", "number", "gt", 0)),
            pass_on("Publish"),
        ],
        _HEALTHY,
    )
    yield case(
        "healthy: duplicates are dropped",
        [
            data("Rows", [{"id": 1}, {"id": 1}, {"id": 2}]),
            node(
                "Once",
                "removeDuplicates",
                2,
                {
                    "operation": "removeDuplicateInputItems",
                    "compare": "selectedFields",
                    "fieldsToCompare": "id",
                    "options": {},
                },
            ),
            pass_on("Save"),
        ],
        _HEALTHY,
    )
    yield case(
        "healthy: empty answer of a webhook that only listens",
        [data("Got", [{}]), pass_on("Done")],
        _HEALTHY,
    )
    yield case(
        "healthy: sub-workflow that gives nothing back",
        [data("Rows", [{"a": 1}]), call_child("Log")],
        truth(None, None, also=("Only errors", "Log")),
        None,
        ([node("Only errors", "filter", 2.2, compare("={{ $json.level }}", "string", "equals", "error"))], None),
    )
    yield case(
        "healthy: always an empty item",
        [
            data("Rows", [{"a": 1}]),
            node("Find", "filter", 2.2, compare("={{ $json.a }}", "number", "equals", 2), alwaysOutputData=True),
            code(
                "Count",
                "const found = $input.all().filter((i) => Object.keys(i.json).length);\nreturn [{ json: { found: found.length } }];",
            ),
        ],
        _HEALTHY,
    )
    yield case(
        "healthy: node that is switched off",
        [
            data("Rows", [{"a": 1}]),
            expression_set("Test data", {"b": "x"}, disabled=True),
            expression_set("Use", {"c": "={{ $json.a }}"}),
        ],
        _HEALTHY,
    )
    yield case(
        "healthy: division that is infinite and shown",
        [
            data("Names", [{"name": "Infinity Ltd", "n": 1}]),
            expression_set("Title", {"t": "={{ $json.name }} GmbH"}),
        ],
        _HEALTHY,
    )
    yield case(
        "healthy: merge that waits for nothing",
        [
            data("Rows", [{"v": 1}]),
            node("Big?", "if", 2.2, compare("={{ $json.v }}", "number", "gt", 5)),
            expression_set("Mark", {"big": "yes"}),
            node("Both", "merge", 3.2, {}),
            pass_on("Save"),
        ],
        _HEALTHY,
        [*chain("Rows", "Big?", "Mark", "Both", "Save"), Wire("Big?", "Both", output=1, input=1)],
    )


def _faults() -> Iterator[Case]:
    yield case(
        "status with a capital letter",
        [
            data("Orders", [{"status": "Paid"}, {"status": "Paid"}]),
            node("Paid", "filter", 2.2, compare("={{ $json.status }}", "string", "equals", "paid")),
            pass_on("Ship"),
        ],
        truth("Paid", None, "case", also=("Orders",)),
    )
    yield case(
        "number as a text in a loose filter",
        [
            data("Rows", [{"qty": "12"}, {"qty": "7"}]),
            node("Text", "filter", 2.2, compare("={{ $json.qty }}", "string", "equals", "12 ")),
            pass_on("Next"),
        ],
        truth("Text", None, "space", also=("Rows",)),
    )
    yield case(
        "keys of different types in a merge",
        [
            data("Kunden", [{"id": 1, "n": "A"}]),
            data("Konten", [{"id": "1", "k": "X"}]),
            node(
                "Zusammen",
                "merge",
                3.2,
                {"mode": "combine", "fieldsToMatchString": "id", "options": {"disableDotNotation": False}},
            ),
            pass_on("Weiter"),
        ],
        truth("Zusammen", None, "id", also=("Kunden", "Konten")),
        [
            Wire(START, "Konten"),
            Wire("Kunden", "Zusammen"),
            Wire("Konten", "Zusammen", input=1),
            Wire("Zusammen", "Weiter"),
        ],
    )
    yield case(
        "text with an object in it",
        [
            data("Lead", [{"firma": {"name": "X", "ort": "Ulm"}}]),
            expression_set("Mail", {"text": "=Neue Firma: {{ $json.firma }}!"}),
        ],
        truth("Mail", None, "firma"),
    )
    yield case(
        "price that is no number",
        [
            data("Zeilen", [{"preis": "9,90", "menge": 2}]),
            expression_set("Summe", {"s": "=Summe: {{ $json.preis * $json.menge }}"}),
        ],
        truth("Zeilen", None, "preis", also=("Summe",)),
    )
    yield case(
        "mail without the name that was dropped",
        [
            data("Kunde", [{"name": "Ann", "id": 4}]),
            expression_set("Nur id", {"id": "={{ $json.id }}"}, keep=False),
            expression_set("Gruss", {"text": "=Hallo {{ $json.name }}, willkommen"}, keep=False),
        ],
        truth("Nur id", None, "name"),
    )
    yield case(
        "sum of texts",
        [
            data("Posten", [{"a": "10", "b": "5"}]),
            expression_set("Summe", {"s": "={{ $json.a + $json.b }}"}, kind="number"),
        ],
        truth("Summe", None, "texts", also=("Posten",)),
    )
    yield case(
        "date that is invalid in the text",
        [
            data("Termin", [{"am": "32.01.2026"}]),
            expression_set("Satz", {"t": "=Termin am {{ DateTime.fromISO($json.am).toFormat('dd.MM.') }}"}),
        ],
        truth("Termin", None, "am", also=("Satz",)),
    )
    yield case(
        "summarize of a misspelt field",
        [
            data("Verkauf", [{"betrag": 5}, {"betrag": 7}]),
            node(
                "Summe",
                "summarize",
                1.1,
                {"fieldsToSummarize": {"values": [{"aggregation": "sum", "field": "beträge"}]}, "options": {}},
            ),
        ],
        truth("Summe", None, "beträge"),
    )
    yield case(
        "only the first of many",
        [
            data("Rows", [{"n": 1}, {"n": 2}, {"n": 3}]),
            code("Mail", "return [{ json: { text: 'n is ' + $input.first().json.n } }];"),
            pass_on("Send"),
        ],
        truth(None, None, also=("Mail",)),
    )
    yield case(
        "refused quietly",
        [get("Post", "/soft", method="POST"), pass_on("Done")],
        truth("Post", None, "quota"),
    )
    yield case(
        "method that is misspelt in a field",
        [
            data("Names", [{"name": "ann"}]),
            expression_set("Upper", {"n": "={{ $json.name.toUppercase() }}"}),
        ],
        truth("Upper", None, "n"),
    )
    yield case(
        "nothing of the list in an answer",
        [
            get("Search", "/nothing"),
            node("Each", "splitOut", 1, {"fieldToSplitOut": "items", "options": {}}),
            pass_on("Store"),
        ],
        truth("Each", None, "items", also=("Search",)),
    )
    yield case(
        "all to false because of a type",
        [
            data("Rows", [{"ok": "true"}, {"ok": "true"}]),
            node("Ok?", "if", 2.2, {**compare("={{ $json.ok }}", "string", "equals", "True")}),
            pass_on("Yes"),
            pass_on("No"),
        ],
        truth("Ok?", None, "case", also=("Rows",)),
        [*chain("Rows", "Ok?", "Yes"), Wire("Ok?", "No", output=1)],
    )
