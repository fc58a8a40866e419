"""Fifth cases that lay traps for what was learned from the fourth ones: sibling names, disabled nodes, ways."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import SERVICE, expression_set
from .fresh_parts import call_child, case, compare, data, every, get, truth
from .shapes import Case

_POST = {"method": "POST", "sendBody": True}
_HEALTHY = truth(None, None)


def fifth_traps() -> Iterator[Case]:
    yield from _failing()


def _failing() -> Iterator[Case]:
    yield case(
        "last name that one has not",
        [
            data("People", [{"firstName": "Ann", "lastName": "Lee"}, {"firstName": "Bo"}]),
            every("Sign", "return { json: { s: $json.firstName + ' ' + $json.lastName.toUpperCase() } };"),
        ],
        truth("People", "Sign", "lastName"),
    )
    yield case(
        "last name that nobody has",
        [
            data("People", [{"firstName": "Ann", "id": 1}]),
            every("Sign", "return { json: { s: $json.lastName.toUpperCase() } };"),
        ],
        truth(None, "Sign", "lastName", also=("People",)),
    )
    yield case(
        "disabled node that has nothing to do with it",
        [
            data("Rows", [{"id": 1, "mail": None}]),
            expression_set("Tag", {"tag": "x"}, disabled=True),
            every("Send", "return { json: { m: $json.mail.trim() } };"),
        ],
        truth("Rows", "Send", "mail"),
    )
    yield case(
        "disabled node with an id in its settings",
        [
            data("Rows", [{"id": None, "n": 2}]),
            expression_set("Tag", {"tag": "={{ $json.n }}"}, disabled=True),
            every("Key", "return { json: { k: $json.id.toString() } };"),
        ],
        truth("Rows", "Key", "id"),
    )
    yield case(
        "phone number as a text is refused",
        [
            data("Contact", [{"tel": "12345"}]),
            expression_set("Map", {"phone": "={{ $json.tel }}"}, keep=False),
            get(
                "Add",
                "/say/400/phone",
                **_POST,
                bodyParameters={"parameters": [{"name": "phone", "value": "={{ $json.phone }}"}]},
            ),
        ],
        truth("Contact", "Add", "12345", also=("Add",)),
    )
    yield case(
        "branch in which the field is missing for another reason",
        [
            data("Rows", [{"k": 1, "v": None}, {"k": 2, "v": "x"}, {"k": 3, "v": None}]),
            node("Big?", "if", 2.2, compare("={{ $json.k }}", "number", "gt", 1)),
            every("Use", "return { json: { v: $json.v.trim() } };"),
            pass_on("Rest"),
        ],
        truth("Rows", "Use", "v"),
        [*chain("Rows", "Big?", "Use"), Wire("Big?", "Rest", output=1)],
    )
    yield case(
        "name that many things have",
        [
            data("Deal", [{"id": 4, "company": {"name": "X"}, "contact": {"name": "Y"}}]),
            every("Title", "return { json: { t: $json.name.toUpperCase() } };"),
        ],
        truth(None, "Title", "name", also=("Deal",)),
    )
    yield case(
        "same null in the items before, which another branch of the code takes",
        [
            data("Rows", [{"t": "a", "x": None}, {"t": "b", "x": None}]),
            code(
                "Mix",
                "return $input.all().map(({ json }) => json.t === 'a' ? { json: { ok: 1 } } : { json: { ok: json.x.y } });",
            ),
        ],
        truth("Rows", "Mix", "x"),
    )
    yield case(
        "service that refuses the second of two equal ones",
        [
            data("Rows", [{"id": "1", "email": "a@x"}, {"id": "x", "email": "a@x"}]),
            get(
                "Put",
                "",
                url=f"={SERVICE}/users/{{{{ $json.id }}}}",
                **_POST,
                bodyParameters={"parameters": [{"name": "email", "value": "={{ $json.email }}"}]},
            ),
        ],
        truth(None, "Put", "404", also=("Rows",)),
    )
    yield case(
        "thrown text with the name of a good field",
        [
            data("Order", [{"status": "paid", "total": 0, "note": None}]),
            every(
                "Check",
                "const { status, total } = $json;\nif (status === 'paid' && total === 0) {\n  throw new Error('status is wrong for this note');\n}\nreturn { json: $json };",
            ),
        ],
        truth(None, "Check", "total", also=("Order",)),
    )
    yield case(
        "destructuring of what a node renamed",
        [
            data("Api", [{"user": {"mail": "a"}}]),
            node(
                "Rename",
                "renameKeys",
                1,
                {"keys": {"key": [{"currentKey": "user", "newKey": "owner"}]}, "additionalOptions": {}},
            ),
            every("Use", "const { user: { mail } } = $json;\nreturn { json: { mail } };"),
        ],
        truth("Rename", "Use", "user", also=("Use",)),
    )
    yield case(
        "second run of a loop gets the answer of the first",
        [
            data("Ids", [{"id": 1}, {"id": 2}]),
            node("Loop", "splitInBatches", 3, {"batchSize": 1, "options": {}}),
            get("Get", "/profile"),
            every("Need id", "return { json: { id: $json.id.toString() } };"),
            pass_on("End"),
        ],
        truth("Get", "Need id", "id", also=("Need id",)),
        [*chain("Ids", "Loop", "End"), Wire("Loop", "Get", output=1), *chain("Get", "Need id", "Loop")],
    )
    yield case(
        "child that is given the wrong list",
        [
            data("Order", [{"lines": [{"sku": "a"}], "lines_total": 1}]),
            expression_set("Pick", {"rows": "={{ $json.lines_total }}"}, keep=False, kind="number"),
            call_child("Pack"),
        ],
        truth("Pick", "Pack", "rows"),
        None,
        ([every("Each", "return { json: { skus: $json.rows.map((r) => r.sku) } };")], None),
    )
    yield case(
        "date that a luxon call makes invalid",
        [
            data("Slots", [{"at": "2026-13-01"}]),
            every(
                "Plan",
                "const at = DateTime.fromISO($json.at);\nif (!at.isValid) throw new Error('bad slot ' + $json.at);\nreturn { json: { at: at.toISO() } };",
            ),
        ],
        truth("Slots", "Plan", "2026-13-01", also=("Plan",)),
    )
    yield case(
        "url with a missing path in the middle",
        [
            data("Rows", [{"team": None, "id": 3}]),
            get("Get", "", url=f"={SERVICE}/users/{{{{ $json.team }}}}/x{{{{ $json.id }}}}"),
        ],
        truth("Rows", "Get", "team", also=("Get",)),
    )
