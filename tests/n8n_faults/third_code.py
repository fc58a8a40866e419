"""Third cases of code: helpers in objects, closures, inheritance, loops of all sorts, look-ups over two nodes."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import START, expression_set
from .fresh_parts import call_child, case, data, every, get, truth
from .shapes import Case


def third_code() -> Iterator[Case]:
    yield from _helpers()
    yield from _data_of_others()
    yield from _wrong_types()


def _helpers() -> Iterator[Case]:
    yield case(
        "helper in an object",
        [
            data("Adressen", [{"ort": "Ulm", "plz": "89073"}, {"ort": None, "plz": "10115"}]),
            code(
                "Etiketten",
                "const util = {\n  clean(text) {\n    return text.trim();\n  },\n};\nreturn $input.all().map(({ json }) => ({ json: { e: json.plz + ' ' + util.clean(json.ort) } }));",
            ),
        ],
        truth("Adressen", "Etiketten", "ort"),
    )
    yield case(
        "function that makes functions",
        [
            data("Filialen", [{"stadt": "Bonn"}, {"ort": "Köln"}]),
            code(
                "Liste",
                "const by = (key) => (row) => row[key].toUpperCase();\nconst city = by('stadt');\nreturn $input.all().map((i) => ({ json: { s: city(i.json) } }));",
            ),
        ],
        truth("Filialen", "Liste", "stadt"),
    )
    yield case(
        "inheritance and super",
        [
            data("Fahrzeuge", [{"typ": "pkw", "halter": {"name": "A"}}, {"typ": "lkw", "halter": None}]),
            code(
                "Briefe",
                "class Base {\n  constructor(row) { this.row = row; }\n  owner() { return this.row.halter.name; }\n}\nclass Truck extends Base {\n  constructor(row) { super(row); this.big = true; }\n}\nconst make = (row) => (row.typ === 'lkw' ? new Truck(row) : new Base(row));\nreturn $input.all().map((i) => ({ json: { o: make(i.json).owner() } }));",
            ),
        ],
        truth("Fahrzeuge", "Briefe", "halter"),
    )
    yield case(
        "caught and thrown again",
        [
            data("Konten", [{"iban": "DE12"}, {"iban": None}]),
            code(
                "Prüfung",
                "const out = [];\nfor (const item of $input.all()) {\n  try {\n    out.push({ json: { land: item.json.iban.slice(0, 2) } });\n  } catch (e) {\n    throw e;\n  }\n}\nreturn out;",
            ),
        ],
        truth("Konten", "Prüfung", "iban"),
    )
    yield case(
        "keys in a loop",
        [
            data("Preise", [{"brutto": {"a": 1.5, "b": None}}]),
            code(
                "Runden",
                "const { brutto } = $input.first().json;\nconst out = {};\nfor (const key in brutto) {\n  out[key] = brutto[key].toFixed(2);\n}\nreturn [{ json: out }];",
            ),
        ],
        truth("Preise", "Runden", "b"),
    )
    yield case(
        "loop with while",
        [
            data("Reihe", [{"w": "x"}, {"w": "y"}, {"v": "z"}]),
            code(
                "Lauf",
                "const rows = $input.all();\nlet i = 0;\nconst out = [];\nwhile (i < rows.length) {\n  const row = rows[i].json;\n  out.push({ json: { w: row.w.charCodeAt(0) } });\n  i++;\n}\nreturn out;",
            ),
        ],
        truth("Reihe", "Lauf", "w"),
    )
    yield case(
        "filter, map and sort in a row",
        [
            data(
                "Buch",
                [
                    {"t": "B", "jahr": 2001, "autor": {"n": "X"}},
                    {"t": "A", "jahr": 2010, "autor": None},
                    {"t": "C", "jahr": 1990, "autor": None},
                ],
            ),
            code(
                "Katalog",
                "return $input.all()\n  .filter((b) => b.json.jahr > 2000)\n  .map((b) => ({ json: { t: b.json.t, a: b.json.autor.n } }))\n  .sort((x, y) => x.json.t.localeCompare(y.json.t));",
            ),
        ],
        truth("Buch", "Katalog", "autor"),
    )
    yield case(
        "list taken apart",
        [
            data("Paar", [{"werte": [1, 2]}, {"wert": [3]}]),
            every("Teile", "const [a, b] = $json.werte;\nreturn { json: { a, b } };"),
        ],
        truth("Paar", "Teile", "werte"),
    )
    yield case(
        "counter that runs too far",
        [
            data("Tage", [{"tage": ["Mo", "Di"]}]),
            every(
                "Kürzel",
                "const out = [];\nfor (let i = 0; i <= $json.tage.length; i++) {\n  out.push($json.tage[i].toLowerCase());\n}\nreturn { json: { out } };",
            ),
        ],
        truth("Kürzel", "Kürzel", "tage"),
    )
    yield case(
        "variable that nobody filled",
        [
            data("Quelle", [{"name": None, "alter": 4}]),
            code(
                "Leer",
                "let result;\nfor (const item of $input.all()) {\n  if (item.json.alter > 10) result = item.json;\n}\nreturn [{ json: { n: result.name } }];",
            ),
        ],
        truth("Leer", "Leer", "name"),
    )
    yield case(
        "items used in a code for each item",
        [data("Daten", [{"a": None}]), every("Falsch", "return { json: { n: items.length } };")],
        truth(None, "Falsch"),
    )
    yield case(
        "json that is a list",
        [data("Daten", [{"a": None}]), code("Form", "return [{ json: [1, 2, 3] }];")],
        truth(None, "Form"),
    )


def _data_of_others() -> Iterator[Case]:
    yield case(
        "price list with capital letters",
        [
            data("Preisliste", [{"sku": "A1", "preis": 5}]),
            data("Bestellung", [{"sku": "a1"}]),
            code(
                "Summe",
                "const prices = new Map($('Preisliste').all().map((p) => [p.json.sku, p.json]));\nreturn $input.all().map((o) => {\n  const price = prices.get(o.json.sku);\n  return { json: { sum: price.preis } };\n});",
            ),
        ],
        truth("Bestellung", "Summe", "sku", also=("Summe", "Preisliste")),
    )
    yield case(
        "body of the call lacks the customer",
        [every("Name", "const { name } = $json.body.kunde;\nreturn { json: { name } };")],
        truth(START, "Name", "kunde", also=("Name",)),
    )
    yield case(
        "trigger read from far away",
        [
            data("Schritt", [{"x": 1}]),
            expression_set("Noch einer", {"y": "2"}),
            code("Ende", "const id = $('Start').first().json.body.auftrag.id;\nreturn [{ json: { id } }];"),
        ],
        truth(START, "Ende", "auftrag", also=("Ende",)),
    )
    yield case(
        "grouped, split and renamed",
        [
            data("Posten", [{"art": "A", "m": 1}, {"art": "B", "m": 2}]),
            node(
                "Sammeln",
                "aggregate",
                1,
                {"aggregate": "aggregateAllItemData", "destinationFieldName": "posten", "options": {}},
            ),
            every("Summe", "return { json: { s: $json.data.reduce((a, p) => a + p.m, 0) } };"),
        ],
        truth("Sammeln", "Summe", "data", also=("Summe",)),
    )
    yield case(
        "full-width letters in a key",
        [
            data("台帳", [{"ＩＤ": "7", "名": "山"}]),
            every("照合", "return { json: { id: $json.ID.padStart(3, '0') } };"),
        ],
        truth("照合", "照合", "ID", also=("台帳",)),
    )
    yield case(
        "blank behind a heading",
        [
            data("Import", [{"Name ": "Eva", "Ort": "Bonn"}]),
            expression_set("Stempel", {"s": "1"}),
            every("Gruß", "return { json: { g: 'Hallo ' + $json.Name.trim() } };"),
        ],
        truth("Gruß", "Gruß", "Name", also=("Import",)),
    )
    yield case(
        "child got a renamed field, checked by a helper",
        [
            data("Antrag", [{"betrag": 50}]),
            expression_set("Englisch", {"amount": "={{ $json.betrag }}"}, keep=False, kind="number"),
            call_child("Freigabe"),
        ],
        truth("Englisch", "Regel", "betrag"),
        child=(
            [
                code(
                    "Regel",
                    "function need(row, key) {\n  if (row[key] == null) {\n    throw new Error(`Feld ${key} fehlt`);\n  }\n  return row[key];\n}\nreturn $input.all().map((i) => ({ json: { b: need(i.json, 'betrag') } }));",
                )
            ],
            None,
        ),
    )
    yield case(
        "child whose service is down",
        [data("Auftrag", [{"id": 1, "x": None}]), call_child("Dienst")],
        truth(None, "Abruf", "500"),
        child=([get("Abruf", "/status/500"), pass_on("Zurück")], None),
    )
    yield case(
        "handler of errors that fails itself",
        [
            data("Ids", [{"id": 1}]),
            get("Holen", "/status/404", onError="continueErrorOutput"),
            pass_on("Gut"),
            every("Melden", "return { json: { s: $json.error.response.status } };"),
        ],
        truth("Melden", "Melden", "response", also=("Holen",)),
        [*chain("Ids", "Holen", "Gut"), Wire("Holen", "Melden", output=1)],
    )


def _wrong_types() -> Iterator[Case]:
    yield case(
        "comma replaced in a number",
        [
            data("Kurse", [{"k": "1,5"}, {"k": 2}]),
            code(
                "Zahlen",
                "const zahl = (t) => parseFloat(t.replace(',', '.'));\nreturn $input.all().map((i) => ({ json: { k: zahl(i.json.k) } }));",
            ),
        ],
        truth("Kurse", "Zahlen", "k"),
    )
    yield case(
        "tags as one text",
        [
            data("Beiträge", [{"tags": ["a", "b"]}, {"tags": "a,b"}]),
            every(
                "Liste",
                "const show = ({ tags }) => tags.map((t) => '#' + t).join(' ');\nreturn { json: { t: show($json) } };",
            ),
        ],
        truth("Beiträge", "Liste", "tags"),
    )
    yield case(
        "next day of no date",
        [
            data("Kalender", [{"tag": "irgendwann"}]),
            every(
                "Morgen",
                "const parts = DateTime.fromISO($json.tag).plus({ days: 1 }).toISODate().split('-');\nreturn { json: { parts } };",
            ),
        ],
        truth("Kalender", "Morgen", "tag"),
    )
    yield case(
        "not a number thrown by a helper",
        [
            data("Maße", [{"breite": "12"}, {"breite": "zwölf"}]),
            code(
                "Fläche",
                "const num = (text) => {\n  const n = Number(text);\n  if (Number.isNaN(n)) throw new TypeError(`keine Zahl: ${text}`);\n  return n;\n};\nreturn $input.all().map((i) => ({ json: { f: num(i.json.breite) ** 2 } }));",
            ),
        ],
        truth("Maße", "Fläche", "breite", "zwölf"),
    )
    yield case(
        "text of an object parsed",
        [
            data("Log", [{"zeile": "[object Object]"}]),
            every("Lesen", "const parse = (s) => JSON.parse(s);\nreturn { json: parse($json.zeile) };"),
        ],
        truth("Log", "Lesen", "zeile"),
    )
