"""Wide cases of guards: code that tests what it was given, and throws a message of its own."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import code, node, pass_on

from .fault import expression_set
from .fresh_parts import case, compare, data, every, get, truth
from .shapes import Case


def wide_guards() -> Iterator[Case]:
    yield case(
        "guard in Japanese on a dropped field",
        [
            data("名簿", [{"顧客番号": "K-1", "氏名": "伊藤", "備考": None}]),
            expression_set("整形", {"氏名": "={{ $json.氏名.trim() }}"}, keep=False),
            every("請求", "if (!$json.顧客番号) throw new Error('顧客番号がありません');\nreturn { json: $json };"),
        ],
        truth("整形", "請求", "顧客番号"),
    )
    yield case(
        "guard on an empty list of a service",
        [
            get("Fetch rows", "/nothing"),
            code(
                "Check rows",
                "const rows = $input.first().json.results;\nif (rows.length === 0) throw new Error('Nothing to import');\nreturn rows;",
            ),
        ],
        truth("Fetch rows", "Check rows", "results"),
    )
    yield case(
        "guard on a number of items",
        [
            data("Sheets", [{"open": True, "n": 1}, {"open": False, "n": 2}, {"open": False, "n": 3}]),
            node("Only open", "filter", 2.2, compare("={{ $json.n }}", "number", "lt", 2)),
            code(
                "Need three",
                "if ($input.all().length < 3) throw new Error('three sheets are needed');\nreturn $input.all();",
            ),
        ],
        truth("Only open", "Need three", also=()),
    )
    yield case(
        "guard behind an optional chain",
        [
            data("People", [{"name": "Ito", "mail": "i@x"}, {"name": "Abe", "mail": "  "}]),
            every("Clean", "return { json: { name: $json.name, contact: { mail: $json.mail.trim() } } };"),
            every(
                "Send",
                "const mail = $json.contact?.mail;\nif (!mail) {\n  throw new Error(`No address for ${$json.name}`);\n}\nreturn { json: { mail } };",
            ),
        ],
        truth("Clean", "Send", "mail", also=("People",)),
    )
    yield case(
        "guard on a type",
        [
            data("Cart", [{"amount": 30}]),
            expression_set("Format", {"amount": "={{ $json.amount.toFixed(2) }}"}),
            every(
                "Charge",
                "if (typeof $json.amount !== 'number') throw new TypeError('amount must be a number');\nreturn { json: $json };",
            ),
        ],
        truth("Format", "Charge", "amount", "30.00"),
    )
    yield case(
        "guard on a number that is none",
        [
            data("Form", [{"qty": "3"}, {"qty": "two"}]),
            pass_on("Relay"),
            code(
                "Total",
                "let sum = 0;\nfor (const one of $input.all()) {\n  const n = Number(one.json.qty);\n  if (Number.isNaN(n)) throw new Error('not a quantity');\n  sum += n;\n}\nreturn [{ json: { sum } }];",
            ),
        ],
        truth("Form", "Total", "qty", "two"),
    )
    yield case(
        "guard as a function of its own",
        [
            data("Bank", [{"owner": "Ito", "iban": None, "bic": "X"}]),
            every(
                "Pay",
                "const need = (value, label) => {\n  if (!value) throw new Error(label + ' is missing');\n  return value;\n};\nreturn { json: { owner: need($json.owner, 'Owner'), iban: need($json.iban, 'IBAN') } };",
            ),
        ],
        truth("Bank", "Pay", "iban", "null"),
    )
    yield case(
        "guard by a pattern",
        [
            data("住所録", [{"郵便番号": "123-4567", "市": "神戸"}]),
            every(
                "宛名",
                "if (!/^\\d{7}$/.test($json.郵便番号)) throw new Error('郵便番号の形が違います');\nreturn { json: $json };",
            ),
        ],
        truth("住所録", "宛名", "郵便番号", "123-4567"),
    )
    yield case(
        "guard by a list of values",
        [
            data("Orders", [{"id": 1, "state": "new"}]),
            expression_set("Set state", {"state": "opened"}),
            pass_on("Queue"),
            every(
                "Route",
                "const known = ['new', 'paid', 'sent'];\nif (!known.includes($json.state)) throw new Error('unknown state');\nreturn { json: $json };",
            ),
        ],
        truth("Set state", "Route", "state", "opened"),
    )
    yield case(
        "guard on the calendar",
        [
            data("Plan", [{"user": None, "limit": 0, "note": ""}]),
            every(
                "Licence",
                "if (new Date().getFullYear() > 2000) throw new Error('The licence has ended');\nreturn { json: { user: $json.user, limit: $json.limit } };",
            ),
        ],
        truth(None, "Licence", "licence"),
    )
    yield case(
        "guard that compares two nodes",
        [
            data("Ledger", [{"total": 10}]),
            data("Sum up", [{"sum": 12}]),
            every(
                "Audit",
                "if ($('Ledger').first().json.total !== $json.sum) throw new Error('sums differ');\nreturn { json: $json };",
            ),
        ],
        truth(None, "Audit", "differ", also=("Ledger", "Sum up")),
    )
    yield case(
        "guard in a catch",
        [
            data("受信", [{"id": 1, "本文": '{"a": 1'}]),
            pass_on("保管"),
            every(
                "解読",
                "let parsed;\ntry {\n  parsed = JSON.parse($json.本文);\n} catch (error) {\n  throw new Error('本文が読めません: ' + error.message);\n}\nreturn { json: parsed };",
            ),
        ],
        truth("受信", "解読", "本文"),
    )
    yield case(
        "guard with switch and default",
        [
            data("Events", [{"kind": "create"}, {"kind": "purge"}]),
            every(
                "Handle",
                "switch ($json.kind) {\n  case 'create': return { json: { ok: 1 } };\n  case 'delete': return { json: { ok: 2 } };\n  default: throw new Error('cannot handle this kind of event');\n}",
            ),
        ],
        truth("Events", "Handle", "kind", "purge"),
    )
    yield case(
        "guard on an empty text made by a Set node",
        [
            data("Contacts", [{"first": "", "last": ""}]),
            expression_set("Full name", {"full": "={{ ($json.first + ' ' + $json.last).trim() }}"}),
            every(
                "Letter",
                "const { full } = $json;\nif (full === '') throw new Error('nobody to write to');\nreturn { json: { text: 'Dear ' + full } };",
            ),
        ],
        truth("Full name", "Letter", "full", also=("Contacts",)),
    )
    yield case(
        "guard on the length of a field",
        [
            data("Import", [{"rows": [1, 2]}]),
            every("Trim rows", "return { json: { rows: $json.rows.filter((x) => x > 5) } };"),
            every("Store", "if ($json.rows.length < 1) throw new Error('no rows left');\nreturn { json: $json };"),
        ],
        truth("Trim rows", "Store", "rows"),
    )
