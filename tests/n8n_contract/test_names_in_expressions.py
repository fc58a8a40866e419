"""Names and members of n8n's own values. An expression that reads from others gives nothing, and n8n says nothing."""

from typing import Any, Final
from uuid import uuid4

from dogubako_sandbox.n8n.workflow_parts import JsonObject
from tests.n8n_contract.one_sided import only_where_there_is
from tests.n8n_contract.place import Place
from tests.n8n_contract.test_runtime_checks import hook, links, node

# Of each, whether validation tells it. The real n8n gives nothing for these, and something for the others.
TOLD: Final = {
    "$('H').json.body": True,
    "$('H').body": True,
    "$('H').item.body": True,
    "$('H').all().json": True,
    "$input.json.body": True,
    "$input.first.json": True,
    "$node('H').json": True,
    "$node['H'].item": True,
    "items[0].json": True,
    "item.json.body": True,
    "body.x": True,
    "True": True,
    "moment().format()": True,
    "now()": True,
    "len($json.body)": True,
    "new URL('http://a').host": True,
    "btoa('x')": True,
    "Buffer.from('x').toString('base64')": True,
    "crypto.randomUUID()": True,
    "structuredClone({ a: 1 }).a": True,
    "process.env.HOME": True,
    "'a'.toUppercase()": True,
    "[1, 2].count()": True,
    "(5).toFixd(1)": True,
    "$now.toFromat('yyyy')": True,
    "$now.addDays(1)": True,
    "DateTime.fromText('2026')": True,
    "$('H').item.json.body.x": False,
    "$('H').first().json.body.x": False,
    "$('H').isExecuted": False,
    "$('H').params.path": False,
    "$input.first().json.body.x": False,
    "$node['H'].json.body.x": False,
    "$items('H')[0].json.body.x": False,
    "max(1, 2) + average(1, 2) + numberList(1, 2).length + toPathSegment('a')": False,
    "not(false) && zip([1], [2])": False,
    "[typeof process, typeof self, typeof global, typeof extend].join()": False,
    "Duration.fromMillis(5).toISO() + Interval.fromDateTimes($now, $now.plus(1)).length()": False,
    "encodeURIComponent('a') + parseInt('5') + new Set([1]).size + new Date(0).getTime()": False,
    "$now.format('yyyy') + $today.beginningOf('year').toISODate() + 'a'.hash() + [1].sum() + (5).isEven()": False,
    "'a'.toWellFormed() + [2, 1].toSorted()[0] + $now.toSQLTime() + DateTime.fromSQL('2026-01-01').year": False,
    "(() => { outer: for (const a of [1]) { for (const b of [1]) { continue outer } } return 'ok' })()": False,
}
IN_CODE: Final = {
    "body": False,
    "crypto": False,
    "URL": False,
    "process": False,
    "structuredClone": False,
    "moment": False,
    "$input": True,
    "items": True,
    "Buffer": True,
    "btoa": True,
    "console": True,
    "setTimeout": True,
    "require": True,
    "DateTime": True,
    "TextEncoder": True,
}


def sets(expressions: list[str]) -> list[JsonObject]:
    rows = [[{"id": "v", "name": "v", "value": f"={{{{ {one} }}}}", "type": "string"}] for one in expressions]
    options = {"ignoreConversionErrors": True}
    return [node(f"N{n}", "set", 3.4, assignments={"assignments": row}, options=options) for n, row in enumerate(rows)]


async def ran(place: Place, nodes: list[JsonObject], connections: JsonObject) -> Any:
    made = await place.call("create_workflow", name="Names", nodes=nodes, connections=connections, allowInvalid=True)
    await place.call("activate_workflow", id=made["id"])
    started = await place.call("run_workflow", id=made["id"], data={"x": 1})
    execution = await place.n8n.told("GET", f"executions/{started['execution']['id']}?includeData=true")
    return execution["data"]["resultData"]["runData"]


async def told_nodes(place: Place, nodes: list[JsonObject], connections: JsonObject) -> set[str]:
    found = await place.call("validate_workflow", nodes=nodes, connections=connections)
    return {one["node"] for one in (*found["errors"], *found["warnings"]) if one["problem"] == "unknownVariable"}


@only_where_there_is("any-trigger")
async def test_expressions_that_are_told_give_nothing_and_all_others_something(place: Place) -> None:
    nodes = [hook("H", uuid4().hex, "lastNode"), *sets(list(TOLD))]
    connections = {"H": {"main": [[{"node": one["name"], "type": "main", "index": 0} for one in nodes[1:]]]}}

    data = await ran(place, nodes, connections)

    given = [data[one["name"]][0]["data"]["main"][0][0]["json"]["v"] for one in nodes[1:]]
    assert {one: value is None for one, value in zip(TOLD, given, strict=True)} == TOLD
    assert await told_nodes(place, nodes, connections) == {f"N{n}" for n, told in enumerate(TOLD.values()) if told}


@only_where_there_is("any-trigger")
async def test_code_has_the_names_that_are_not_told(place: Place) -> None:
    asked = f"for (const name of {list(IN_CODE)}) {{ found[name] = eval(`typeof ${{name}}`) !== 'undefined' }}"
    code = f"const found = {{}};\n{asked}\nreturn [{{ json: found }}];"
    nodes = [hook("H", uuid4().hex, "lastNode"), node("C", "code", 2, jsCode=code)]
    uses = [node(name, "code", 2, jsCode=f"return [{{ json: {{ a: {name} }} }}];") for name in IN_CODE]

    data = await ran(place, nodes, links("H>C"))

    assert data["C"][0]["data"]["main"][0][0]["json"] == IN_CODE
    assert await told_nodes(place, uses, {}) == {name for name, there in IN_CODE.items() if not there}
