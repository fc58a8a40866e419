"""Daily cases that count as successes: with wrong data, and healthy ones."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import SERVICE, START, expression_set
from .fresh_parts import call_child, case, compare, data, every, get, truth
from .shapes import Case


def daily_quiet() -> Iterator[Case]:
    yield from _wrong_data()
    yield from _lost_items()
    yield from _healthy()


def _wrong_data() -> Iterator[Case]:
    yield case(
        "greeting of undefined",
        [
            data("Kontakte", [{"vorname": "Eva"}, {"vorname": "Jan"}]),
            expression_set("Mail", {"text": "=Hallo {{ $json.name }}, willkommen"}, keep=False),
            pass_on("Senden"),
        ],
        truth("Mail", None, "name", also=("Kontakte",)),
    )
    yield case(
        "german thousands",
        [
            data("Zeilen", [{"preis": "1.200,50", "menge": 2}]),
            expression_set("Summe", {"summe": "={{ $json.preis * $json.menge }}"}, kind="number"),
            pass_on("Weiter"),
        ],
        truth("Zeilen", None, "preis", also=("Summe",)),
    )
    yield case(
        "object printed in a chat",
        [
            get("Profil", "/profile"),
            expression_set("Nachricht", {"text": "=Neu: {{ $json.user }}"}, keep=False),
            every("Kürzen", "return { json: { t: ('' + $json.text).slice(0, 60) } };"),
        ],
        truth("Nachricht", None, "[object Object]", "user", also=("Profil",)),
    )
    yield case(
        "invalid date in a list",
        [
            data("Reisen", [{"ab": "2026-05-01"}, {"ab": "Mai"}]),
            every("Tag", "const d = new Date($json.ab);\nreturn { json: { tag: d.toLocaleDateString('de-DE') } };"),
            pass_on("Liste"),
        ],
        truth("Reisen", None, "ab", also=("Tag",)),
    )
    yield case(
        "nan by helper in code",
        [
            data("Noten", [{"note": "2,3"}, {"note": "1"}]),
            code(
                "Schnitt",
                "const zahl = (t) => Number(t);\nconst all = $input.all().map((i) => zahl(i.json.note));\nreturn [{ json: { schnitt: all.reduce((a, b) => a + b, 0) / all.length } }];",
            ),
        ],
        truth("Noten", None, "note", also=("Schnitt",)),
    )
    yield case(
        "server error kept as data",
        [
            get("Abfrage", "/status/500", options={"response": {"response": {"neverError": True}}}),
            expression_set("Auszug", {"menge": "={{ $json.menge }}"}, keep=False),
            pass_on("Ablage"),
        ],
        truth("Abfrage", None, "menge", short=("Auszug",)),
    )
    yield case(
        "failure as an item",
        [
            data("Ids", [{"id": "7"}, {"id": "x"}]),
            get("Nutzer", "", url=f"={{{{ '{SERVICE}/users/' + $json.id }}}}", onError="continueRegularOutput"),
            pass_on("Ablage"),
        ],
        truth("Nutzer", None, "404", also=("Ids",)),
    )
    yield case(
        "code fails for one item and goes on",
        [
            data("Lager", [{"ort": {"reihe": 1}}, {"ort": None}]),
            every("Reihe", "return { json: { r: $json.ort.reihe } };", onError="continueRegularOutput"),
            pass_on("Ablage"),
        ],
        truth("Lager", None, "ort"),
    )
    yield case(
        "aggregate of a missing field",
        [
            data("Adressen", [{"email": "a@b.c"}, {"email": "d@e.f"}]),
            node(
                "Sammeln",
                "aggregate",
                1,
                {"fieldsToAggregate": {"fieldToAggregate": [{"fieldToAggregate": "mail"}]}, "options": {}},
            ),
            expression_set("Anzahl", {"n": "={{ $json.mail.length }}"}, kind="number"),
        ],
        truth("Sammeln", None, "mail", also=("Adressen",)),
    )
    yield case(
        "webhook value read without body",
        [expression_set("Absender", {"von": "={{ $json.from }}"}, keep=False), pass_on("Ablage")],
        truth("Absender", None, "from", also=(START,)),
    )
    yield case(
        "null by a misspelt method",
        [
            data("Leute", [{"name": "eva"}]),
            expression_set("Groß", {"name": "={{ $json.name.toUppercase() }}"}),
            pass_on("Ablage"),
        ],
        truth("Groß", None, "toUppercase"),
    )
    yield case(
        "undefined in a link",
        [
            data("Produkte", [{"artikelNr": 5}]),
            every("Link", "return { json: { url: `https://shop.example/p/${$json.artikelnr}` } };"),
            pass_on("Ablage"),
        ],
        truth("Link", None, "artikelnr", also=("Produkte",)),
    )


def _lost_items() -> Iterator[Case]:
    yield case(
        "small letters in a filter",
        [
            data("Antworten", [{"teilnahme": "Ja"}, {"teilnahme": "Ja"}]),
            node("Zusagen", "filter", 2.2, compare("={{ $json.teilnahme }}", "string", "equals", "ja")),
            pass_on("Einladen"),
        ],
        truth("Zusagen", None, "Einladen", also=("Antworten",)),
    )
    rules = [
        {"conditions": compare("={{ $json.stufe }}", "string", "equals", k)["conditions"]} for k in ("hoch", "tief")
    ]
    yield case(
        "switch on a level that was renamed",
        [
            data("Tickets", [{"prio": "hoch"}, {"prio": "tief"}]),
            node("Weiche", "switch", 3.2, {"rules": {"values": rules}, "options": {}}),
            pass_on("Sofort"),
        ],
        truth("Weiche", None, "stufe", also=("Tickets",)),
    )
    yield case(
        "join on number and text",
        [
            data("A", [{"id": 1, "a": "x"}]),
            data("B", [{"id": "1", "b": "y"}]),
            node(
                "Join",
                "merge",
                3.1,
                {
                    "mode": "combine",
                    "combineBy": "combineByFields",
                    "fieldsToMatchString": "id",
                    "options": {"disableDotNotation": False},
                },
            ),
            pass_on("Ende"),
        ],
        truth("Join", None, "Ende", also=("A", "B")),
        [Wire("A", "Join"), Wire(START, "B"), Wire("B", "Join", input=1), Wire("Join", "Ende")],
    )
    yield case(
        "empty answer in Japanese",
        [get("一覧取得", "/list"), every("整形", "return { json: { a: 1 } };"), pass_on("通知")],
        truth("一覧取得", None, "整形"),
    )
    yield case(
        "code returns nothing",
        [
            data("Rows", [{"status": "open"}, {"status": "open"}]),
            code("Closed only", "return $input.all().filter((i) => i.json.state === 'open');"),
            pass_on("Archive"),
        ],
        truth("Closed only", None, "Archive"),
    )
    yield case(
        "child returns nothing",
        [data("Anfrage", [{"id": 1}]), call_child("Unterprozess"), pass_on("Danach")],
        truth("Nur neue", None, "Danach", also=("Unterprozess",)),
        child=([node("Nur neue", "filter", 2.2, compare("={{ $json.id }}", "number", "gt", 10))], None),
    )
    yield case(
        "empty list split",
        [
            get("Suche", "/nothing"),
            node("Treffer", "splitOut", 1, {"fieldToSplitOut": "results", "options": {}}),
            pass_on("Anzeigen"),
        ],
        truth("Suche", None, "results", also=("Treffer",)),
    )


def _healthy() -> Iterator[Case]:
    fine = truth(None, None)
    yield case(
        "healthy: null that a default covers",
        [data("In", [{"a": None}, {"a": 3}]), every("Out", "return { json: { a: $json.a ?? 0 } };")],
        fine,
    )
    yield case(
        "healthy: caught on purpose",
        [
            data("In", [{"t": "x"}]),
            every(
                "Try",
                "let v = null;\ntry { v = JSON.parse($json.t); } catch (e) { v = { fallback: true }; }\nreturn { json: { v } };",
            ),
            pass_on("End"),
        ],
        fine,
    )
    yield case(
        "healthy: person called Nan",
        [
            data("Menschen", [{"name": "Nan Goldin", "ort": "Undefined Park"}]),
            expression_set("Karte", {"t": "={{ $json.name }} ({{ $json.ort }})"}),
        ],
        fine,
    )
    yield case(
        "healthy: some rows are filtered",
        [
            data("In", [{"n": 1}, {"n": 9}]),
            node("Groß", "filter", 2.2, compare("={{ $json.n }}", "number", "gt", 5)),
            pass_on("End"),
        ],
        fine,
    )
    yield case(
        "healthy: request may fail but did not",
        [get("Fetch", "/ok", onError="continueRegularOutput"), expression_set("Take", {"t": "={{ $json.total }}"})],
        fine,
    )
    yield case(
        "healthy: loop in three rounds",
        [
            data("In", [{"n": 1}, {"n": 2}, {"n": 3}]),
            node("Loop", "splitInBatches", 3, {"batchSize": 1, "options": {}}),
            expression_set("Step", {"m": "={{ $json.n * 2 }}"}, kind="number"),
            pass_on("Done"),
        ],
        fine,
        [*chain("In", "Loop", "Done"), Wire("Loop", "Step", output=1), Wire("Step", "Loop")],
    )
    yield case(
        "healthy: child with a result",
        [data("In", [{"n": 2}]), call_child("Double"), every("Use", "return { json: { r: $json.d + 1 } };")],
        fine,
        child=([every("Calc", "return { json: { d: $json.n * 2 } };")], None),
    )
    yield case(
        "healthy: zero and empty text",
        [
            data("Konto", [{"saldo": 0, "text": "", "liste": []}]),
            expression_set("Zeile", {"z": "=Saldo {{ $json.saldo }}"}),
            pass_on("End"),
        ],
        fine,
    )
    yield case(
        "healthy: service reports no error",
        [
            data("In", [{"error": None, "errors": [], "ok": True}]),
            every("Out", "return { json: { ok: $json.ok, error: $json.error } };"),
        ],
        fine,
    )
    yield case(
        "healthy: both sides joined",
        [
            data("A", [{"id": 1, "a": "x"}, {"id": 2, "a": "y"}]),
            data("B", [{"id": 1, "b": "u"}, {"id": 2, "b": "v"}]),
            node(
                "Join",
                "merge",
                3.1,
                {"mode": "combine", "combineBy": "combineByFields", "fieldsToMatchString": "id", "options": {}},
            ),
            every("Row", "return { json: { t: $json.a + $json.b } };"),
        ],
        fine,
        [Wire("A", "Join"), Wire(START, "B"), Wire("B", "Join", input=1), Wire("Join", "Row")],
    )
    yield case(
        "healthy: conditional text",
        [
            data("In", [{"vip": True, "titel": None}]),
            expression_set("Gruß", {"t": "={{ $json.titel ? $json.titel : 'Guten Tag' }}"}),
        ],
        fine,
    )
    yield case(
        "healthy: aggregate and count",
        [
            data("In", [{"m": "a"}, {"m": "b"}]),
            node(
                "Agg",
                "aggregate",
                1,
                {"fieldsToAggregate": {"fieldToAggregate": [{"fieldToAggregate": "m"}]}, "options": {}},
            ),
            expression_set("N", {"n": "={{ $json.m.length }}"}, kind="number"),
        ],
        fine,
    )
    yield case(
        "healthy: dates formatted",
        [
            data("In", [{"d": "2026-02-03"}]),
            expression_set("F", {"f": "={{ DateTime.fromISO($json.d).toFormat('dd.MM.yyyy') }}"}),
            every("G", "return { json: { y: $json.f.slice(6) } };"),
        ],
        fine,
    )
    yield case(
        "healthy: a short wait",
        [
            data("In", [{"n": 1}]),
            node("Pause", "wait", 1.1, {"resume": "timeInterval", "amount": 1, "unit": "seconds"}),
            pass_on("End"),
        ],
        fine,
    )
    yield case(
        "healthy: errors branch unused",
        [
            get("Fetch", "/ok", onError="continueErrorOutput"),
            expression_set("Use", {"t": "={{ $json.total }}"}),
            expression_set("Alarm", {"m": "=failed: {{ $json.error }}"}),
        ],
        fine,
        [Wire("Fetch", "Use"), Wire("Fetch", "Alarm", output=1)],
    )
    yield case(
        "healthy: yes and no",
        [
            data("In", [{"n": 1}, {"n": 9}]),
            node("Big?", "if", 2.2, compare("={{ $json.n }}", "number", "gt", 5)),
            pass_on("Yes"),
            pass_on("No"),
        ],
        fine,
        [Wire("In", "Big?"), Wire("Big?", "Yes"), Wire("Big?", "No", output=1)],
    )
    yield case(
        "healthy: page read on purpose",
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
            every("Up", "return { json: { t: $json.title.toUpperCase() } };"),
        ],
        fine,
    )
    yield case(
        "healthy: answer written",
        [
            data("In", [{"a": 1}]),
            node(
                "Answer",
                "respondToWebhook",
                1.1,
                {"respondWith": "json", "responseBody": "={{ JSON.stringify($json) }}", "options": {}},
            ),
        ],
        fine,
    )
