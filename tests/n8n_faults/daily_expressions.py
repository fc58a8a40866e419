"""Daily cases of expressions and of nodes that reshape lists; all of them fail."""

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import START, expression_set
from .fresh_parts import call_child, case, compare, data, every, get, truth
from .shapes import Case


def daily_expressions() -> Iterator[Case]:
    yield from _conditions()
    yield from _fields()
    yield from _pairs()
    yield from _lists()


def _conditions() -> Iterator[Case]:
    yield case(
        "text from a sheet in a number test",
        [
            data("Tabelle", [{"alter": 30}, {"alter": "vierzig"}]),
            node("Erwachsen?", "if", 2.2, compare("={{ $json.alter }}", "number", "gte", 18)),
            pass_on("Ja"),
        ],
        truth("Tabelle", "Erwachsen?", "alter", "vierzig"),
    )
    yield case(
        "filter on a date that is none",
        [
            data("Fristen", [{"bis": "2026-12-01"}, {"bis": "bald"}]),
            node("Offen", "filter", 2.2, compare("={{ $json.bis }}", "dateTime", "after", "2026-01-01")),
        ],
        truth("Fristen", "Offen", "bis"),
    )
    rules = [
        {
            "outputKey": k,
            "renameOutput": True,
            "conditions": compare("={{ $json.art.toLowerCase() }}", "string", "equals", k)["conditions"],
        }
        for k in ("kauf", "miete")
    ]
    yield case(
        "switch calls a method of null",
        [
            data("Verträge", [{"art": "Kauf"}, {"art": None}]),
            node("Weiche", "switch", 3.2, {"rules": {"values": rules}, "options": {}}),
            pass_on("A"),
        ],
        truth("Verträge", None, "art"),
    )
    yield case(
        "boolean test gets an object",
        [
            get("Flags", "/profile"),
            node("Enabled?", "if", 2.2, compare("={{ $json.user }}", "boolean", "equals", True)),
            pass_on("On"),
        ],
        truth("Flags", "Enabled?", "user", also=("Enabled?",)),
    )
    yield case(
        "list test gets nothing",
        [
            data("Körbe", [{"waren": ["a"]}, {"sorte": "b"}]),
            node("Voll?", "if", 2.2, compare("={{ $json.waren }}", "array", "contains", "a")),
            pass_on("Ja"),
        ],
        truth("Körbe", "Voll?", "waren", also=("Voll?",)),
    )


def _fields() -> Iterator[Case]:
    yield case(
        "number field from a word",
        [
            data("Import", [{"preis": "12"}, {"preis": "gratis"}]),
            expression_set("Zahl", {"preis": "={{ $json.preis }}"}, kind="number"),
        ],
        truth("Import", "Zahl", "preis", "gratis"),
    )
    yield case(
        "object field from a text",
        [
            data("Meta", [{"meta": "k=v"}]),
            expression_set("Objekt", {"meta": "={{ $json.meta }}"}, kind="object"),
        ],
        truth("Meta", "Objekt", "meta"),
    )
    yield case(
        "iso date becomes null",
        [
            data("Events", [{"when": "5 o'clock"}]),
            expression_set("Iso", {"iso": "={{ DateTime.fromISO($json.when).toISO() }}"}),
            every("Day", "return { json: { day: $json.iso.slice(0, 10) } };"),
        ],
        truth("Events", "Day", "when", also=("Iso",)),
    )
    yield case(
        "sharp s",
        [
            data("Anschriften", [{"Straße": "Ring 1", "Ort": "Bonn"}]),
            every("Adresse", "return { json: { a: $json['Strasse'].trim() + $json.Ort } };"),
        ],
        truth("Adresse", "Adresse", "Strasse", also=("Anschriften",)),
    )
    yield case(
        "nested Japanese name renamed by a service change",
        [
            data("API応答", [{"得意先": {"名称": "山本商店"}}]),
            expression_set("整形", {"宛先": "={{ $json.顧客.名称 }}"}),
            every("発送", "return { json: { label: $json.宛先.trim() } };"),
        ],
        truth("整形", "発送", "顧客", also=("API応答",)),
    )
    yield case(
        "raw JSON made by an expression",
        [
            data("Notiz", [{"text": 'sagt "hallo"'}]),
            node("Roh", "set", 3.4, {"mode": "raw", "jsonOutput": '={ "t": "{{ $json.text }}" }', "options": {}}),
        ],
        truth("Notiz", "Roh", "text", also=("Roh",)),
    )
    yield case(
        "expression with a stray dot",
        [data("In", [{"a": None}]), expression_set("Out", {"b": "={{ $json.a. }}"})],
        truth(None, "Out"),
    )
    yield case(
        "date format of a missing date",
        [
            data("Buch", [{"titel": "A", "erschienen": "2020-01-01"}, {"titel": "B"}]),
            node(
                "Datum",
                "dateTime",
                2,
                {
                    "operation": "formatDate",
                    "date": "={{ $json.erschienen }}",
                    "format": "yyyy",
                    "outputFieldName": "jahr",
                    "options": {},
                },
            ),
            every("Kurz", "return { json: { j: $json.jahr.slice(2) } };"),
        ],
        truth("Buch", None, "erschienen", also=("Datum",)),
    )
    yield case(
        "webhook field without body",
        [
            expression_set("Lesen", {"name": "={{ $json.from }}"}, keep=False),
            every("Gruß", "return { json: { t: 'Hallo ' + $json.name.toUpperCase() } };"),
        ],
        truth("Lesen", "Gruß", "from", also=(START,)),
    )
    yield case(
        "wait for nothing",
        [
            data("Plan", [{"minuten": "drei"}]),
            node("Pause", "wait", 1.1, {"resume": "timeInterval", "amount": "={{ $json.minuten }}", "unit": "seconds"}),
        ],
        truth("Plan", "Pause", "minuten", also=("Pause",)),
    )


def _pairs() -> Iterator[Case]:
    yield case(
        "pair lost in an aggregate",
        [
            data("Posten", [{"nr": 1, "preis": 2}, {"nr": 2, "preis": 3}]),
            node("Sammeln", "aggregate", 1, {"aggregate": "aggregateAllItemData", "options": {}}),
            expression_set("Zeile", {"nr": "={{ $('Posten').item.json.nr }}"}),
        ],
        truth("Sammeln", "Zeile", "Posten", also=("Zeile",)),
    )
    yield case(
        "pair lost in code",
        [
            data("Quelle", [{"id": 1}, {"id": 2}]),
            code("Neu", "return [{ json: { x: 1 } }, { json: { x: 2 } }, { json: { x: 3 } }];"),
            expression_set("Nutzen", {"id": "={{ $('Quelle').item.json.id }}"}),
        ],
        truth("Neu", "Nutzen", "pair", also=("Nutzen",)),
    )
    yield case(
        "node of the other branch in a Set",
        [
            data("Kunde", [{"vip": False, "name": "A"}]),
            node("Vip?", "if", 2.2, compare("={{ $json.vip }}", "boolean", "equals", True)),
            expression_set("Rabatt", {"prozent": "10"}),
            expression_set("Brief", {"text": "={{ 'Rabatt ' + $('Rabatt').item.json.prozent }}"}),
        ],
        truth("Vip?", "Brief", "Rabatt", also=("Brief",)),
        [*chain("Kunde", "Vip?", "Rabatt", "Brief"), Wire("Vip?", "Brief", output=1)],
    )
    yield case(
        "node name with another spelling",
        [data("Lade Daten", [{"a": 1}]), expression_set("Zeig", {"a": "={{ $('Lade daten').item.json.a }}"})],
        truth(None, "Zeig", "Lade daten"),
    )


def _lists() -> Iterator[Case]:
    yield case(
        "split of a field one level too high",
        [
            data("Antwort", [{"data": {"items": [{"a": 1}]}}]),
            node("Aufteilen", "splitOut", 1, {"fieldToSplitOut": "items", "options": {}}),
            every("Nutzen", "return { json: { a: $json.a.toFixed(1) } };"),
        ],
        truth("Aufteilen", None, "items", also=("Antwort",)),
    )
    yield case(
        "sum of a field that nobody has",
        [
            data("Verkauf", [{"umsatz": 5}, {"umsatz": 7}]),
            node(
                "Summe",
                "summarize",
                1,
                {"fieldsToSummarize": {"values": [{"aggregation": "sum", "field": "Umsatz"}]}, "options": {}},
            ),
        ],
        truth("Summe", "Summe", "Umsatz", also=("Verkauf",)),
    )
    yield case(
        "aggregated under another name",
        [
            data("Mails", [{"mail": "a@b.c"}, {"mail": "c@d.e"}]),
            node(
                "Bündeln",
                "aggregate",
                1,
                {
                    "fieldsToAggregate": {
                        "fieldToAggregate": [
                            {"fieldToAggregate": "mail", "renameField": True, "outputFieldName": "mails"}
                        ]
                    },
                    "options": {},
                },
            ),
            every("Verteiler", "return { json: { to: $json.mail.join(',') } };"),
        ],
        truth("Bündeln", "Verteiler", "mail"),
    )
    yield case(
        "joined rows lack the price",
        [
            data("Artikel", [{"sku": "A", "name": "Topf"}, {"sku": "B", "name": "Pfanne"}]),
            data("Preise", [{"sku": "A", "preis": 9}]),
            node(
                "Join",
                "merge",
                3.1,
                {
                    "mode": "combine",
                    "combineBy": "combineByFields",
                    "fieldsToMatchString": "sku",
                    "joinMode": "enrichInput1",
                    "options": {},
                },
            ),
            every("Etikett", "return { json: { t: $json.preis.toFixed(2) } };"),
        ],
        truth("Preise", "Etikett", "preis", also=("Join",)),
        [Wire("Artikel", "Join"), Wire(START, "Preise"), Wire("Preise", "Join", input=1), Wire("Join", "Etikett")],
    )
    yield case(
        "join without a key",
        [
            data("L", [{"id": 1}]),
            data("R", [{"id": 1}]),
            node(
                "Join",
                "merge",
                3.1,
                {"mode": "combine", "combineBy": "combineByFields", "fieldsToMatchString": "", "options": {}},
            ),
            pass_on("End"),
        ],
        truth(None, "Join"),
        [Wire("L", "Join"), Wire(START, "R"), Wire("R", "Join", input=1), Wire("Join", "End")],
    )
    yield case(
        "split items lose the head",
        [
            data("Rechnung", [{"kunde": "Lenz", "zeilen": [{"s": 1}, {"s": 2}]}]),
            node("Zeilen", "splitOut", 1, {"fieldToSplitOut": "zeilen", "options": {}}),
            expression_set("Stempel", {"ok": "1"}),
            every("Buchung", "return { json: { k: $json.kunde.toUpperCase(), s: $json.s } };"),
        ],
        truth("Zeilen", "Buchung", "kunde"),
    )
    yield case(
        "children per item, one fails",
        [
            data("Themen", [{"titel": "A"}, {"titel": None}]),
            node(
                "Je Thema",
                "executeWorkflow",
                1.2,
                {
                    "workflowId": {
                        "__rl": True,
                        "mode": "id",
                        "value": call_child("x")["parameters"]["workflowId"]["value"],
                    },
                    "mode": "each",
                    "options": {},
                },
            ),
        ],
        truth("Themen", "Slug", "titel"),
        child=([every("Slug", "return { json: { slug: $json.titel.replaceAll(' ', '-') } };")], None),
    )
    yield case(
        "stop with a reason that is lost",
        [
            data("Prüfung", [{"grund": "zu alt"}]),
            expression_set("Knapp", {"ok": "nein"}, keep=False),
            node("Halt", "stopAndError", 1, {"errorMessage": "={{ 'Abgelehnt: ' + $json.grund }}"}),
        ],
        truth("Knapp", "Halt", "grund", short=("Halt",)),
    )
