"""Daily cases of checks in code, and of mistakes that are its own."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import expression_set
from .fresh_parts import call_child, case, data, every, truth
from .shapes import Case


def daily_checks() -> Iterator[Case]:
    yield from _checks()
    yield from _own()


def _checks() -> Iterator[Case]:
    yield case(
        "own error class",
        [
            data("Bewerbungen", [{"name": "A", "geburt": "1990-01-01"}, {"name": "B", "geburt": ""}]),
            code(
                "Prüfen",
                "class ValidationError extends Error {}\nfunction check(row) {\n  if (!row.geburt) throw new ValidationError(`Geburtsdatum fehlt bei ${row.name}`);\n  return row;\n}\nreturn $input.all().map((i) => ({ json: check(i.json) }));",
            ),
        ],
        truth("Bewerbungen", "Prüfen", "geburt"),
    )
    yield case(
        "required fields, one renamed in Japanese",
        [
            data("申込", [{"氏名": "田中", "電話番号": "03-1"}]),
            node(
                "改名",
                "renameKeys",
                1,
                {"keys": {"key": [{"currentKey": "電話番号", "newKey": "連絡先"}]}, "additionalOptions": {}},
            ),
            code(
                "検査",
                "const 必須 = ['氏名', '電話番号'];\nfor (const item of $input.all()) {\n  for (const key of 必須) {\n    if (item.json[key] === undefined) {\n      throw new Error(`${key}がありません`);\n    }\n  }\n}\nreturn $input.all();",
            ),
        ],
        truth("改名", "検査", "電話番号"),
    )
    yield case(
        "unknown country in a switch",
        [
            data("Import", [{"id": 1, "land": "DE"}, {"id": 2, "land": "AT "}]),
            every(
                "Steuer",
                "function rate(land) {\n  switch (land) {\n    case 'DE': return 19;\n    case 'AT': return 20;\n    default: throw new Error('Unbekanntes Land: ' + land);\n  }\n}\nreturn { json: { rate: rate($json.land) } };",
            ),
        ],
        truth("Import", "Steuer", "land", also=("Steuer",)),
    )
    yield case(
        "list of errors is thrown at the end",
        [
            data("Rows", [{"id": 1, "mail": "a@b.c"}, {"id": 2, "mail": "nobody"}]),
            code(
                "Validate",
                "const errors = [];\nfor (const item of $input.all()) {\n  if (!item.json.mail.includes('@')) errors.push(`row ${item.json.id}: bad mail`);\n}\nif (errors.length) throw new Error(errors.join('; '));\nreturn $input.all();",
            ),
        ],
        truth("Rows", "Validate", "row 2", also=("Validate",)),
    )
    yield case(
        "outage told in code",
        [
            data("Seed", [{"x": None}]),
            code(
                "Window",
                "const hour = new Date().getHours();\nif (hour >= 0) {\n  throw new Error('Maintenance window');\n}\nreturn $input.all();",
            ),
        ],
        truth(None, "Window", "Maintenance"),
    )
    yield case(
        "child checks its input",
        [
            data("Bestellung", [{"nr": 5, "positionen": []}]),
            call_child("Prüfung"),
        ],
        truth("Bestellung", "Kontrolle", "positionen"),
        child=(
            [
                every(
                    "Kontrolle",
                    "if ($json.positionen.length === 0) {\n  throw new Error('Leere Bestellung');\n}\nreturn { json: $json };",
                )
            ],
            None,
        ),
    )
    yield case(
        "child gets less after a Set node",
        [
            data("Aufträge", [{"nr": 5, "kunde": {"ort": "Ulm"}}]),
            expression_set("Auswahl", {"nr": "={{ $json.nr }}"}, keep=False),
            call_child("Versand"),
        ],
        truth("Auswahl", "Etikett", "kunde"),
        child=([every("Etikett", "return { json: { ort: $json.kunde.ort } };")], None),
    )
    yield case(
        "bad row in the second batch",
        [
            data("Rows", [{"sku": "A"}, {"sku": "B"}, {"sku": None}]),
            node("Batches", "splitInBatches", 3, {"batchSize": 2, "options": {}}),
            code("Work", "return $input.all().map((i) => ({ json: { k: i.json.sku.padStart(5, '0') } }));"),
            pass_on("End"),
        ],
        truth("Rows", "Work", "sku"),
        [*chain("Rows", "Batches", "End"), Wire("Batches", "Work", output=1), Wire("Work", "Batches")],
    )


def _own() -> Iterator[Case]:
    rows = data("Quelle", [{"wert": None, "menge": 3}])
    yield case(
        "misspelt variable",
        [rows, code("Rechnen", "const itmes = $input.all();\nreturn items2.map((i) => i);")],
        truth(None, "Rechnen", "items2"),
    )
    yield case(
        "endless recursion",
        [rows, code("Tief", "const f = (n) => f(n + 1);\nreturn [{ json: { n: f(0) } }];")],
        truth(None, "Tief", "stack"),
    )
    yield case(
        "value returned bare", [rows, code("Zahl", "return $input.first().json.menge * 2;")], truth(None, "Zahl")
    )
    yield case(
        "constant assigned in a loop",
        [
            rows,
            code(
                "Summe",
                "const sum = 0;\nfor (const i of $input.all()) {\n  sum += i.json.menge;\n}\nreturn [{ json: { sum } }];",
            ),
        ],
        truth(None, "Summe", "constant"),
    )
    yield case(
        "method of a list on an item",
        [rows, code("Falsch", "return $input.first().map((x) => x);")],
        truth(None, "Falsch", "map"),
    )
    yield case(
        "word await outside",
        [rows, code("Warten", "function go() {\n  await Promise.resolve();\n}\ngo();\nreturn [];")],
        truth(None, "Warten", "await"),
    )
