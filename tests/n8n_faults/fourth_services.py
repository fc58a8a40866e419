"""Fourth cases of services: requests that are refused although their data are good, or that have bad data."""

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, node

from .fault import SERVICE
from .fresh_parts import case, data, get, truth
from .shapes import Case

_POST = {"method": "POST", "sendBody": True}
_HEALTHY = truth(None, None)


def fourth_services() -> Iterator[Case]:
    yield from _innocent()


def _table(**fields: str) -> dict[str, object]:
    return {"parameters": [{"name": key, "value": value} for key, value in fields.items()]}


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
