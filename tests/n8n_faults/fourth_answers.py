"""Fourth cases of requests that are made wrongly, and of answers that nobody expects."""

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import SERVICE, expression_set
from .fresh_parts import case, compare, data, every, get, truth
from .shapes import Case

_POST = {"method": "POST", "sendBody": True}
_HEALTHY = truth(None, None)


def fourth_answers() -> Iterator[Case]:
    yield from _guilty()
    yield from _answers()
    yield from _bodies()


def _table(**fields: str) -> dict[str, object]:
    return {"parameters": [{"name": key, "value": value} for key, value in fields.items()]}


def _guilty() -> Iterator[Case]:
    yield case(
        "id lost before the address",
        [
            data("Deals", [{"id": 41, "stage": "won"}]),
            expression_set("Only stage", {"stage": "={{ $json.stage }}"}, keep=False),
            get("Get deal", "", url=f"={SERVICE}/users/{{{{ $json.id }}}}"),
        ],
        truth("Only stage", "Get deal", "id"),
    )
    yield case(
        "email that one of three has not",
        [
            data("Subscribers", [{"mail": "a@x.de"}, {"mail": None}, {"mail": "c@x.de"}]),
            get(
                "Invite",
                "/create",
                **_POST,
                specifyBody="json",
                jsonBody="={{ JSON.stringify({ email: $json.mail }) }}",
            ),
        ],
        truth("Subscribers", "Invite", "mail", also=("Invite",)),
    )
    yield case(
        "renamed before the request",
        [
            data("Leads", [{"email": "a@x.de", "firma": "X"}]),
            node(
                "Umbenennen",
                "renameKeys",
                1,
                {"keys": {"key": [{"currentKey": "email", "newKey": "eMail"}]}, "additionalOptions": {}},
            ),
            get(
                "Anlegen",
                "/create",
                **_POST,
                specifyBody="json",
                jsonBody="={{ JSON.stringify({ email: $json.email, firma: $json.firma }) }}",
            ),
        ],
        truth("Umbenennen", "Anlegen", "email", also=("Anlegen",)),
    )
    yield case(
        "token of a login that failed quietly",
        [
            get("Login", "/token", **_POST),
            get(
                "Me",
                "/secure",
                sendHeaders=True,
                headerParameters=_table(Authorization="=Bearer {{ $json.access_token }}"),
            ),
        ],
        truth("Login", "Me", "access_token", also=("Me",)),
    )
    yield case(
        "date in german for a service",
        [
            data("Buchung", [{"tag": "2026-03-01"}]),
            expression_set("Format", {"datum": "={{ DateTime.fromISO($json.tag).toFormat('dd.MM.yyyy') }}"}),
            get(
                "Eintragen",
                "/dated",
                **_POST,
                specifyBody="json",
                jsonBody="={{ JSON.stringify({ datum: $json.datum }) }}",
            ),
        ],
        truth("Format", "Eintragen", "datum", also=("Eintragen",)),
    )
    yield case(
        "quote in a body in text",
        [
            data("Kommentare", [{"text": 'Er sagte "nein"'}]),
            get("Posten", "/ok", **_POST, specifyBody="json", jsonBody='={ "text": "{{ $json.text }}" }'),
        ],
        truth("Kommentare", "Posten", "text", also=("Posten",)),
    )
    yield case(
        "address with a space",
        [
            data("Konfig", [{"base": "example .com"}]),
            get("Rufen", "", url="={{ $json.base }}/api"),
        ],
        truth("Konfig", "Rufen", "base", also=("Rufen",)),
    )
    yield case(
        "host from a misspelt setting",
        [
            data("Settings", [{"apiUrl": f"{SERVICE}/ok"}]),
            get("Call", "", url="={{ $json.apiURL }}"),
        ],
        truth(None, "Call", "apiURL"),
    )
    yield case(
        "user that does not exist",
        [
            data("Anfrage", [{"user": "nobody"}]),
            get("Profil", "", url=f"={SERVICE}/users/{{{{ $json.user }}}}"),
        ],
        truth("Anfrage", "Profil", "nobody", also=("Profil",)),
    )


def _answers() -> Iterator[Case]:
    yield case(
        "page that has no rows",
        [
            get("Page", "/nothing"),
            node("Split", "splitOut", 1, {"fieldToSplitOut": "results", "options": {}}),
            code("Sum", "return [{ json: { n: $input.all().length } }];"),
        ],
        truth("Split", None, "results", also=("Page",)),
    )
    yield case(
        "answer with an error inside of 200",
        [
            get("Stock", "/fehler"),
            every("Menge", "return { json: { m: $json.data.qty } };"),
        ],
        truth("Stock", "Menge", "data"),
    )
    yield case(
        "one order without a buyer",
        [
            get("Orders", "/orders"),
            every("Mail to", "const { mail } = $json.buyer;\nreturn { json: { mail } };"),
        ],
        truth("Orders", "Mail to", "buyer"),
    )
    yield case(
        "full response that nobody expects",
        [
            get("Api", "/profile", options={"response": {"response": {"fullResponse": True}}}),
            every("Name", "return { json: { n: $json.user.name.toUpperCase() } };"),
        ],
        truth(None, "Name", "user", also=("Api",)),
    )
    yield case(
        "answer as a text",
        [
            get("Api", "/profile", options={"response": {"response": {"responseFormat": "text"}}}),
            every("Name", "return { json: { n: $json.user.name } };"),
        ],
        truth("Api", "Name", "user", also=("Name",)),
    )
    yield case(
        "answer in a file",
        [
            get("Download", "/csv", options={"response": {"response": {"responseFormat": "file"}}}),
            every("Read", "return { json: { first: $json.data.split('\\n')[0] } };"),
        ],
        truth(None, "Read", "data", also=("Download",)),
    )
    yield case(
        "no content",
        [
            get("Delete", "/empty", method="DELETE"),
            every("Result", "return { json: { ok: $json.result.deleted } };"),
        ],
        truth(None, "Result", "result", also=("Delete",)),
    )
    yield case(
        "error that was let through and then read",
        [
            data("Ids", [{"id": "1"}, {"id": "x"}]),
            get("User", "", url=f"={SERVICE}/users/{{{{ $json.id }}}}", onError="continueRegularOutput"),
            every("Total", "return { json: { t: $json.total.toFixed(2) } };"),
        ],
        truth("User", "Total", "404", also=("Ids",)),
    )
    yield case(
        "error output that goes to nobody",
        [
            data("Ids", [{"id": "x"}]),
            get("User", "", url=f"={SERVICE}/users/{{{{ $json.id }}}}", onError="continueErrorOutput"),
            pass_on("Save"),
        ],
        truth("User", None, "404", also=("Ids",)),
    )
    yield case(
        "fork after a refused request",
        [
            get("Charge", "/soft", **_POST),
            node("Paid?", "if", 2.2, compare("={{ $json.success }}", "boolean", "equals", True)),
            pass_on("Receipt"),
            pass_on("Reminder"),
        ],
        truth("Charge", None, "quota", also=("Paid?",)),
        [*chain("Charge", "Paid?", "Receipt"), Wire("Paid?", "Reminder", output=1)],
    )


def _bodies() -> Iterator[Case]:
    yield case(
        "quotes in one field and null in another",
        [
            data("Comments", [{"author": None, "text": 'say "hi"', "id": 4}]),
            get(
                "Post",
                "/ok",
                **_POST,
                specifyBody="json",
                jsonBody='={ "id": {{ $json.id }}, "author": "{{ $json.author }}", "text": "{{ $json.text }}" }',
            ),
        ],
        truth("Comments", "Post", "text", "quotes", also=("Post",)),
    )
    yield case(
        "comma at the end of a body",
        [
            data("Row", [{"a": 1, "b": None}]),
            get("Send", "/ok", **_POST, specifyBody="json", jsonBody='={ "a": {{ $json.a }}, "b": "{{ $json.b }}", }'),
        ],
        truth(None, "Send", "JSON"),
    )
    yield case(
        "text without quotes in a body",
        [
            data("Row", [{"name": "Ann", "n": None}]),
            get("Send", "/ok", **_POST, specifyBody="json", jsonBody='={ "name": {{ $json.name }} }'),
        ],
        truth(None, "Send", "name"),
    )
    yield case(
        "same wrong value in two fields",
        [
            data("A", [{"qty": "n/a"}]),
            expression_set("B", {"comment": "n/a"}),
            node(
                "C",
                "set",
                3.4,
                {
                    "assignments": {
                        "assignments": [
                            {"id": "1", "name": "comment", "value": "={{ $json.comment }}", "type": "string"},
                            {"id": "2", "name": "qty", "value": "={{ $json.qty }}", "type": "number"},
                        ]
                    },
                    "options": {},
                },
            ),
        ],
        truth("A", "C", "qty", also=("C",)),
    )
