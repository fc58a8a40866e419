"""Checkers of statements about what is not there: fields that no item has, that no node sets, or that are lost."""

import re

from .fact_view import View, states, told, visible, with_path
from .recorded_facts import Recorded, paths_of, values_at
from .report_statements import NODE


@states(r"^<F>(?: of <N>)? is not there(?=$| in its|; )", r"(?:\(|; )<W> is not there")
def is_not_there(view: View, path: str, node: str | None = None) -> str | None:
    made = re.findall(f"made in {NODE} by", view.statement.text[: view.at])
    read = [view.given(view.masked.names[int(one)]) for one in made] or [view.given(view.statement.failing)]
    read = [view.out(node)] if node else read
    if all(items and len(with_path(items, path)) == len(items) for items in read):
        return f"all items have it: {told(read[0], path)}"
    return None


@states(r"(?:the|its) item comes from <N> and has <L>(?=$|, so |, and the |\. |; |, which|\))")
def item_has_fields(view: View, node: str, names: str) -> str | None:
    readers = {view.node, view.statement.failing, *view.masked.nodes_in(view.statement.text)}
    # A caller fills the inputs of a sub-workflow itself.
    readers |= {name for one in view.family for name in one.nodes if one.kind(name) == "executeWorkflow"}
    # The values of an error that was passed on are what the first node that failed had read.
    readers |= {name for one in view.family for name, node_ in one.nodes.items() if node_.get("onError") is not None}
    items = [item for one in readers for name, item in view.home(one).read(one) if name == node]
    keys = [", ".join(visible(str(key)) for key in item.json) or "no fields" for item in items]
    start = names.removesuffix(", …")
    if any(one == start or (start != names and one.startswith(start)) for one in keys):
        return None
    return f"no item that it read has just these fields; {node!r} has {keys[:2]}"


@states(r"reads <F>, which is in no item of the execution(?! \(.* would, but the item did not come that way)")
def no_node_sets(view: View, path: str) -> str | None:
    for execution, name, item in view.everything():
        after = execution is view.execution and (name == view.node or view.node in execution.before(name))
        if not after and values_at(item.json, path):
            return f"item {item.index} of {name!r} (execution {execution.id}) has it: {told([item], path)}"
    for execution in view.family:
        for name in execution.nodes:
            deeper = any(at.endswith(f".{path}") for item in execution.items(name) for at, _ in paths_of(item.json))
            own = (execution, name) == (view.execution, view.node)
            if not own and not deeper and _writes(execution, name, path):
                return f"{name!r} (execution {execution.id}) writes it"
    return None


def _writes(execution: Recorded, node: str, path: str) -> bool:
    """Whether the settings or the code of a node give a field of this name a value."""
    if any(name == path for name, _ in _fields_written(execution, node)):
        return True
    settings = execution.settings(node)
    code = " ".join(str(settings.get(key) or "") for key in ("jsCode", "functionCode", "pythonCode"))
    name = re.escape(path)
    made = rf"[{{,]\s*['\"]?{name}['\"]?\s*:|\.{name}\s*=(?![=>])|\[['\"]{name}['\"]\]\s*=(?!=)"
    short = rf"[{{,]\s*{name}\s*(?:,[^{{}}]*)?\}}(?!\s*=)"
    return re.fullmatch(r"[\w$]+", path) is not None and re.search(f"{made}|{short}", code) is not None


@states(
    "(?:with|reads|made from|splits by|by) <W>, which none of its items has",
    "is made without <W>(?:$|;)",
    "it (?:tests|splits) <W>, which the items do not have",
)
def no_item_has(view: View, path: str) -> str | None:
    having = with_path(view.given(), path)
    return f"items have it: {told(having, path)}" if having else None


@states("it writes a text with <F>, which none of its items has, so nothing stands there")
def nothing_stands_there(view: View, path: str) -> str | None:
    """The text that the node gave out has to have a gap where the field is meant to stand."""
    for name, written in _fields_written(view.execution, view.node):
        if path.rpartition(".")[2].strip("[]") not in written:
            continue
        for item in view.out(view.node):
            for text in values_at(item.json, name):
                if isinstance(text, str) and not _has_gap(written, path, text):
                    return f"the text is {text!r}"
    return None


def _fields_written(execution: Recorded, node: str | None) -> list[tuple[str, str]]:
    assigned = execution.settings(node).get("assignments", {})
    listed = assigned.get("assignments", ()) if isinstance(assigned, dict) else ()
    return [(str(one.get("name")), str(one.get("value"))) for one in listed if isinstance(one, dict)]


def _has_gap(written: str, path: str, text: str) -> bool:
    last = path.rpartition(".")[2]
    pattern = ""
    for part in re.split(r"(\{\{.*?\}\})", written.removeprefix("=")):
        is_field = part.startswith("{{") and (last in part or ("[" in part and "[]" in path))
        pattern += "(?:undefined|null)?" if is_field else ".*?" if part.startswith("{{") else re.escape(part)
    return re.fullmatch(pattern, text, re.DOTALL) is not None


@states("^it gives out no <F>, which")
def gives_out_no(view: View, path: str) -> str | None:
    having = with_path(view.out(view.node), path)
    return f"its items have it: {told(having, path)}" if having else None


@states(r": there is no <W>(?: and no <W>)?$")
def there_is_no(view: View, *paths: str | None) -> str | None:
    for path in paths:
        items = view.given()
        if path and items and len(with_path(items, path)) == len(items):
            return f"all items have it: {told(items, path)}"
    return None


@states("^so there is no <F>$")
def so_there_is_no(view: View, path: str) -> str | None:
    items = view.out(view.node)
    has_all = bool(items) and len(with_path(items, path)) == len(items)
    return f"all its items have it: {told(items, path)}" if has_all else None


@states("item <D> of it has no <F>(?:$|;|,)")
def item_lacks(view: View, index: int, path: str) -> str | None:
    items = [item for item in view.out(view.node) if item.index == index]
    return None if any(not values_at(item.json, path) for item in items) else f"it has: {told(items, path)}"


@states("^item <D> has one")
def item_has_one(view: View, index: int) -> str | None:
    path = re.search(r"has no ([^;]+);", view.statement.whole)
    items = [item for item in view.spoken_of() if item.index == index]
    everything = [item for _, _, item in view.everything() if item.index == index]
    return None if path is None or with_path([*items, *everything], path[1]) else f"it has not: {told(items, path[1])}"


@states("^(?!the binary)<F> is lost here")
def is_lost(view: View, path: str) -> str | None:
    items = view.out(view.node)
    if items and len(with_path(items, path)) == len(items):
        return f"its items have it: {told(items, path)}"
    before = [item for name in view.execution.before(view.node or "") for item in view.execution.items(name)]
    return None if with_path(before, path) else "no item before has it"


@states("^the binary data is lost here")
def binary_is_lost(view: View) -> str | None:
    items = view.out(view.node)
    return "its items have binary data" if items and all(item.binary for item in items) else None


@states("^<N> before it (?:still )?has it")
def still_has_it(view: View, node: str) -> str | None:
    lost = re.match(r"(.+?) is lost here", view.statement.whole)
    return None if lost is None or with_path(view.out(node), lost[1]) else f"{node!r} has no {lost[1]}"


@states("^the item has <F>, from <N>")
def node_has(view: View, fields: str, node: str) -> str | None:
    names = [one for one in re.split(", | and ", fields) if one != "…"]
    missing = [one for one in names if not with_path(view.out(node), one) and not _visibly(view, node, one)]
    return f"{node!r} has no {missing}" if missing else None


def _visibly(view: View, node: str | None, name: str) -> bool:
    """Whether a field or a file has this name, as it shows."""
    names = [str(key) for item in view.out(node) for key in (*item.json, *(item.binary or ()))]
    return any(visible(one).strip() == name for one in names)


@states("<W>, but the item has it as <F>(?:$|,|:)")
def item_has_it_as(view: View, path: str, other: str) -> str | None:
    items = view.given()
    return None if with_path(items, other) and not all(with_path([one], path) for one in items) else told(items, other)


@states("it gave out an empty item")
def gave_empty_item(view: View) -> str | None:
    items = view.out(view.node)
    return None if any(item.json == {} for item in items) else f"it gave out {[item.json for item in items][:2]}"


@states("<W> from <N>: absent")
def key_is_absent(view: View, path: str, node: str) -> str | None:
    items = view.out(node)
    return None if len(with_path(items, path)) < len(items) else f"{node!r} has {told(items, path)}"


@states("^there is no <F>, but a field called <F>, first written here")
def first_written_here(view: View, path: str, other: str) -> str | None:
    items = view.out(view.node)
    named = with_path(items, other) or _visibly(view, view.node, other)
    if with_path(items, path) or not named:
        return f"it has {told(items, path)} and {told(items, other)}"
    return None


@states("^<F> is called <W> from here on")
def is_called(view: View, path: str, other: str) -> str | None:
    return None if with_path(view.out(view.node), other) else f"it gave out no {other}"


@states("^(?!it )<W> comes from <N>(?:$|,)")
def comes_from(view: View, path: str, node: str) -> str | None:
    return None if with_path(view.out(node), path) else f"{node!r} has {told(view.out(node), path)}"


@states("it splits <W>, an empty list, from <N>")
def splits_nothing(view: View, path: str, _node: str) -> str | None:
    return None if any([] in values_at(item.json, path) for item in view.given()) else told(view.given(), path)
