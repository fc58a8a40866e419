"""Causes that a rule could name wrongly: it says less, or finds the node that is really to blame."""

import pytest

from dogubako.packs.n8n.diagnosis.report import Diagnosis

from .made import as_read, box_with, cause_told, failed_run, item, items, made, node, run, wires
from .test_searches_in_code import OF_UNDEFINED, diagnosed


@pytest.mark.parametrize(
    "code",
    [
        "const s = new Set($input.all().map(i => i.json.mail));\n"
        "if (s.size !== $input.all().length) throw new Error('duplicate');\nreturn $input.all();",
        "const seen = new Map();\nfor (const { json } of $input.all()) { seen.set(json.key, json); }\n"
        "if (seen.size < $input.all().length) { throw new Error('duplicate'); }\nreturn [];",
    ],
)
def test_a_count_is_not_blamed_where_it_is_compared_with_something_made_of_fields(code: str) -> None:
    line = code[: code.index("throw")].count("\n") + 1
    report = diagnosed(code, f"duplicate [line {line}]", {"mail": "a"}, {"mail": "a"})

    assert report["failure"]["node"] == "Use"
    assert "how many items" not in report["explanation"]


def test_a_count_alone_still_explains_a_throw() -> None:
    code = "const n = $input.all().length;\nif (n < 3) throw new Error('few');\nreturn [];"
    report = diagnosed(code, "few [line 2]", {"a": 1}, {"a": 2})

    assert "how many items it received" in report["explanation"]


def test_an_empty_answer_is_not_blamed_on_the_empty_item_of_the_trigger() -> None:
    runs = {
        "Start": [run(items({}))],
        "Status": [run(items({}), after="Start")],
        "Wait": [run(items({}), after="Status")],
        "Use": [failed_run(OF_UNDEFINED.format("status", 1), after="Wait", description="TypeError")],
    }
    status = node("Status", type="n8n-nodes-base.httpRequest", parameters={"url": "http://a.test"})
    wait = node("Wait", type="n8n-nodes-base.wait")
    use = node("Use", "return [{ json: { s: $input.first().json.data.status } }];")
    report = Diagnosis(as_read(made(runs, status, wait, use))).report()

    assert cause_told(report)["nodeName"] == "Status"
    assert "empty item" in report["explanation"]


def test_a_name_that_a_node_should_have_given_is_not_blamed_on_its_reader() -> None:
    keys = {"key": [{"currentKey": "Email", "newKey": "email"}]}
    rename = node("Rename", type="n8n-nodes-base.renameKeys", parameters={"keys": keys})
    runs = {
        "Sheet": [run(items({"E-Mail": "a@b.c"}))],
        "Rename": [run(items({"E-Mail": "a@b.c"}), after="Sheet")],
        "Use": [failed_run(OF_UNDEFINED.format("trim", 1), after="Rename", description="TypeError")],
    }
    use = node("Use", "return [{ json: { m: $input.first().json.email.trim() } }];")
    report = Diagnosis(as_read(made(runs, rename, use))).report()

    assert report["origin"]["nodeName"] == "Rename"
    assert "it renames Email to email, but the item has no Email; there is E-Mail" in report["explanation"]


async def test_credentials_in_a_sub_workflow_are_not_those_of_the_call() -> None:
    words = "Authorization failed - please check your credentials"
    call = node("Call", type="n8n-nodes-base.executeWorkflow", onError="continueRegularOutput")
    passed_on = item({"error": words}, 0, metadata={"subExecution": {"executionId": "2"}})
    main = made({"Start": [run(items({"a": 1}))], "Call": [run([passed_on], after="Start")]}, call, status="success")
    api = node("Api", type="n8n-nodes-base.httpRequest", parameters={"url": "http://a.test"})
    failed = failed_run(words, after="Called", httpCode="401")
    child = made({"Called": [run(items({"a": 1}))], "Api": [failed]}, api, id="2")

    async with box_with(main, child).running() as box:
        told = (await box.call("diagnose_execution", {"id": "1"})).value["data"]
    async with box_with(main).running() as box:
        alone = (await box.call("diagnose_execution", {"id": "1"})).value["data"]

    assert cause_told(told)["nodeName"] == "Api"
    assert told["childExecution"]["executionId"] == "2"
    assert "its credentials" not in alone["explanation"]


@pytest.mark.parametrize(("hinted", "guilty"), [("umsatz", "Sum"), ("stück", "Use")])
def test_a_calculation_without_its_field_is_not_blamed_on_who_reads_the_result(hinted: str, guilty: str) -> None:
    total = node("Sum", type="n8n-nodes-base.summarize", parameters={"field": "umsatz", "name": "sum_umsatz"})
    hint = {"message": f"The field '{hinted}' does not exist in any items"}
    runs = {
        "Sales": [run(items({"Umsatz": 5}))],
        "Sum": [run(items({"sum_umsatz": 0}), after="Sales", hints=[hint])],
        "Use": [failed_run(OF_UNDEFINED.format("toFixed", 1), after="Sum", description="TypeError")],
    }
    use = node("Use", "return [{ json: { t: $input.first().json.sum_Umsatz.toFixed(2) } }];")
    report = Diagnosis(as_read(made(runs, total, use))).report()

    assert report["origin"]["nodeName"] == guilty
    assert ("it reads umsatz, which none of its items has; they have Umsatz" in report["explanation"]) is (
        guilty == "Sum"
    )


def test_a_merge_that_only_appends_is_not_blamed_for_what_one_branch_does_not_give() -> None:
    both = node("Both", type="n8n-nodes-base.merge", parameters={})
    joined = [item({"to": "a"}, {"item": 0}), item({"adr": "b"}, {"item": 0, "input": 1})]
    runs = {
        "Mail": [run(items({"to": "a"}))],
        "Letter": [run(items({"adr": "b"}))],
        "Both": [run(joined, after=["Mail", "Letter"])],
        "Use": [failed_run(OF_UNDEFINED.format("length", 1), after="Both", description="TypeError")],
    }
    use = node("Use", "return $input.all().map(i => ({ json: { n: i.json.adr.length } }));")
    report = Diagnosis(as_read(made(runs, both, use))).report()

    assert cause_told(report)["nodeName"] == "Mail"
    assert "it gives no adr; 'Letter' does" in report["explanation"]


@pytest.mark.parametrize("columns", ["id;mail", "id,mail", "id\tmail", "id | mail"])
def test_a_table_that_was_not_taken_apart_is_not_blamed_on_who_reads_a_column(columns: str) -> None:
    runs = {
        "File": [run(items({"csv": f"{columns}\n1"}))],
        "Parse": [run(items({columns: "1"}), after="File")],
        "Use": [failed_run(OF_UNDEFINED.format("trim", 1), after="Parse", description="TypeError")],
    }
    use = node("Use", "return [{ json: { m: $input.first().json.mail.trim() } }];")
    report = Diagnosis(as_read(made(runs, use))).report()

    assert report["origin"]["nodeName"] == "Parse"
    assert "the columns of the table were not taken apart" in report["explanation"]


def test_what_a_condition_makes_of_a_field_is_not_told_as_the_field() -> None:
    left = "={{ $json.qty < 5 ? 'yes' : 'no' }}"
    condition = {"leftValue": left, "rightValue": "Yes", "operator": {"operation": "equals"}}
    few = node("Few", type="n8n-nodes-base.filter", parameters={"conditions": {"conditions": [condition]}})
    stock = {"qty": "12"}
    runs = {"Stock": [run(items(stock))], "Few": [run([], items(stock), after="Stock")]}
    told = made(runs, few, node("Tell"), status="success")
    told["workflowData"]["connections"] = wires("Stock", "Few", "Tell")
    report = Diagnosis(as_read(told)).report()

    assert f'it tests {left} by \'equals\' with "Yes" (string), and qty is "12" (string)' in report["explanation"]


def test_what_a_list_was_reduced_to_is_not_taken_for_its_elements() -> None:
    code = (
        "const t = $input.all().map(i => i.json.v).reduce((a, b) => a.n + b.n);\nreturn [{ json: { m: t.max.value } }];"
    )
    report = diagnosed(code, OF_UNDEFINED.format("value", 2), {"v": {"n": 1}}, {"v": {"n": 2}})

    assert "v.max" not in report["explanation"]
    assert report.get("origin", {"nodeName": "Use"})["nodeName"] == "Use"


def test_a_name_with_a_space_at_its_end_is_called_so() -> None:
    report = diagnosed("return $input.first().json.Name.trim();", OF_UNDEFINED.format("trim", 1), {"Name ": "A"})

    assert "whose name begins or ends with a space" in report["explanation"]


def test_a_disabled_node_before_a_check_is_remarked() -> None:
    runs = {
        "Data": [run(items({"v": 1}))],
        "Only large": [run(items({"v": 1}), after="Data")],
        "Use": [failed_run("too small [line 1]", after="Only large")],
    }
    only = node("Only large", type="n8n-nodes-base.filter", disabled=True)
    use = node("Use", "if ($input.first().json.v <= 5) throw new Error('too small');\nreturn $input.all();")
    report = Diagnosis(as_read(made(runs, only, use))).report()

    assert "because v is 1 (number), from 'Data'; 'Only large' before it is disabled" in report["explanation"]


def test_a_text_that_a_pattern_does_not_fit_is_told_without_a_property() -> None:
    code = "const [, n] = $input.first().json.t.match(/tel: (\\d+)/);\nreturn [{ json: { n } }];"
    message = "object null is not iterable (cannot read property Symbol(Symbol.iterator)) [line 1]"
    report = diagnosed(code, message, {"t": "Tel: 123"})

    assert "None" not in report["explanation"]
    assert 't is "Tel: 123" (string)' in report["explanation"]


def test_a_field_of_a_neighbour_is_not_told_as_the_field_that_is_missing() -> None:
    code = (
        "const all = Object.values($input.first().json.rates);\n"
        "return all.map(r => ({ json: { x: r.buy.toFixed(2) } }));"
    )
    rates = {"USD": {"buy": 1.1}, "GBP": {"sell": 1.2}}
    report = diagnosed(code, OF_UNDEFINED.format("toFixed", 2), {"rates": rates})

    assert cause_told(report)["nodeName"] == "Make"
    assert "rates.GBP has no buy; rates.USD has one" in report["explanation"]
    assert "rates.USD.buy" not in report["explanation"]
