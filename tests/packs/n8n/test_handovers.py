"""That an item before has the same value does not make it the source: the node between may have put its own there."""

import pytest

from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .made import JsonObject, as_read, box_with, failed_run, item, items, made, node, run

OF_NULL = "Cannot read properties of null (reading 'trim') [line 1]"
OF_UNDEFINED = "Cannot read properties of undefined (reading 'trim') [line 1]"


def read_after(between: JsonObject, given: JsonObject, gave: JsonObject, message: str = OF_NULL) -> JsonObject:
    """The diagnosis of code that reads `adres` behind a node that was given one item and gave out another."""
    use = node("Etiket", "return $input.all().map(i => ({ json: { a: i.json.adres.trim() } }));")
    runs = {
        "Bron": [run(items(given))],
        between["name"]: [run(items(gave), after="Bron")],
        "Etiket": [failed_run(message, after=between["name"], lineNumber=1)],
    }
    source = node("Bron", type="n8n-nodes-base.googleSheets", parameters={})
    return Diagnosis(as_read(made(runs, source, between, use))).report()


def test_an_answer_that_replaces_the_item_is_the_source_of_its_null() -> None:
    ask = node("Vraag", type="n8n-nodes-base.httpRequest", parameters={"url": "=http://a.test/{{ $json.id }}"})
    report = read_after(ask, {"id": 4, "adres": None}, {"klant": 4, "adres": None})

    assert report["noticed"]["nodeName"] == "Vraag"
    assert "adres is null (null), as 'Vraag' received it" in report["values"]


def test_a_field_that_the_answer_lacks_is_not_the_null_of_what_was_asked() -> None:
    ask = node("Vraag", type="n8n-nodes-base.httpRequest", parameters={"url": "=http://a.test/{{ $json.id }}"})
    report = read_after(ask, {"id": 4, "adres": None}, {"klant": 4}, OF_UNDEFINED)

    assert report["noticed"]["nodeName"] != "Bron"


@pytest.mark.parametrize(
    "code",
    [
        "return $input.all().map(i => ({ json: { ...i.json, adres: boek[i.json.id] ?? null } }));",
        "const later = $now;\nreturn $input.all().map(i => ({ json: { ...i.json, adres: zoek(i.json.id, later) } }));",
        "for (const i of $input.all()) i.json.adres = zoek(i.json.id);\nreturn $input.all();",
    ],
    ids=["replayed", "clock", "assigned"],
)
def test_code_that_sets_the_field_made_it(code: str) -> None:
    known = "const boek = { 9: 'Laan 2' };\nconst zoek = (id) => helpers.find(id);\n"
    data = {"id": 4, "adres": None}
    report = read_after(node("Verrijk", known + code), data, data)

    assert report["noticed"]["nodeName"] == "Verrijk"
    assert all(one.startswith("adres is null (null), made in 'Verrijk' by ") for one in report["values"])


@pytest.mark.parametrize(
    "code",
    [
        "return $input.all().map(i => ({ json: { ...i.json, klaar: true } }));",
        "return $input.all().map(({ json }) => ({ json: { id: json.id, adres: json.adres ?? null, klaar: true } }));",
        "for (const i of items) i.json.klaar = true;\nreturn items;",
    ],
    ids=["spread", "copied", "handed on"],
)
def test_code_that_leaves_the_field_as_it_was_did_not_make_it(code: str) -> None:
    data = {"id": 4, "adres": None}
    report = read_after(node("Merk", code), data, data | {"klaar": True})

    assert report["noticed"]["nodeName"] == "Bron"


def test_a_set_node_that_fills_the_field_made_it() -> None:
    rows = [{"name": "adres", "value": "={{ $json.straat }}", "type": "string"}]
    parameters = {"includeOtherFields": True, "assignments": {"assignments": rows}}
    write = node("Vul", type="n8n-nodes-base.set", parameters=parameters)
    report = read_after(write, {"adres": None, "weg": "Laan 2"}, {"adres": None, "weg": "Laan 2"})

    assert report.get("values", []) == []
    assert (report.get("origin") or report["noticed"])["nodeName"] == "Vul"


def test_the_key_that_code_did_not_find_is_told_with_the_nearest() -> None:
    code = (
        "const boek = [{ nr: 'B-7', adres: 'Laan 2' }, { nr: 'B-9', adres: 'Kade 1' }];\n"
        "const van = (nr) => boek.find(b => b.nr === nr)?.adres ?? null;\n"
        "return $input.all().map(i => ({ json: { ...i.json, adres: van(i.json.nr) } }));"
    )
    report = read_after(node("Zoek", code), {"nr": "b7"}, {"nr": "b7", "adres": None})

    told = (report.get("origin") or report["noticed"])["problem"]
    assert 'it looks for "b7" (string), among keys such as "B-7" (string)' in told


def joined(resolve: str | None, one: str | None, other: str | None) -> JsonObject:
    """The diagnosis of a merge by position of two items with an address each."""
    clash = {"clashHandling": {"values": {"resolveClash": resolve}}} if resolve else {}
    join = node(
        "Voeg",
        type="n8n-nodes-base.merge",
        parameters={"mode": "combine", "combineBy": "combineByPosition", "options": clash},
    )
    use = node("Etiket", "return $input.all().map(i => ({ json: { a: i.json.adres.trim() } }));")
    runs = {
        "Links": [run(items({"id": 1, "adres": one}))],
        "Rechts": [run(items({"nr": 1, "adres": other}))],
        "Voeg": [
            run(
                [item({"id": 1, "nr": 1, "adres": None}, [{"item": 0}, {"input": 1, "item": 0}])],
                after=["Links", "Rechts"],
            )
        ],
        "Etiket": [failed_run(OF_NULL, after="Voeg", lineNumber=1)],
    }
    sides = [node(name, type="n8n-nodes-base.googleSheets", parameters={}) for name in ("Links", "Rechts")]
    return Diagnosis(as_read(made(runs, *sides, join, use))).report()


@pytest.mark.parametrize(("resolve", "side"), [(None, "Rechts"), ("preferLast", "Rechts"), ("preferInput1", "Links")])
def test_a_merge_takes_the_field_of_the_side_that_it_prefers(resolve: str | None, side: str) -> None:
    report = joined(resolve, None, None)

    assert report["noticed"]["nodeName"] == side
    assert f"adres is null (null), made in '{side}'" in report["values"]


def test_a_value_that_a_merge_gave_up_for_a_null_is_told() -> None:
    report = joined(None, "Laan 2", None)

    assert "'Voeg' took that over \"Laan 2\" (string) of 'Links'" in report["noticed"]["problem"]


def test_an_element_of_a_gathered_list_is_followed_to_its_item() -> None:
    gather = node("Alles", type="n8n-nodes-base.aggregate", parameters={"aggregate": "aggregateAllItemData"})
    use = node("Etiket", "return $json.data.map(i => ({ json: { a: i.adres.trim() } }));")
    rows = [{"adres": "Laan 2"}, {"adres": None}]
    runs = {
        "Bron": [run(items(*rows))],
        "Alles": [run([item({"data": rows}, [{"item": 0}, {"item": 1}])], after="Bron")],
        "Etiket": [failed_run(OF_NULL, after="Alles", lineNumber=1)],
    }
    source = node("Bron", type="n8n-nodes-base.googleSheets", parameters={})
    report = Diagnosis(as_read(made(runs, source, gather, use))).report()

    assert (report["noticed"]["nodeName"], report["noticed"]["itemIndex"]) == ("Bron", 1)


async def test_the_execution_of_the_item_is_found_among_calls_for_each_item() -> None:
    call = node("Roep", type="n8n-nodes-base.executeWorkflow", parameters={"mode": "each"})
    use = node("Etiket", "return $input.all().map(i => ({ json: { a: i.json.adres.trim() } }));")
    given: list[JsonObject] = [{"nr": str(number)} for number in range(5)]
    gave = [one | {"adres": "Laan 2" if one["nr"] != "3" else None} for one in given]
    called = [{"metadata": {"subExecution": {"executionId": str(number + 2)}}} for number in range(5)]
    runs = {
        "Bron": [run(items(*given))],
        "Roep": [run([item(one, n, **called[n]) for n, one in enumerate(gave)], after="Bron")],
        "Etiket": [failed_run(OF_NULL, after="Roep", lineNumber=1)],
    }
    start = node("Gestart", type="n8n-nodes-base.executeWorkflowTrigger", parameters={})
    look = node(
        "Boek",
        "const b = { 0: 'Laan 2', 1: 'Laan 2', 2: 'Laan 2', '3 ': 'Kade 1', 4: 'Laan 2' };\n"
        "return $input.all().map(({ json }) => ({ json: { ...json, adres: b[json.nr] ?? null } }));",
    )
    children = [
        made(
            {"Gestart": [run(items(given[n]))], "Boek": [run(items(gave[n]), after="Gestart")]},
            start,
            look,
            id=str(n + 2),
            status="success",
        )
        for n in range(5)
    ]
    async with box_with(made(runs, call, use), *children).running() as box:
        result = await box.call("diagnose_execution", {"id": "1"})

    noticed = result.value["data"]["noticed"]
    assert (noticed["nodeName"], noticed["executionId"]) == ("Boek", "5")
    assert 'it looks for "3" (string), among keys such as "3 " (string)' in noticed["problem"]


def test_only_the_items_that_a_filter_kept_decided_a_throw() -> None:
    code = (
        "const fout = $input.all().filter(i => i.json.saldo < 0);\n"
        "if (fout.length) throw new Error(`Onder nul: ${fout.length}`);\nreturn $input.all();"
    )
    runs = {
        "Bron": [run(items({"saldo": 5}, {"saldo": -2}, {"saldo": 9}))],
        "Toets": [failed_run("Onder nul: 1 [line 2]", after="Bron", lineNumber=2)],
    }
    source = node("Bron", type="n8n-nodes-base.googleSheets", parameters={})
    report = Diagnosis(as_read(made(runs, source, node("Toets", code)))).report()

    assert "saldo is -2 (number)" in report["explanation"]
    assert "saldo is 5" not in str([report["explanation"], report["values"]])
