"""Later cases of quiet faults, and healthy executions."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import expression_set
from .fresh_parts import call_child, case, compare, data, every, get, truth
from .shapes import Case


def later_quiet() -> Iterator[Case]:
    yield from _quiet()
    yield from _healthy()


def _quiet() -> Iterator[Case]:
    yield case(
        "sum as a joined text",
        [
            data("Rechnung", [{"a": "5", "b": "7"}]),
            expression_set("Gesamt", {"s": "={{ $json.a + $json.b + $json.rabatt }}"}),
            pass_on("Ende"),
        ],
        truth("Gesamt", None, "rabatt", also=("Rechnung",)),
    )
    yield case(
        "body of a mail with a list of objects",
        [
            data("Korb", [{"waren": [{"n": "Tee"}, {"n": "Milch"}]}]),
            every("Mail", "return { json: { text: 'Waren: ' + $json.waren } };"),
            pass_on("Senden"),
        ],
        truth("Mail", None, "waren", also=("Korb",)),
    )
    yield case(
        "filter compares another spelling of a state",
        [
            data("Aufgaben", [{"status": "erledigt "}, {"status": "erledigt "}]),
            node("Fertige", "filter", 2.2, compare("={{ $json.status }}", "string", "equals", "erledigt")),
            pass_on("Archiv"),
        ],
        truth("Fertige", None, "Archiv", also=("Aufgaben",)),
    )
    yield case(
        "if on a field that is one level deeper",
        [
            data("Nutzer", [{"profil": {"aktiv": True}}, {"profil": {"aktiv": True}}]),
            node("Aktiv?", "if", 2.2, compare("={{ $json.aktiv }}", "boolean", "true", "")),
            pass_on("Ja"),
            pass_on("Nein"),
        ],
        truth("Aktiv?", None, "aktiv", also=("Nutzer",)),
        [*chain("Nutzer", "Aktiv?", "Ja"), Wire("Aktiv?", "Nein", output=1)],
    )
    yield case(
        "average of a text and a number",
        [
            data("Werte", [{"w": 3}, {"w": "n/a"}]),
            code(
                "Mittel",
                "const v = $input.all().map((i) => i.json.w);\nreturn [{ json: { m: v.reduce((a, b) => a + Number(b), 0) / v.length } }];",
            ),
            pass_on("Ende"),
        ],
        truth("Werte", None, "w", also=("Mittel",)),
    )
    yield case(
        "time-out that went on",
        [
            data("Start hier", [{"a": 1}]),
            get("Langsam", "/slow", options={"timeout": 500}, onError="continueRegularOutput"),
            pass_on("Ende"),
        ],
        truth("Langsam", None),
    )
    yield case(
        "reminder on an invalid day",
        [
            data("Termine", [{"tag": "2026-13-45"}]),
            expression_set("Erinnerung", {"t": "=Am {{ DateTime.fromISO($json.tag).toFormat('dd.MM.') }}"}),
            pass_on("Ende"),
        ],
        truth("Termine", None, "tag", also=("Erinnerung",)),
    )
    yield case(
        "child whose Set node reads a lost name",
        [data("Eltern", [{"name": "Ada"}]), call_child("Karte"), pass_on("Ende")],
        truth("Text", None, "vorname", also=("Eltern",)),
        child=([expression_set("Text", {"t": "=Liebe {{ $json.vorname }}"}, keep=False)], None),
    )
    yield case(
        "swallowed on the error output, nobody told",
        [
            data("Nummern", [{"n": 1}]),
            get("Abruf", "/status/404", onError="continueErrorOutput"),
            pass_on("Gut"),
        ],
        truth("Abruf", None, "404"),
        [*chain("Nummern", "Abruf", "Gut")],
    )


def _healthy() -> Iterator[Case]:
    fine = truth(None, None)
    yield case(
        "healthy: null is written on purpose",
        [data("In", [{"a": 1}]), expression_set("Leeren", {"b": "={{ null }}"}), pass_on("Ende")],
        fine,
    )
    yield case(
        "healthy: empty list is fine",
        [get("Suche", "/nothing"), expression_set("Zahl", {"n": "={{ $json.count }}"}, kind="number"), pass_on("Ende")],
        fine,
    )
    yield case(
        "healthy: retried once",
        [
            get("Wackelig", "/flaky/later", retryOnFail=True, alwaysOutputData=False),
            expression_set("T", {"t": "={{ $json.total }}"}),
        ],
        fine,
    )
    yield case(
        "healthy: switched off in the middle",
        [data("In", [{"a": 1}]), {**pass_on("Aus"), "disabled": True}, expression_set("T", {"t": "={{ $json.a }}"})],
        fine,
    )
    yield case(
        "healthy: guard that holds",
        [
            data("In", [{"m": "a@b.c", "x": None}]),
            every("Ok", "if (!$json.m.includes('@')) throw new Error('bad');\nreturn { json: $json };"),
            pass_on("Ende"),
        ],
        fine,
    )
    yield case(
        "healthy: text of an error in a log",
        [
            data("Log", [{"zeile": "TypeError: Cannot read properties of undefined", "stufe": "error"}]),
            node("Nur Fehler", "filter", 2.2, compare("={{ $json.stufe }}", "string", "equals", "error")),
            expression_set("Text", {"t": "={{ $json.zeile }}"}),
        ],
        fine,
    )
    yield case(
        "healthy: everything goes one way, the other is for alarms",
        [
            data("In", [{"ok": True}, {"ok": True}]),
            node("Ok?", "if", 2.2, compare("={{ $json.ok }}", "boolean", "equals", True)),
            pass_on("Weiter"),
        ],
        fine,
    )
    yield case(
        "healthy: optional names in a Set node",
        [
            data("In", [{"n": "A"}, {"n": "B", "z": "C"}]),
            expression_set("Name", {"v": "={{ [$json.n, $json.z].filter(Boolean).join(' ') }}"}),
            pass_on("Ende"),
        ],
        fine,
    )
    yield case(
        "healthy: limited to one",
        [
            data("In", [{"n": 1}, {"n": 2}]),
            node("Eins", "limit", 1, {"maxItems": 1}),
            every("T", "return { json: { t: $json.n.toFixed(1) } };"),
        ],
        fine,
    )
    yield case(
        "healthy: service tells of errors of the past",
        [
            get("Profil", "/profile"),
            expression_set("N", {"n": "={{ $json.user.name }}", "rollen": "={{ $json.user.roles.length }}"}),
            pass_on("Ende"),
        ],
        fine,
    )
    yield case(
        "healthy: items counted in code",
        [
            data("In", [{"s": "a", "x": None}, {"s": "b"}]),
            code("Zahl", "const n = $input.all().filter((i) => i.json.x).length;\nreturn [{ json: { n } }];"),
        ],
        fine,
    )
    yield case(
        "healthy: child called for each item",
        [data("In", [{"n": 1}, {"n": 2}]), call_child("Kind"), pass_on("Ende")],
        fine,
        child=([expression_set("Plus", {"p": "={{ $json.n + 1 }}"}, kind="number")], None),
    )
