"""Fourth cases of services: requests that are refused although their data are good, and ones whose data are not."""

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import SERVICE, expression_set
from .fresh_parts import case, compare, data, every, get, truth
from .shapes import Case

_POST = {"method": "POST", "sendBody": True}


def _table(**fields: str) -> dict[str, object]:
    return {"parameters": [{"name": key, "value": value} for key, value in fields.items()]}


def fourth_services() -> Iterator[Case]:
    yield from _innocent()
    yield from _guilty()
    yield from _answers()


def _innocent() -> Iterator[Case]:
    yield case(
        "contact that exists already",
        [
            data("Form", [{"email": "ann@example.com", "phone": None}]),
            get(
                "Create contact",
                "/say/409/exists",
                **_POST,
                bodyParameters=_table(email="={{ $json.email }}", phone="={{ $json.phone }}"),
            ),
        ],
        truth(None, "Create contact", "409"),
    )
    yield case(
        "field that the service does not know",
        [
            data("Lead", [{"name": "Ann", "mobile": "+49 170 1"}]),
            get(
                "Send to CRM",
                "/say/400/unknown",
                **_POST,
                bodyParameters=_table(name="={{ $json.name }}", phone_number="={{ $json.mobile }}"),
            ),
        ],
        truth(None, "Send to CRM", "phone_number"),
    )
    yield case(
        "limit that is too high",
        [
            data("Since", [{"since": None}]),
            get(
                "List",
                "/say/400/limit",
                sendQuery=True,
                queryParameters=_table(limit="500", since="={{ $json.since }}"),
            ),
        ],
        truth(None, "List", "limit"),
    )
    yield case(
        "empty tag in the query of a wrong path",
        [
            data("Input", [{"id": 7, "tag": None}]),
            get("Fetch item", "", url=f"={SERVICE}/status/404?tag={{{{ $json.tag }}}}&id={{{{ $json.id }}}}"),
        ],
        truth(None, "Fetch item", "404"),
    )
    yield case(
        "wrong key and an empty idempotency key",
        [
            data("Order", [{"nr": 1, "idem": None}]),
            get(
                "Pay",
                "/status/401",
                **_POST,
                sendHeaders=True,
                headerParameters=_table(**{"Authorization": "Bearer old", "Idempotency-Key": "={{ $json.idem }}"}),
                bodyParameters=_table(nr="={{ $json.nr }}"),
            ),
        ],
        truth(None, "Pay", "401"),
    )
    yield case(
        "forbidden although the token is there",
        [
            data("Login", [{"access_token": "abc", "refresh_token": None}]),
            get(
                "Reports",
                "/say/403/scope",
                sendHeaders=True,
                headerParameters=_table(
                    **{
                        "Authorization": "=Bearer {{ $json.access_token }}",
                        "X-Refresh-Token": "={{ $json.refresh_token }}",
                    }
                ),
            ),
        ],
        truth(None, "Reports", "403"),
    )
    yield case(
        "end before start",
        [
            data("Booking", [{"start": "2026-05-04", "end": "2026-05-02", "note": None}]),
            get("Reserve", "/say/422/range", **_POST, specifyBody="json", jsonBody="={{ JSON.stringify($json) }}"),
        ],
        truth("Booking", "Reserve", "end", also=("Reserve",)),
    )
    yield case(
        "out of stock is a rule of the shop",
        [
            data("Cart", [{"sku": "A-1", "qty": 3, "coupon": None}]),
            get(
                "Checkout",
                "/say/422/stock",
                **_POST,
                bodyParameters=_table(
                    sku="={{ $json.sku }}", quantity="={{ $json.qty }}", coupon="={{ $json.coupon }}"
                ),
            ),
        ],
        truth(None, "Checkout", "stock", also=("Cart",)),
    )
    yield case(
        "payload too large",
        [
            data("Report", [{"body": "x" * 500, "owner": None}]),
            get("Upload", "/status/413", **_POST, specifyBody="json", jsonBody="={{ JSON.stringify($json) }}"),
        ],
        truth(None, "Upload", "413"),
    )
    yield case(
        "method that the service does not have",
        [
            data("Row", [{"id": None, "v": 1}]),
            get("Save", "/status/405", **_POST, bodyParameters=_table(v="={{ $json.v }}")),
        ],
        truth(None, "Save", "405"),
    )
    yield case(
        "media type that is not taken",
        [
            data("Row", [{"id": 3, "hint": None}]),
            get("Push", "/status/415", **_POST, bodyParameters=_table(id="={{ $json.id }}", hint="={{ $json.hint }}")),
        ],
        truth(None, "Push", "415"),
    )
    yield case(
        "slack without a credential",
        [
            data("Alert", [{"text": None, "channel": "#ops"}]),
            node(
                "Notify",
                "slack",
                2.3,
                {
                    "select": "channel",
                    "channelId": {"__rl": True, "mode": "name", "value": "={{ $json.channel }}"},
                    "text": "={{ $json.text }}",
                    "otherOptions": {},
                },
            ),
        ],
        truth(None, "Notify", "credential"),
    )
    yield case(
        "sheet without a credential in a loop",
        [
            data("Rows", [{"a": 1}, {"a": None}]),
            node("Each", "splitInBatches", 3, {"batchSize": 1, "options": {}}),
            node(
                "Append",
                "googleSheets",
                4.5,
                {
                    "operation": "append",
                    "documentId": {"__rl": True, "mode": "id", "value": "abc"},
                    "sheetName": {"__rl": True, "mode": "name", "value": "S"},
                    "columns": {"mappingMode": "autoMapInputData", "value": {}},
                    "options": {},
                },
            ),
            pass_on("Done"),
        ],
        truth(None, "Append", "credential"),
        [*chain("Rows", "Each", "Done"), Wire("Each", "Append", output=1), Wire("Append", "Each")],
    )
    yield case(
        "bad gateway behind a merge",
        [
            data("Kunden", [{"id": 1, "name": None}]),
            data("Adressen", [{"id": 1, "ort": None}]),
            node("Verbinden", "merge", 3.2, {"mode": "combine", "fieldsToMatchString": "id", "options": {}}),
            get("Melden", "/status/502", **_POST, bodyParameters=_table(name="={{ $json.name }}")),
        ],
        truth(None, "Melden", "502"),
        [
            Wire("Start", "Adressen"),
            Wire("Kunden", "Verbinden"),
            Wire("Adressen", "Verbinden", input=1),
            Wire("Verbinden", "Melden"),
        ],
    )
    yield case(
        "validation of a constant",
        [
            data("Ticket", [{"titel": "Drucker", "prio": None}]),
            get(
                "Anlegen",
                "/say/400/priority",
                **_POST,
                bodyParameters=_table(title="={{ $json.titel }}", priority="urgent!!"),
            ),
        ],
        truth(None, "Anlegen", "priority"),
    )
    yield case(
        "name in the answer is that of another thing",
        [
            data("User", [{"name": None, "team": "core"}]),
            get(
                "Add to team",
                "/say/400/team",
                **_POST,
                bodyParameters=_table(team="={{ $json.team }}", display="={{ $json.name }}"),
            ),
        ],
        truth(None, "Add to team", "400", also=("User",)),
    )


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
