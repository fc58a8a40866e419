"""Later cases of code that throws on purpose."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import code, node

from .fresh_parts import call_child, case, compare, data, every, get, truth
from .shapes import Case


def later_checks() -> Iterator[Case]:
    yield from _thrown()


def _thrown() -> Iterator[Case]:
    yield case(
        "rethrown with words of its own",
        [
            data("Dateien", [{"inhalt": '{"a":1}'}, {"inhalt": "a=1"}]),
            code(
                "Lesen",
                "const out = [];\nfor (const item of $input.all()) {\n  try {\n    out.push({ json: JSON.parse(item.json.inhalt) });\n  } catch (e) {\n    throw new Error('Datei unlesbar: ' + item.json.inhalt);\n  }\n}\nreturn out;",
            ),
        ],
        truth("Dateien", "Lesen", "inhalt", "a=1"),
    )
    yield case(
        "number guard after a conversion",
        [
            data("Formular", [{"betrag": "12 EUR"}]),
            every(
                "Betrag",
                "const betrag = Number($json.betrag);\nif (Number.isNaN(betrag)) {\n  throw new Error('Betrag ist keine Zahl');\n}\nreturn { json: { betrag } };",
            ),
        ],
        truth("Formular", "Betrag", "betrag", "12 EUR"),
    )
    yield case(
        "guard on a role of a service",
        [
            get("Wer bin ich", "/profile"),
            every(
                "Darf ich",
                "const { user } = $json;\nif (!user.roles.includes('admin')) {\n  throw new Error(`${user.name} darf das nicht`);\n}\nreturn { json: { ok: true } };",
            ),
        ],
        truth("Wer bin ich", "Darf ich", "roles", also=("Darf ich",)),
    )
    yield case(
        "sum does not match",
        [
            data("Beleg", [{"summe": 10, "zeilen": [{"b": 4}, {"b": 5}]}]),
            every(
                "Abgleich",
                "const sum = $json.zeilen.reduce((a, z) => a + z.b, 0);\nif (sum !== $json.summe) throw new Error(`Summe ${sum} statt ${$json.summe}`);\nreturn { json: { ok: true } };",
            ),
        ],
        truth("Beleg", "Abgleich", "9 statt 10", also=("Abgleich",)),
    )
    yield case(
        "assertion helper with a message",
        [
            data("Anträge", [{"id": 1, "iban": "DE1"}, {"id": 2, "iban": None}]),
            code(
                "Kontrolle",
                "const assert = (ok, text) => {\n  if (!ok) throw new Error(text);\n};\nfor (const { json } of $input.all()) {\n  assert(json.iban, `IBAN fehlt: ${json.id}`);\n}\nreturn $input.all();",
            ),
        ],
        truth("Anträge", "Kontrolle", "iban"),
    )
    yield case(
        "too few rows after a filter",
        [
            data("Angebote", [{"p": 5, "ok": True}, {"p": 6, "ok": False}]),
            node("Gültige", "filter", 2.2, compare("={{ $json.ok }}", "boolean", "equals", True)),
            code(
                "Vergleich",
                "const rows = $input.all();\nif (rows.length < 2) {\n  throw new Error('Mindestens zwei Angebote nötig');\n}\nreturn rows;",
            ),
        ],
        truth("Gültige", "Vergleich", "1", also=("Vergleich", "Angebote")),
    )
    yield case(
        "quota told by code, with a null beside",
        [
            data("Seed", [{"rest": None, "id": 4}]),
            code(
                "Kontingent",
                "const left = 0;\nif (left <= 0) throw new Error('Kontingent erschöpft');\nreturn $input.all();",
            ),
        ],
        truth(None, "Kontingent", "Kontingent"),
    )
    yield case(
        "expired by the calendar",
        [
            data("Lizenz", [{"bis": "2020-01-01", "inhaber": None}]),
            every(
                "Gültig",
                "if (new Date($json.bis) < new Date()) {\n  throw new Error('Lizenz abgelaufen');\n}\nreturn { json: $json };",
            ),
        ],
        truth("Lizenz", "Gültig", "bis", also=("Gültig",)),
    )
    yield case(
        "thrown in the child for what the parent lost",
        [
            data("Quelle", [{"id": 1, "sprache": "de"}]),
            every("Reduzieren", "return { json: { id: $json.id } };"),
            call_child("Übersetzen"),
        ],
        truth("Reduzieren", "Start Übersetzung", "sprache"),
        child=(
            [
                code(
                    "Start Übersetzung",
                    "const { sprache } = $input.first().json;\nif (!sprache) throw new Error('Sprache fehlt');\nreturn $input.all();",
                )
            ],
            None,
        ),
    )
