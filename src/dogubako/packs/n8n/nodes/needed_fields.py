"""Check nodes that work by fields, and that name none. n8n saves and publishes them, and fails when they run.

n8n does not mark these parameters as required, because other parameters decide whether they count.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from dogubako.packs.n8n.nodes.display import is_expression
from dogubako.packs.n8n.nodes.problems import Problem, parameters_of, quoted

JsonObject = Mapping[str, Any]

_BASE: Final = "n8n-nodes-base."
_PAIRS: Final = "mergeByFields.values"
_PAIR: Final = ("field1", "field2")


def check_needed_fields(nodes: Sequence[JsonObject]) -> Iterator[Problem]:
    for node in nodes:
        needed = _NEEDED.get(str(node.get("type")).removeprefix(_BASE))
        version = node.get("typeVersion", 1)
        if needed is None or not isinstance(version, int | float):
            continue
        path = needed(parameters_of(node), version)
        if path is not None:
            message = f"{quoted(path)} names no field: n8n saves it, and fails when it runs the node."
            yield Problem(
                kind="missingParameter", node=str(node.get("name")), path=path, message=message, certain=False
            )


def _sort(parameters: JsonObject, version: float) -> str | None:
    path = "sortFieldsUi.sortField"
    simple = parameters.get("type", "simple") == "simple"
    return path if simple and _rows(parameters, path) == [] else None


def _summarize(parameters: JsonObject, version: float) -> str | None:
    path = "fieldsToSummarize.values"
    rows = _rows(parameters, path)
    return path if rows is not None and not any(_is_given(row, "field") for row in rows) else None


def _merge(parameters: JsonObject, version: float) -> str | None:
    if parameters.get("mode") != "combine" or version < 2:
        return None
    if version < 3:
        by_fields = parameters.get("combinationMode", "mergeByFields") == "mergeByFields"
        return _PAIRS if by_fields and _lacks_pairs(parameters) else None
    if parameters.get("combineBy", "combineByFields") != "combineByFields":
        return None
    advanced = parameters.get("advanced", False)
    if advanced is True:
        return _PAIRS if _lacks_pairs(parameters) else None
    return "fieldsToMatchString" if advanced is False and not _is_given(parameters, "fieldsToMatchString") else None


def _compare_datasets(parameters: JsonObject, version: float) -> str | None:
    rows = _rows(parameters, _PAIRS)
    if _PAIRS.partition(".")[0] not in parameters:
        # Its default is one pair without names. An empty list is taken as it is.
        rows = [{}]
    lacking = [row for row in rows or () if not all(_is_given(row, name) for name in _PAIR)]
    return _PAIRS if lacking else None


def _remove_duplicates(parameters: JsonObject, version: float) -> str | None:
    path = {"selectedFields": "fieldsToCompare", "allFieldsExcept": "fieldsToExclude"}.get(
        str(parameters.get("compare"))
    )
    other = parameters.get("operation", "removeDuplicateInputItems") != "removeDuplicateInputItems"
    return path if path is not None and version > 1 and not other and not _is_given(parameters, path) else None


_NEEDED: Final[Mapping[str, Callable[[JsonObject, float], str | None]]] = {
    "sort": _sort,
    "summarize": _summarize,
    "merge": _merge,
    "compareDatasets": _compare_datasets,
    "removeDuplicates": _remove_duplicates,
}


def _lacks_pairs(parameters: JsonObject) -> bool:
    rows = _rows(parameters, _PAIRS)
    return rows is not None and not any(_is_given(row, name) for row in rows for name in _PAIR)


def _rows(parameters: JsonObject, path: str) -> list[JsonObject] | None:
    """The entries of a collection: an empty list if there are none, None if it is not known."""
    outer, _, inner = path.partition(".")
    group = parameters.get(outer, {})
    rows = group.get(inner, []) if isinstance(group, Mapping) else None
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else None


def _is_given(parameters: JsonObject, name: str) -> bool:
    value = parameters.get(name, "")
    return is_expression(value) or value not in ("", None)
