"""Check that the data tables which nodes name exist. n8n publishes others, and fails when it runs the node."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from dogubako.contract.errors import DogubakoError
from dogubako.packs.n8n.api.administration import AdministrationApi
from dogubako.packs.n8n.nodes.channels import TOOL_SUFFIX
from dogubako.packs.n8n.nodes.display import is_expression
from dogubako.packs.n8n.nodes.problems import Problem, near_names, parameters_of, quoted

JsonObject = Mapping[str, Any]

_TYPE: Final = "n8n-nodes-base.dataTable"
_PATH: Final = "dataTableId"
_MODES: Final = ("id", "list", "name")
# As many as n8n is asked for. Of more, some are not known.
_MOST_TABLES: Final = 5_000
_LISTED: Final = "read_data_table without a table lists them."


class NamedTable(NamedTuple):
    """How a node names its table: by its name, or by its id."""

    by_name: bool
    value: str


async def check_tables(
    workflow: JsonObject, administration: AdministrationApi, known: Collection[NamedTable] = ()
) -> list[Problem]:
    """A problem for each node whose table is not there. `known` ones are not looked up."""
    named = [(node, table) for node, table in _named(workflow) if table not in known]
    if not named:
        return []
    try:
        tables = await administration.tables()
    except DogubakoError:
        # The key may not list them, or this n8n has none.
        return []
    if len(tables) >= _MOST_TABLES:
        return []
    ids = {str(one.get("id")) for one in tables}
    names = {str(one.get("name")) for one in tables} | set(_made(workflow))
    lowered = {one.casefold().strip() for one in names}
    return [
        _problem(node, table, names)
        for node, table in named
        if (table.value.casefold().strip() not in lowered if table.by_name else table.value not in ids)
    ]


def named_tables(workflow: JsonObject) -> set[NamedTable]:
    return {table for _, table in _named(workflow)}


def _table_nodes(workflow: JsonObject) -> Iterator[JsonObject]:
    nodes = workflow.get("nodes")
    for node in nodes if isinstance(nodes, Sequence) else ():
        if isinstance(node, Mapping) and node.get("type") in (_TYPE, _TYPE + TOOL_SUFFIX) and not node.get("disabled"):
            yield node


def _named(workflow: JsonObject) -> Iterator[tuple[str, NamedTable]]:
    """Names of nodes, and their tables. What an expression gives is not known."""
    for node in _table_nodes(workflow):
        parameters = parameters_of(node)
        makes = parameters.get("resource") == "table" and parameters.get("operation") in ("create", "list")
        locator = parameters.get(_PATH)
        if makes or not isinstance(locator, Mapping) or locator.get("mode", "id") not in _MODES:
            continue
        value = locator.get("value")
        if isinstance(value, str) and value and not is_expression(value):
            yield str(node.get("name")), NamedTable(by_name=locator.get("mode") == "name", value=value)


def _made(workflow: JsonObject) -> Iterator[str]:
    """The names of tables that the workflow makes itself."""
    for node in _table_nodes(workflow):
        parameters = parameters_of(node)
        if parameters.get("resource") == "table" and parameters.get("operation") == "create":
            yield str(parameters.get("tableName"))


def _problem(node: str, table: NamedTable, names: Collection[str]) -> Problem:
    how, near = ("name", near_names(table.value, names)) if table.by_name else ("id", ())
    message = f"There is no data table with the {how} {quoted(table.value)} that our key can see. {_LISTED}"
    return Problem(kind="unknownTable", node=node, path=_PATH, message=message, near=near, certain=False)
