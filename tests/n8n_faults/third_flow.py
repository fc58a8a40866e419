"""Third cases of services, conditions and quiet faults, and healthy executions with much that looks like one."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import SERVICE, START, expression_set
from .fresh_parts import call_child, case, compare, data, every, get, truth
from .shapes import Case


def third_flow() -> Iterator[Case]:
    yield from _failing()
    yield from _quiet()
    yield from _healthy()


def _failing() -> Iterator[Case]:
    post = {"method": "POST", "sendBody": True}
    yield case(
        "product of a word",
        [
            data("Zeilen", [{"menge": 2, "preis": "auf Anfrage"}]),
            expression_set("Betrag", {"betrag": "={{ $json.menge * $json.preis }}"}, kind="number"),
        ],
        truth("Zeilen", None, "preis", also=("Betrag",)),
    )
    yield case(
        "german date in a condition",
        [
            data("Verträge", [{"ende": "31.12.2026"}]),
            node("Läuft?", "if", 2.2, compare("={{ $json.ende }}", "dateTime", "after", "2026-01-01T00:00:00")),
            pass_on("Ja"),
        ],
        truth("Verträge", "Läuft?", "ende", also=("Läuft?",)),
    )
    yield case(
        "decimal comma in a filter",
        [
            data("Werte", [{"w": 3}, {"w": "12,5"}]),
            node("Hoch", "filter", 2.2, compare("={{ $json.w }}", "number", "gt", 5)),
        ],
        truth("Werte", "Hoch", "w", "12,5"),
    )
    yield case(
        "unauthorized in a loop",
        [
            data("Seiten", [{"n": 1, "token": None}, {"n": 2, "token": None}]),
            node("Loop", "splitInBatches", 3, {"batchSize": 1, "options": {}}),
            get("Seite", "/status/401"),
            pass_on("Fertig"),
        ],
        truth(None, "Seite", "401"),
        [*chain("Seiten", "Loop", "Fertig"), Wire("Loop", "Seite", output=1), Wire("Seite", "Loop")],
    )
    yield case(
        "date made in the wrong form",
        [
            data("Fälle", [{"tag": 1, "monat": 2}]),
            every("Datum", "return { json: { datum: `${$json.tag}.${$json.monat}.2026` } };"),
            get(
                "Melden", "/dated", **post, specifyBody="json", jsonBody="={{ JSON.stringify({ datum: $json.datum }) }}"
            ),
        ],
        truth("Datum", "Melden", "datum", also=("Melden",)),
    )
    yield case(
        "customer missing in one body",
        [
            data("Aufträge", [{"nr": 1, "kunde": {"nr": 5}}, {"nr": 2}]),
            get(
                "Anlegen",
                "/ok",
                **post,
                specifyBody="json",
                jsonBody='={ "nr": {{ $json.nr }}, "kunde": {{ $json.kunde.nr }} }',
            ),
        ],
        truth("Aufträge", "Anlegen", "kunde", also=("Anlegen",)),
    )
    yield case(
        "tried again and again",
        [data("Start hier", [{"x": None}]), get("Wackelt", "/status/503", retryOnFail=True)],
        truth(None, "Wackelt", "503"),
    )
    yield case(
        "third user of a loop",
        [
            data("Leute", [{"id": 1}, {"id": 2}, {"id": "admin"}]),
            node("Je zwei", "splitInBatches", 3, {"batchSize": 2, "options": {}}),
            get("Profil", "", url=f"={SERVICE}/users/{{{{ $json.id }}}}"),
            pass_on("Fertig"),
        ],
        truth("Leute", "Profil", "admin", also=("Profil",)),
        [*chain("Leute", "Je zwei", "Fertig"), Wire("Je zwei", "Profil", output=1), Wire("Profil", "Je zwei")],
    )
    yield case(
        "wrong address behind a branch",
        [
            data("Kunden", [{"vip": True, "notiz": None}]),
            node("Vip?", "if", 2.2, compare("={{ $json.vip }}", "boolean", "equals", True)),
            get("Bonus", "/status/404"),
            pass_on("Sonst"),
        ],
        truth(None, "Bonus", "404"),
        [*chain("Kunden", "Vip?", "Bonus"), Wire("Vip?", "Sonst", output=1)],
    )
    yield case(
        "text of a page has no price",
        [
            get("Seite", "/html", options={"response": {"response": {"responseFormat": "text"}}}),
            node(
                "Preis",
                "html",
                1.2,
                {
                    "operation": "extractHtmlContent",
                    "extractionValues": {"values": [{"key": "preis", "cssSelector": "#preis"}]},
                    "options": {},
                },
            ),
            every(
                "Zahl",
                "const n = parseFloat($json.preis);\nif (Number.isNaN(n)) throw new Error('kein Preis');\nreturn { json: { n } };",
            ),
        ],
        truth("Preis", "Zahl", "preis", also=("Seite",)),
    )
    yield case(
        "one branch drops, the other does not, joined by append",
        [
            data("Alle", [{"a": 1, "mail": "x@y.z"}, {"a": 2, "mail": "u@v.w"}]),
            node("Eins?", "if", 2.2, compare("={{ $json.a }}", "number", "equals", 1)),
            every("Kurz", "return { json: { a: $json.a } };"),
            expression_set("Lang", {"l": "1"}),
            every("Domäne", "return { json: { d: $json.mail.split('@')[1] } };"),
        ],
        truth("Kurz", "Domäne", "mail"),
        [*chain("Alle", "Eins?", "Kurz", "Domäne"), Wire("Eins?", "Lang", output=1), Wire("Lang", "Domäne")],
    )


def _quiet() -> Iterator[Case]:
    yield case(
        "capital letter in a filter",
        [
            data("Aufgaben", [{"status": "offen"}, {"status": "offen"}]),
            node("Offene", "filter", 2.2, compare("={{ $json.Status }}", "string", "equals", "offen")),
            pass_on("Erinnern"),
        ],
        truth("Offene", None, "Status", also=("Aufgaben",)),
    )
    yield case(
        "keys with a blank",
        [
            data("A", [{"k": "x "}]),
            data("B", [{"k": "x", "b": 1}]),
            node(
                "Join",
                "merge",
                3.1,
                {"mode": "combine", "combineBy": "combineByFields", "fieldsToMatchString": "k", "options": {}},
            ),
            pass_on("Ende"),
        ],
        truth("Join", None, "Ende", also=("A", "B")),
        [Wire("A", "Join"), Wire(START, "B"), Wire("B", "Join", input=1), Wire("Join", "Ende")],
    )
    yield case(
        "helper fails and the code goes on",
        [
            data("Rohdaten", [{"w": "a"}, {"w": None}]),
            every(
                "Säubern",
                "const clean = (t) => t.trim();\nreturn { json: { w: clean($json.w) } };",
                onError="continueRegularOutput",
            ),
            pass_on("Ende"),
        ],
        truth("Rohdaten", None, "w"),
    )
    yield case(
        "undefined by a helper",
        [
            data("Leute", [{"vorname": "Eva", "nachname": "Kurz"}]),
            every("Name", "const full = (p) => `${p.vorname} ${p.name}`;\nreturn { json: { n: full($json) } };"),
            pass_on("Ende"),
        ],
        truth("Name", None, "undefined", also=("Leute",)),
    )
    yield case(
        "invalid date in a text",
        [
            data("Termine", [{"am": "nächste Woche"}]),
            expression_set("Text", {"t": "=Termin: {{ DateTime.fromISO($json.am).toFormat('dd.MM.yyyy') }}"}),
            pass_on("Ende"),
        ],
        truth("Termine", None, "am", also=("Text",)),
    )
    yield case(
        "hole in an address that works",
        [
            data("Suche", [{"wort": "Tee"}]),
            get("Finden", "", url=f"={SERVICE}/ok?q={{{{ $json.begriff }}}}"),
            pass_on("Ende"),
        ],
        truth("Finden", None, "begriff", also=("Suche",)),
    )
    yield case(
        "sum of texts by a helper",
        [
            data("Posten", [{"p": "5 EUR"}, {"p": "7 EUR"}]),
            code(
                "Summe",
                "const zahl = (t) => Number(t);\nconst s = $input.all().reduce((a, i) => a + zahl(i.json.p), 0);\nreturn [{ json: { s } }];",
            ),
            pass_on("Ende"),
        ],
        truth("Posten", None, "p", also=("Summe",)),
    )
    yield case(
        "list of a search is empty, in a child",
        [data("Frage", [{"q": "x"}]), call_child("Suche"), pass_on("Danach")],
        truth("Treffer", None, "Danach", also=("Suche", "Liste")),
        child=(
            [get("Liste", "/nothing"), node("Treffer", "splitOut", 1, {"fieldToSplitOut": "results", "options": {}})],
            None,
        ),
    )


def _healthy() -> Iterator[Case]:
    fine = truth(None, None)
    yield case(
        "healthy: fallback in a catch",
        [
            data("In", [{"t": "{"}, {"t": "{}"}]),
            every(
                "Try",
                "const parse = (t) => {\n  try { return JSON.parse(t); } catch { return null; }\n};\nreturn { json: { ok: parse($json.t) !== null } };",
            ),
            pass_on("Ende"),
        ],
        fine,
    )
    yield case(
        "healthy: one item lacks an optional title",
        [
            data("In", [{"n": "A", "titel": "Dr."}, {"n": "B"}]),
            expression_set("Name", {"t": "={{ $json.titel ?? '' }} {{ $json.n }}"}),
            pass_on("Ende"),
        ],
        fine,
    )
    yield case(
        "healthy: some have no second line",
        [
            data("In", [{"a": "x", "b": "y"}, {"a": "z"}]),
            expression_set("Zeile", {"t": "=1: {{ $json.a }} 2: {{ $json.b }}"}),
            pass_on("Ende"),
        ],
        fine,
    )
    yield case(
        "healthy: nobody called null",
        [
            data("In", [{"name": "Null", "firma": "NaN GmbH"}]),
            every("Brief", "return { json: { t: 'An ' + $json.name + ', ' + $json.firma } };"),
            pass_on("Ende"),
        ],
        fine,
    )
    yield case(
        "healthy: length of a list in a condition",
        [
            data("In", [{"l": [1]}, {"l": []}]),
            node("Voll?", "if", 2.2, compare("={{ $json.l.length }}", "number", "gt", 0)),
            pass_on("Ja"),
            pass_on("Nein"),
        ],
        fine,
        [Wire("In", "Voll?"), Wire("Voll?", "Ja"), Wire("Voll?", "Nein", output=1)],
    )
    yield case(
        "healthy: field that may be missing is asked for",
        [
            data("In", [{"a": {"b": "x"}}, {"c": 1}]),
            node("Da?", "if", 2.2, compare("={{ $json.a?.b }}", "string", "exists", "")),
            pass_on("Ja"),
            pass_on("Nein"),
        ],
        fine,
        [Wire("In", "Da?"), Wire("Da?", "Ja"), Wire("Da?", "Nein", output=1)],
    )
    yield case(
        "healthy: code writes null for what is not known",
        [
            data("In", [{"n": "7"}, {"n": "?"}]),
            every("Zahl", "const n = Number($json.n);\nreturn { json: { n: Number.isNaN(n) ? null : n } };"),
            pass_on("Ende"),
        ],
        fine,
    )
    yield case(
        "healthy: a date of today",
        [
            data("In", [{"a": 1}]),
            expression_set("Jetzt", {"t": "=Stand: {{ $now.toFormat('yyyy') }}"}),
            pass_on("Ende"),
        ],
        fine,
    )
    yield case(
        "healthy: rows joined, some alone",
        [
            data("A", [{"k": 1, "a": "x"}, {"k": 2, "a": "y"}]),
            data("B", [{"k": 1, "b": "u"}]),
            node(
                "Join",
                "merge",
                3.1,
                {
                    "mode": "combine",
                    "combineBy": "combineByFields",
                    "fieldsToMatchString": "k",
                    "joinMode": "enrichInput1",
                    "options": {},
                },
            ),
            every("Zeile", "return { json: { t: $json.a + ($json.b ?? '') } };"),
        ],
        fine,
        [Wire("A", "Join"), Wire(START, "B"), Wire("B", "Join", input=1), Wire("Join", "Zeile")],
    )
    yield case(
        "healthy: duplicates removed",
        [
            data("In", [{"k": 1}, {"k": 1}, {"k": 2}]),
            node("Einmal", "removeDuplicates", 2, {"compare": "selectedFields", "fieldsToCompare": "k", "options": {}}),
            every("T", "return { json: { k: $json.k.toFixed(0) } };"),
        ],
        fine,
    )
    yield case(
        "healthy: error word in data",
        [
            data("In", [{"error": "keiner", "message": "alles gut"}]),
            expression_set("T", {"t": "={{ $json.message }}"}),
            pass_on("Ende"),
        ],
        fine,
    )
    yield case(
        "healthy: child writes a template",
        [data("In", [{"n": "Ada"}]), call_child("Kind"), pass_on("Ende")],
        fine,
        child=([expression_set("Text", {"t": "=Hallo {{ $json.n }}!"})], None),
    )
