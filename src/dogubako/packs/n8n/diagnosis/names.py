"""A field that no node sets: misspelt, deeper in the item, or not in what a service or a trigger gave."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice, pairwise, takewhile
from typing import Any, Final

from dogubako.contract.normalization import nfc
from dogubako.contract.redaction import visible
from dogubako.packs.n8n.diagnosis.absence import absence_told, all_lack, is_plain
from dogubako.packs.n8n.diagnosis.assignments import assigned, elsewhere_set
from dogubako.packs.n8n.diagnosis.intended_makers import (
    Path,
    intended_maker,
    not_split,
    parse_caught,
    set_to_nothing,
    why_empty,
    written_names,
)
from dogubako.packs.n8n.diagnosis.references import Reference, only_reference, references
from dogubako.packs.n8n.diagnosis.scene import CODE_TYPES, Cause, Scene
from dogubako.packs.n8n.diagnosis.shown import shown_fields, shown_path
from dogubako.packs.n8n.diagnosis.spelling import is_same_name, names_alike, near_name
from dogubako.packs.n8n.formatters.flow import Place
from dogubako.packs.n8n.formatters.truncation import is_absent, value_at
from dogubako.packs.n8n.javascript_names import of_names

# What stands where a byte was no letter.
_NO_LETTER: Final = "\ufffd"
_DEEPEST_KEY: Final = 4
_MOST_SIBLINGS: Final = 200
_MOST_ALIKE: Final = 2
_MOST_FOUND: Final = 20
_WRAPPERS: Final = frozenset(
    "body data json query params result results response payload item items record fields attributes output".split()  # noqa: SIM905
)
# Nodes that put an answer from outside in place of the item.
_ANSWERS: Final = frozenset({"httpRequest", "graphql", "executeWorkflow"})
# Nodes that pass items on as they are.
PASSES: Final = frozenset(
    "if filter switch merge noOp wait limit sort splitInBatches removeDuplicates respondToWebhook".split()  # noqa: SIM905
)
_READS_INPUT = of_names(r"\$json|\$input|(?<![\w$.])items?\b|\$\(|\$node")


def never_set(scene: Scene, reader: str, reference: Reference, path: Path, walk: list[Place]) -> Cause:
    """Nobody wrote this name: a misspelling, a field that lies elsewhere, or data that came without it."""
    name, nearest = ".".join(path), walk[0]
    data = scene.json(nearest)
    if scene.is_empty(nearest):
        empty = _emptied(scene, walk)
        problem = f"it gave out an empty item, so there is no {name}{why_empty(scene, empty)}"
        return Cause(node=empty.node, problem=problem, place=empty, walk=tuple(walk))
    if path[0].isdecimal() and isinstance(data, Mapping):
        problem = f"it reads element {path[0]} of an item, but a list that a node gives out becomes items, one for each"
        return Cause(node=reader, problem=problem, place=nearest, walk=(nearest,), misread=True)
    known = (
        _unreadable(scene, path, walk)
        or intended_maker(scene, path, walk)
        or _only_this_item(scene, reader, path, walk)
        or _only_this_element(scene, reader, path, walk)
        or not_split(scene, path, walk)
        or set_to_nothing(scene, path, walk)
    )
    if known is not None:
        return known
    unset = absence_told(scene, reader, path[-1])
    elsewhere = _dotted(data, path) or _elsewhere(data, path)
    if elsewhere is not None and _is_of_another(data, path, elsewhere):
        elsewhere = None
    if elsewhere is not None and elsewhere != path:
        # Many things have an id or a name: the same one lies deeper only where nothing but a wrapper is around it.
        sure = _unwrapped(elsewhere) == _unwrapped(path)
        there = "but the item has it as" if sure else f"{unset}; it has"
        problem = f"it reads {shown_path(path)}, {there} {shown_path(elsewhere)}"
        return Cause(node=reader, problem=problem, place=nearest, walk=(nearest,), misread=sure)
    near = near_name(value_at(data, path[:-1]) if path[:-1] else data, path[-1])
    if near is not None:
        return _misnamed(scene, reader, path, near, walk)
    if (meant := _meant(scene, reader, path, data)) is not None:
        problem = f"it makes {meant} from {name}, {unset}, and the item has {meant} itself"
        return Cause(node=reader, problem=problem, place=nearest, walk=(nearest,), misread=True)
    for place in walk:
        if (made := _from_nothing(scene, place, path)) is not None:
            way = tuple(walk[: walk.index(place) + 1])
            return Cause(node=place.node, problem=made, place=place, walk=way, path=path)
    if (earlier := parse_caught(scene, walk) or _empty_before(scene, path, walk)) is not None:
        return earlier
    others = elsewhere_set(scene, path, walk, reader)
    there = f"{_holder_told(scene, path, nearest)}{_still_before(scene, path, walk)}"
    problem = f"it reads {name}, {unset}{others}; the {scene.item_told(nearest)}{there}"
    return Cause(node=reader, problem=problem, place=nearest, walk=(nearest,), path=path, unset=True)


def _unreadable(scene: Scene, path: Path, walk: list[Place]) -> Cause | None:
    """Who gave out fields whose names came out as `�`: a name among them may be the wanted one."""
    having = list(takewhile(lambda one: any(_NO_LETTER in key for key in map(str, _keys(scene.json(one)))), walk))
    if path[1:] or path[0].isascii() or not having:
        return None
    told = f"names of its fields have {_NO_LETTER} in place of letters: they were read in another encoding"
    problem = f"{told} than they were written in; none is {path[0]}"
    return Cause(node=having[-1].node, problem=problem, place=having[-1], walk=tuple(having), certain=False)


def _still_before(scene: Scene, path: Path, walk: list[Place]) -> str:
    """The node before that has a value of this name, deeper in its item: a node on the way did not take it."""
    for place in walk[1:]:
        found = next(
            (one for one in _deeper_ones(scene.json(place), path[-1]) if _has_value(scene.value(place, one))), None
        )
        if found is not None:
            return f"; '{place.node}' before it has {shown_path(found)}"
    return ""


def _empty_before(scene: Scene, path: Path, walk: list[Place]) -> Cause | None:
    """The node that gave out an empty object or item on the way, of which the field is missing later."""
    name = ".".join(path)
    holding = list(takewhile(lambda place: path[1:] and scene.value(place, path[:-1]) == {}, walk))
    # The parts of what a trigger received are often empty.
    if holding and scene.parents(holding[-1]):
        problem = f"it gave out {'.'.join(path[:-1])} as an empty object, so there is no {name}"
        return Cause(node=holding[-1].node, problem=problem, place=holding[-1], walk=tuple(holding))
    for place in walk[1:]:
        if scene.is_empty(place) and scene.kind(place.node) not in PASSES and scene.parents(place):
            node = scene.nodes.get(place.node)
            always = (
                " (it is there because of alwaysOutputData)" if node is not None and node.always_output_data else ""
            )
            problem = f"it gave out an empty item{always}, and nothing that was made from it has {name}"
            return Cause(node=place.node, problem=problem, place=place, walk=tuple(walk[: walk.index(place) + 1]))
    return None


def _holder_told(scene: Scene, path: Path, place: Place) -> str:
    """What there is in place of a missing part of a path."""
    size = next((n for n in range(len(path) - 1, 0, -1) if isinstance(scene.value(place, path[:n]), Mapping)), 0)
    return f"; {shown_path(path[:size])} has {shown_fields(scene.value(place, path[:size]))}" if size else ""


def _only_this_item(scene: Scene, reader: str, path: Path, walk: list[Place]) -> Cause | None:
    """The node that gave the field to other items, but not to this one: then the name is right."""
    for place in reversed(walk):
        run = scene.run_of(place)
        outputs = run.outputs[place.output] if run is not None and place.output < len(run.outputs) else None
        for number in range(min(len(outputs or ()), _MOST_SIBLINGS)):
            other = replace(place, item=number)
            if number != place.item and _has_value(scene.value(other, path)):
                if (apart := _other_branch(scene, reader, path, place, other, walk)) is not None:
                    return apart
                way, given = tuple(walk[: walk.index(place) + 1]), next(iter(scene.parents(place)), None)
                if scene.kind(place.node) == "splitOut" and given is not None:
                    told = f"what '{place.node}' makes its item {place.item} of has no {'.'.join(path)}"
                    return Cause(node=given.node, problem=f"{told}; item {number} has one", place=given, walk=way)
                problem = f"item {place.item} of it has no {'.'.join(path)}; item {number} has one"
                return Cause(node=place.node, problem=problem, place=place, walk=way, path=path)
    return None


def _has_value(value: Any) -> bool:
    return value is not None and not is_absent(value)


def _only_this_element(scene: Scene, reader: str, path: Path, walk: list[Place]) -> Cause | None:
    """A part of a list or a table without the field that another part has: then the name is right."""
    source, written = _source(scene, walk), repr(scene.settings.get(reader, {}))
    for size in range(1, len(path) - 1):
        holder, rest = scene.value(source, path[:size]), path[size + 1 :]
        if not is_absent(scene.value(source, path)):
            continue
        parts = dict(enumerate(holder)) if isinstance(holder, list) else holder if isinstance(holder, Mapping) else {}
        if isinstance(holder, Mapping) and path[size] in written:
            # The reader names this part himself.
            continue
        other = next((key for key in list(parts)[:_MOST_SIBLINGS] if _has_value(value_at(parts[key], rest))), None)
        if other is not None:
            problem = f"{'.'.join(path[: size + 1])} has no {'.'.join(rest)}; {'.'.join(path[:size])}.{other} has one"
            way = tuple(walk[: walk.index(source) + 1])
            return Cause(node=source.node, problem=problem, place=source, walk=way, path=path)
    return None


def _other_branch(scene: Scene, reader: str, path: Path, place: Place, other: Place, walk: list[Place]) -> Cause | None:
    """Two items of a merge that came in by different inputs: only one of the two branches gives the field."""
    own, its = (next(iter(scene.parents(one)), None) for one in (place, other))
    if scene.kind(place.node) != "merge" or own is None or its is None or own.node == its.node:
        return None
    if not all_lack(scene, [own, *scene.siblings(own)], path):
        return None
    near = near_name(scene.value(own, path[:-1]) if path[:-1] else scene.json(own), path[-1])
    if near is not None:
        return _misnamed(scene, reader, path, near, walk)
    key = None if scene.are_parted(own.node, its.node) else _shared_key(scene, own, its)
    if key is not None:
        told = f"it puts the items of '{own.node}' and '{its.node}' one behind the other, and only the latter have"
        problem = f"{told} {'.'.join(path)}; both have {key}, by which it could combine them"
        way = tuple(walk[: walk.index(place) + 1])
        return Cause(node=place.node, problem=problem, place=place, walk=way, lost=True)
    problem = f"it gives no {'.'.join(path)}; '{its.node}' does, and '{place.node}' puts the items of both together"
    return Cause(node=own.node, problem=problem, place=own, walk=tuple(walk[: walk.index(place) + 1]), path=path)


def _shared_key(scene: Scene, one: Place, other: Place) -> str | None:
    """A field with a value that items of both sides have."""
    here = [scene.json(each) for each in (one, *scene.siblings(one))]
    there = [scene.json(each) for each in (other, *scene.siblings(other))]
    for key in _keys(here[0]) & _keys(there[0]):
        held = [data.get(key) for data in there if isinstance(data, Mapping)]
        keys = [data.get(key) for data in here if isinstance(data, Mapping)]
        if any(one in held for one in keys if one is not None and not isinstance(one, bool)):
            return key
    return None


def _meant(scene: Scene, reader: str, path: Path, data: Any) -> str | None:
    """The field that a Set node fills from this path, if the item has one of that name already."""
    for name, written in assigned(scene, reader).items():
        whole = only_reference(written)
        if whole is not None and whole.names[: len(path)] == path and isinstance(data, Mapping) and name in data:
            return name
    return None


def _emptied(scene: Scene, walk: list[Place]) -> Place:
    """Who made the item empty: the nearest node that does not just pass items on. Items of triggers are often empty."""
    bare = list(takewhile(scene.is_empty, walk))
    return next((place for place in bare if scene.kind(place.node) not in PASSES), bare[-1])


def _from_nothing(scene: Scene, source: Place, path: Path) -> str | None:
    """Code that does write the field, from one that it read as nothing and did not mind: `name: $json.a?.b`."""
    if scene.kind(source.node) not in CODE_TYPES:
        return None
    for parent in scene.parents(source)[:1]:
        for one in references(scene.settings.get(source.node, {})):
            names = one.names
            size = next((n for n in range(1, len(names) + 1) if is_absent(scene.value(parent, names[:n]))), None)
            if one.node is None and is_plain(one) and names[-1:] == path[-1:] and size is not None:
                missing = ".".join(names[:size])
                return f"its code reads {'.'.join(names)}, and '{parent.node}' gave no {missing}"
    return None


def _dotted(data: Any, path: Path) -> Path | None:
    """The same field with its dots read the other way: a Set node makes `user.name` a field of `user`."""
    apart, joined = tuple(part for name in path for part in name.split(".")), (".".join(path),)
    return next((one for one in (apart, joined) if one != path and not is_absent(value_at(data, one))), None)


def _misnamed(scene: Scene, reader: str, path: Path, near: str, walk: list[Place]) -> Cause:
    """No node wrote `customer`, but one wrote `custmer`.

    A node in the middle that made up the name is to blame. A name that came in with the data, or that others read
    too, is right, and the reader is to blame.
    """
    other, name = (*path[:-1], near), ".".join(path)
    having = list(takewhile(lambda place: not is_absent(scene.value(place, other)), walk))
    writer = having[-1] if having else walk[0]
    written = written_names(scene, writer.node)
    given = scene.parents(writer) or scene.possible_parents(writer)
    reads = scene.kind(writer.node) in ("set", *CODE_TYPES) and _READS_INPUT.search(written) is not None
    works_on = reads or scene.kind(writer.node) == "renameKeys" or writer != _source(scene, walk)
    made_up = near in written and works_on and bool(given)
    if made_up and not _is_read_elsewhere(scene, other, reader):
        problem = f"there is no {name}, but a field called {'.'.join(other)}, first written here"
        # Either side may have the wrong name, unless others read it as the failing node does.
        before = any(_deeper({"": scene.json(one)}, path[-1]) for one in given)
        meant = before or _is_read_elsewhere(scene, path, reader)
        return Cause(node=writer.node, problem=problem, place=writer, walk=tuple(having), own=meant)
    has = visible(".".join(other))
    unseen = ", whose name has characters that do not show" if has != ".".join(other) else ""
    if nfc(near) == nfc(path[-1]):
        unseen = ", which looks the same but is composed of other characters (Unicode)"
    unseen = unseen or (", whose name begins or ends with a space" if near != near.strip() else "")
    unset = absence_told(scene, reader, path[-1])
    alike = _others_alike(scene, path, near, walk)
    problem = f"it reads {name}, {unset}; the item has {has}{alike}"
    problem = f"{problem}, from '{walk[0].node}'{unseen}"
    sure = bool(unseen) or (is_same_name(near, path[-1]) and not _is_numbered(near, path[-1]))
    return Cause(node=reader, problem=problem, place=walk[0], walk=(walk[0],), misread=sure)


def _others_alike(scene: Scene, path: Path, near: str, walk: list[Place]) -> str:
    """Further names that may be meant: those that hold the wanted one, or are spelt alike."""
    data = scene.value(walk[0], path[:-1]) if path[:-1] else scene.json(walk[0])
    others = [one for one in names_alike(data, path[-1]) if one != near][:_MOST_ALIKE]
    return f" and {', '.join(visible('.'.join((*path[:-1], one))) for one in others)}" if others else ""


def _is_numbered(one: str, other: str) -> bool:
    """Whether one of two names has a number at its end: `pupil1` is one of several, and `pupils` is a list of them."""
    return one[-1:].isdecimal() is not other[-1:].isdecimal()


def _is_read_elsewhere(scene: Scene, path: Path, reader: str) -> bool:
    return any(
        one.names[: len(path)] == path
        for name, settings in scene.settings.items()
        if name != reader
        for one in references(settings)
    )


def _source(scene: Scene, walk: list[Place]) -> Place:
    """Where the item comes from: an answer from outside, or the last place that shares a field with the items after."""
    for here, before in pairwise(walk):
        shared = _keys(scene.json(here)) & _keys(scene.json(before))
        if not shared or scene.kind(here.node) in _ANSWERS:
            return here
        reads = scene.kind(here.node) not in CODE_TYPES or _READS_INPUT.search(written_names(scene, here.node))
        if not reads and all(scene.value(here, (key,)) != scene.value(before, (key,)) for key in shared):
            return here
    return walk[-1]


def _keys(data: Any) -> set[str]:
    return set(data) if isinstance(data, Mapping) else set()


def _elsewhere(data: Any, path: Path) -> Path | None:
    """Where a field of this name lies deeper in the item, first of all where only a wrapper is around it."""
    found = list(islice(_deeper_ones(data, path[-1]), _MOST_FOUND))
    return next((one for one in found if _unwrapped(one) == _unwrapped(path)), next(iter(found), None))


def _unwrapped(path: Path) -> Path:
    return (*(one for one in path[:-1] if one not in _WRAPPERS and not one.isdecimal()), path[-1])


def _deeper(data: Any, name: str) -> Path | None:
    return next(_deeper_ones(data, name), None)


def _deeper_ones(data: Any, name: str, path: Path = ()) -> Iterator[Path]:
    """All fields of this name that lie deeper in the item."""
    if not isinstance(data, Mapping) or len(path) >= _DEEPEST_KEY:
        return
    for key, value in list(data.items())[:200]:
        if key == name and path:
            yield (*path, key)
        else:
            yield from _deeper_ones(value, name, (*path, str(key)))


def _is_of_another(data: Any, path: Path, found: Path) -> bool:
    """Whether it belongs to something else of the same kind: `rates.USD.buy`, where `rates.GBP` has no `buy`."""
    alike = len(found) == len(path) > 1 and found[:-2] == path[:-2]
    return alike and isinstance(value_at(data, path[:-1]), Mapping)
