"""Later cases of services, nodes and expressions."""
# ruff: noqa: E501 - one case per line reads best here

from collections.abc import Iterator

from dogubako_sandbox.n8n.workflow_parts import Wire, chain, code, node, pass_on

from .fault import SERVICE, START, expression_set
from .fresh_parts import call_child, case, compare, data, every, get, truth
from .shapes import Case


def later_flow() -> Iterator[Case]:
    yield from _services()
    yield from _nodes()


def _services() -> Iterator[Case]:
    post = {"method": "POST", "sendBody": True, "specifyBody": "json"}
    yield case(
        "service names the field that is no date",
        [
            data("Meldungen", [{"id": 1, "datum": "2026-01-02"}, {"id": 2, "datum": "morgen"}]),
            get("Melden", "/dated", **post, jsonBody="={{ { id: $json.id, datum: $json.datum } }}"),
        ],
        truth("Meldungen", "Melden", "datum", "morgen", also=("Melden",)),
    )
    yield case(
        "service names the field that a Set node emptied",
        [
            data("Meldungen", [{"id": 1, "datum": "2026-01-02"}]),
            expression_set("Umbau", {"nr": "={{ $json.id }}", "datum": "={{ $json.date }}"}, keep=False),
            get("Melden", "/dated", **post, jsonBody="={{ { id: $json.nr, datum: $json.datum } }}"),
        ],
        truth("Umbau", "Melden", "datum", short=("Melden",)),
    )
    yield case(
        "too large beside nulls",
        [data("Bild", [{"name": None}]), get("Hochladen", "/status/413", method="POST")],
        truth(None, "Hochladen", "413"),
    )
    yield case(
        "unsupported kind of body",
        [
            data("Text", [{"t": "x", "u": None}]),
            get("Senden", "/status/415", **{**post, "jsonBody": "={{ JSON.stringify($json) }}"}),
        ],
        truth(None, "Senden", "415"),
    )
    yield case(
        "token taken from a login that failed politely",
        [
            get("Login", "/soft"),
            get(
                "Konto",
                "/secure",
                sendHeaders=True,
                headerParameters={"parameters": [{"name": "Authorization", "value": "=Bearer {{ $json.token }}"}]},
            ),
        ],
        truth("Login", "Konto", "token", "401", short=("Konto",)),
    )
    yield case(
        "query parameter from nothing is refused",
        [
            data("Suche", [{"begriff": "Tee"}]),
            get("Finden", "", url=f"={SERVICE}/users/{{{{ $json.nutzer.id }}}}"),
        ],
        truth("Finden", "Finden", "nutzer", also=("Suche",)),
    )
    yield case(
        "port without a listener, data with holes",
        [data("Werte", [{"v": None}]), get("Drucker", "", url="http://127.0.0.1:9/print")],
        truth(None, "Drucker", "ECONNREFUSED"),
    )
    yield case(
        "name of a host with a typo",
        [data("Werte", [{"v": None}]), get("Wetter", "", url="http://api.wetter.invalid/v1")],
        truth(None, "Wetter"),
    )
    yield case(
        "second request of two is refused",
        [
            get("Eins", "/ok"),
            expression_set("Merken", {"m": "={{ $json.total }}"}),
            get("Zwei", "/status/409", method="POST"),
            pass_on("Ende"),
        ],
        truth(None, "Zwei", "409"),
    )
    yield case(
        "page where a list should be split",
        [
            get("Liste", "/html"),
            node("Teilen", "splitOut", 1, {"fieldToSplitOut": "items", "options": {}}),
            pass_on("Ende"),
        ],
        truth("Liste", None, "HTML", also=("Teilen",)),
    )


def _nodes() -> Iterator[Case]:
    yield case(
        "summary under the name of n8n",
        [
            data("Umsätze", [{"land": "DE", "u": 5}, {"land": "AT", "u": 7}]),
            node(
                "Je Land",
                "summarize",
                1,
                {
                    "fieldsToSummarize": {"values": [{"aggregation": "sum", "field": "u"}]},
                    "fieldsToSplitBy": "land",
                    "options": {},
                },
            ),
            every("Runden", "return { json: { s: $json.u_sum.toFixed(2) } };"),
        ],
        truth("Runden", "Runden", "u_sum", also=("Je Land",)),
    )
    yield case(
        "query over inputs with a wrong column",
        [
            data("Links", [{"id": 1, "a": 2}]),
            data("Rechts", [{"id": 1, "b": 3}]),
            node(
                "Sql",
                "merge",
                3.1,
                {
                    "mode": "combineBySql",
                    "query": "SELECT input1.a FROM input1 LEFT JION input2 ON input1.id = input2.id",
                },
            ),
            pass_on("Ende"),
        ],
        truth(None, "Sql"),
        [Wire("Links", "Sql"), Wire(START, "Rechts"), Wire("Rechts", "Sql", input=1), Wire("Sql", "Ende")],
    )
    yield case(
        "days between nothing",
        [
            data("Leihe", [{"von": "2026-01-01"}]),
            node(
                "Dauer",
                "dateTime",
                2,
                {
                    "operation": "getTimeBetweenDates",
                    "startDate": "={{ $json.von }}",
                    "endDate": "={{ $json.bis }}",
                    "units": ["day"],
                    "outputFieldName": "dauer",
                    "options": {},
                },
            ),
            pass_on("Ende"),
        ],
        truth("Dauer", None, "bis", also=("Leihe",)),
    )
    yield case(
        "sheet that is a text",
        [
            get("Anhang", "/csv", options={"response": {"response": {"responseFormat": "file"}}}),
            node("Json lesen", "extractFromFile", 1, {"operation": "fromJson", "options": {}}),
        ],
        truth("Anhang", "Json lesen", "JSON", also=("Json lesen",)),
    )
    yield case(
        "boolean from a German word",
        [
            data("Umfrage", [{"zu": "ja"}]),
            expression_set("Antwort", {"zu": "={{ $json.zu }}"}, kind="boolean"),
        ],
        truth("Umfrage", "Antwort", "zu", "ja"),
    )
    yield case(
        "price compared as a number",
        [
            get("Preise", "/preise"),
            expression_set("Notiz", {"n": "1"}),
            node("Teuer?", "if", 2.2, compare("={{ $json.preis }}", "number", "gt", 10)),
            pass_on("Ja"),
        ],
        truth("Preise", "Teuer?", "preis", also=("Teuer?",)),
    )
    yield case(
        "template reads through null",
        [
            data("Leute", [{"name": "A", "chef": {"name": "B"}}, {"name": "C", "chef": None}]),
            node("Chef?", "if", 2.2, compare("={{ $json.chef.name.length }}", "number", "gt", 0)),
            pass_on("Ja"),
        ],
        truth("Leute", None, "chef"),
    )
    yield case(
        "answer before anything ran",
        [
            data("Daten", [{"ok": True}]),
            node("Prüfen", "if", 2.2, compare("={{ $json.ok }}", "boolean", "equals", False)),
            code("Sonderfall", "return [{ json: { rabatt: 5 } }];"),
            code("Preis", "const r = $('Sonderfall').first().json.rabatt;\nreturn [{ json: { r } }];"),
        ],
        truth("Prüfen", "Preis", "Sonderfall", also=("Preis",)),
        [*chain("Daten", "Prüfen", "Sonderfall"), Wire("Prüfen", "Preis", output=1)],
    )
    yield case(
        "split of a list in a text",
        [
            data("Import", [{"tags": '["a","b"]'}]),
            node("Tags", "splitOut", 1, {"fieldToSplitOut": "tags", "options": {}}),
            every(
                "Kurz",
                "return { json: { t: $json.tags.slice(0, 1).at(0).codePointAt(0).toFixed(1), x: $json.tags.reverse() } };",
            ),
        ],
        truth("Import", "Kurz", "tags", also=("Tags",)),
    )
    yield case(
        "sort by a field that a Set node renamed",
        [
            data("Liste", [{"rang": 2}, {"rang": 1}]),
            expression_set("Neu", {"platz": "={{ $json.rang }}"}, keep=False, kind="number"),
            node(
                "Ordnen",
                "sort",
                1,
                {"sortFieldsUi": {"sortField": [{"fieldName": "rang", "order": "ascending"}]}, "options": {}},
            ),
        ],
        truth("Neu", "Ordnen", "rang", also=("Ordnen",)),
    )
    yield case(
        "hash of nothing",
        [
            data("Dokumente", [{"text": "x"}]),
            node(
                "Summe",
                "crypto",
                1,
                {"action": "hash", "type": "SHA256", "value": "={{ $json.inhalt.trim() }}", "dataPropertyName": "h"},
            ),
        ],
        truth("Summe", "Summe", "inhalt", also=("Dokumente",)),
    )
    yield case(
        "missing workflow in a loop",
        [
            data("Themen", [{"t": None}]),
            call_child("Rufen", "={{ 'nichtDa9999' }}"),
        ],
        truth(None, "Rufen"),
    )
    yield case(
        "value of a node in a text of an address",
        [
            data("Konfig", [{"basis": "service.invalid"}]),
            data("Aufträge", [{"id": 3}]),
            get("Abruf", "", url="={{ $('Konfig').first().json.basis }}/ok"),
        ],
        truth("Konfig", "Abruf", "basis", also=("Abruf",)),
    )
