"""Later cases of code and of checks that it makes."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import expression_set
from .fresh_parts import call_child, case, compare, data, every, get, truth
from .shapes import Case


def later_code() -> Iterator[Case]:
    yield from _reading()
    yield from _far_away()


def _reading() -> Iterator[Case]:
    yield case(
        "comparator meets a null",
        [
            data("Staff", [{"name": "Zoe"}, {"name": None}, {"name": "Al"}]),
            code(
                "Sorted",
                "const all = $input.all();\nall.sort((a, b) => a.json.name.localeCompare(b.json.name));\nreturn all;",
            ),
        ],
        truth("Staff", "Sorted", "name"),
    )
    yield case(
        "two reads on one line, the second is null",
        [
            data("Paare", [{"links": {"x": 1}, "rechts": None, "mitte": None}]),
            every("Abstand", "return { json: { d: $json.links.x - $json.rechts.x } };"),
        ],
        truth("Paare", "Abstand", "rechts"),
    )
    yield case(
        "tree with a missing child list",
        [
            data("Baum", [{"name": "root", "kinder": [{"name": "a", "kinder": []}, {"name": "b"}]}]),
            code(
                "Zählen",
                "function count(k) {\n  let n = 1;\n  for (const c of k.kinder) n += count(c);\n  return n;\n}\nreturn [{ json: { n: count($input.first().json) } }];",
            ),
        ],
        truth("Baum", "Zählen", "kinder"),
    )
    yield case(
        "flat list of lists",
        [
            data(
                "Teams",
                [{"team": "A", "mitglieder": [{"mail": "a@b.c"}]}, {"team": "B", "mitglieder": [{"mail": None}]}],
            ),
            code(
                "Mails",
                "return $input.all().flatMap((t) => t.json.mitglieder.map((m) => ({ json: { mail: m.mail.toLowerCase() } })));",
            ),
        ],
        truth("Teams", "Mails", "mail"),
    )
    yield case(
        "word in used on a text",
        [
            data("Werte", [{"wert": {"a": 1}}, {"wert": "a"}]),
            every("Hat a", "return { json: { hat: 'a' in $json.wert } };"),
        ],
        truth("Werte", "Hat a", "wert"),
    )
    yield case(
        "spread of a missing list",
        [
            data("Messreihe", [{"punkte": [1, 5]}, {"punkt": [2]}]),
            code(
                "Maxima",
                "const out = [];\nfor (const item of $input.all()) {\n  out.push({ json: { max: Math.max(...item.json.punkte) } });\n}\nreturn out;",
            ),
        ],
        truth("Messreihe", "Maxima", "punkte"),
    )
    yield case(
        "list of a negative length",
        [data("Plan", [{"tage": -2}]), every("Felder", "return { json: { f: new Array($json.tage).fill(0) } };")],
        truth("Plan", "Felder", "tage"),
    )
    yield case(
        "date in a local format by luxon",
        [
            data("Rechnungen", [{"datum": "3. Mai 2026"}]),
            every(
                "Monat",
                "const d = DateTime.fromFormat($json.datum, 'dd.MM.yyyy');\nreturn { json: { m: d.toISO().slice(0, 7) } };",
            ),
        ],
        truth("Rechnungen", "Monat", "datum"),
    )
    yield case(
        "first item by the old name",
        [
            data("Kopf", [{"titel": None}]),
            expression_set("Zwischen", {"z": "1"}),
            code(
                "Titel",
                "const titel = items[0].json.titel;\nconst kurz = titel.substring(0, 5);\nreturn [{ json: { kurz } }];",
            ),
        ],
        truth("Kopf", "Titel", "titel"),
    )
    yield case(
        "row by row through another node",
        [
            data("Namen", [{"n": "A"}, {"n": None}]),
            expression_set("Leer", {"x": "1"}, keep=False),
            code(
                "Zeilen",
                "return $input.all().map((item, i) => {\n  const name = $('Namen').all()[i].json.n;\n  return { json: { z: name.charAt(0) } };\n});",
            ),
        ],
        truth("Namen", "Zeilen", "n"),
    )
    yield case(
        "paired item of another node",
        [
            data("Original", [{"preis": {"netto": 5}}, {"preis": None}]),
            expression_set("Nur Nummer", {"nr": "={{ $itemIndex }}"}, keep=False),
            every(
                "Brutto", "const preis = $('Original').item.json.preis;\nreturn { json: { b: preis.netto * 1.19 } };"
            ),
        ],
        truth("Original", "Brutto", "preis"),
    )
    yield case(
        "counted words of a number",
        [
            data("Artikel", [{"text": "ein Satz"}, {"text": 2026}]),
            every("Wörter", "const words = (t) => t.split(/\\s+/).length;\nreturn { json: { n: words($json.text) } };"),
        ],
        truth("Artikel", "Wörter", "text"),
    )
    yield case(
        "grouped by a key of nothing",
        [
            data("Buchungen", [{"konto": {"nr": 1}, "b": 5}, {"b": 7}]),
            code(
                "Gruppen",
                "const groups = $input.all().reduce((acc, { json: row }) => {\n  const key = row.konto.nr;\n  (acc[key] ??= []).push(row.b);\n  return acc;\n}, {});\nreturn [{ json: groups }];",
            ),
        ],
        truth("Buchungen", "Gruppen", "konto"),
    )
    yield case(
        "value kept in a variable of another block",
        [
            data("Profil", [{"user": {"settings": None}}]),
            code(
                "Sprache",
                "let lang;\nconst profile = $input.first().json;\nif (profile.user) {\n  const settings = profile.user.settings;\n  lang = settings.language;\n}\nreturn [{ json: { lang } }];",
            ),
        ],
        truth("Profil", "Sprache", "settings"),
    )
    yield case(
        "answer of a request in code has no list",
        [
            data("Seite", [{"n": 1, "x": None}]),
            code(
                "Laden",
                "const r = await this.helpers.httpRequest({ url: 'http://service.invalid/token', json: true });\nreturn r.items.map((json) => ({ json }));",
            ),
        ],
        truth("Laden", "Laden", "items"),
    )
    yield case(
        "json of json",
        [
            data("Items", [{"a": {"b": "x"}}]),
            code("Doppelt", "return $input.all().map((item) => ({ json: { v: item.a.b } }));"),
        ],
        truth(None, "Doppelt", "b"),
    )
    yield case(
        "one bad row of two hundred",
        [
            code(
                "Viele",
                "return Array.from({ length: 200 }, (_, i) => ({ json: { i, code: i === 137 ? null : 'c' + i } }));",
            ),
            expression_set("Marke", {"m": "1"}),
            code("Groß", "return $input.all().map((item) => ({ json: { c: item.json.code.toUpperCase() } }));"),
        ],
        truth("Viele", "Groß", "code", "137"),
    )


def _far_away() -> Iterator[Case]:
    yield case(
        "deleted in place",
        [
            data("Akten", [{"id": 1, "ref": "R1"}, {"id": 2, "ref": "R2"}]),
            code("Aufräumen", "for (const item of $input.all()) {\n  delete item.json.ref;\n}\nreturn $input.all();"),
            expression_set("Stempel", {"s": "ok"}),
            every("Ablage", "return { json: { key: $json.ref.toLowerCase() } };"),
        ],
        truth("Aufräumen", "Ablage", "ref"),
    )
    yield case(
        "overwritten with nothing",
        [
            data("Kunden", [{"name": "Ada", "mail": "a@b.c"}]),
            expression_set("Ergänzen", {"mail": "={{ $json.kontakt?.mail ?? null }}"}),
            pass_on("Weiter"),
            every("Domäne", "return { json: { d: $json.mail.split('@')[1] } };"),
        ],
        truth("Ergänzen", "Domäne", "mail"),
    )
    yield case(
        "one branch of two loses the field",
        [
            data("Alle", [{"typ": "a", "wert": "x"}, {"typ": "b", "wert": "y"}]),
            node("Typ?", "if", 2.2, compare("={{ $json.typ }}", "string", "equals", "a")),
            expression_set("Weg A", {"von": "A"}),
            expression_set("Weg B", {"von": "B"}, keep=False),
            node("Zusammen", "merge", 3.1, {}),
            every("Wert", "return { json: { w: $json.wert.repeat(2) } };"),
        ],
        truth("Weg B", "Wert", "wert"),
        [
            *chain("Alle", "Typ?", "Weg A", "Zusammen", "Wert"),
            Wire("Typ?", "Weg B", output=1),
            Wire("Weg B", "Zusammen", input=1),
        ],
    )
    yield case(
        "child gives back too little",
        [
            data("Vorgang", [{"id": 1, "frist": "2026-01-01"}]),
            call_child("Bewerten"),
            every("Kalender", "return { json: { y: $json.frist.slice(0, 4) } };"),
        ],
        truth("Punkte", "Kalender", "frist", also=("Bewerten",)),
        child=([every("Punkte", "return { json: { id: $json.id, punkte: 3 } };")], None),
    )
    yield case(
        "second round of a loop",
        [
            data("Runden", [{"v": {"k": 1}}, {"v": {"k": 2}}, {"w": 0}]),
            node("Loop", "splitInBatches", 3, {"batchSize": 1, "options": {}}),
            expression_set("Schritt", {"s": "1"}),
            every("Rechnen", "return { json: { k: $json.v.k } };"),
            pass_on("Fertig"),
        ],
        truth("Runden", "Rechnen", "v"),
        [*chain("Runden", "Loop", "Fertig"), Wire("Loop", "Schritt", output=1), *chain("Schritt", "Rechnen", "Loop")],
    )
    yield case(
        "regex renames too much",
        [
            data("Export", [{"kunde_name": "A", "kunde_ort": "B"}]),
            node(
                "Präfix weg",
                "renameKeys",
                1,
                {
                    "keys": {},
                    "additionalOptions": {
                        "regexReplacement": {
                            "replacements": [{"searchRegex": "kunde_", "replaceRegex": "", "options": {}}]
                        }
                    },
                },
            ),
            every("Brief", "return { json: { t: $json.kunde_name.trim() } };"),
        ],
        truth("Präfix weg", "Brief", "kunde_name"),
    )
    yield case(
        "answer of a second service replaces the first",
        [
            data("Vertrag", [{"nr": "V1", "inhaber": "Roth"}]),
            get("Prüfdienst", "/profile"),
            every("Schreiben", "return { json: { an: 'Herr ' + $json.inhaber.toUpperCase() } };"),
        ],
        truth("Prüfdienst", "Schreiben", "inhaber"),
    )
    yield case(
        "null from the first of three nodes in Japanese",
        [
            data("入庫", [{"品番": "X", "棚": None}]),
            expression_set("日付", {"日": "2026-01-01"}),
            node(
                "並べ替え",
                "sort",
                1,
                {"sortFieldsUi": {"sortField": [{"fieldName": "品番", "order": "ascending"}]}, "options": {}},
            ),
            node("一件", "limit", 1, {"maxItems": 1}),
            every("ラベル", "const { 棚: 場所 } = $json;\nreturn { json: { l: 場所.padEnd(4) } };"),
        ],
        truth("入庫", "ラベル", "棚"),
    )
