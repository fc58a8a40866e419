"""Methods of lists, as far as they can be replayed."""

from collections.abc import Callable
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.evaluation import Unknowable
from dogubako.packs.n8n.diagnosis.javascript_values import ABSENT, UNKNOWN
from dogubako.packs.n8n.diagnosis.replay.values import (
    Arr,
    Class,
    Func,
    Missed,
    Native,
    Obj,
    Sifted,
    Thrown,
    Val,
    made_of,
    nearest,
    text_of,
    truth,
)

Call = Callable[[Val, list[Val], int], Val]

_LONGEST_JOINED: Final = 20_000
_MOST_TESTS: Final = 200
_MOST_CHOSEN: Final = 6

LIST_METHODS: Final = frozenset(
    """
    map filter forEach reduce reduceRight find findIndex findLast findLastIndex some every push join sort flatMap flat
    pop shift unshift splice slice includes indexOf lastIndexOf concat reverse keys entries values at fill toSorted
    toReversed toString with
    """.split()  # noqa: SIM905 - a list of names reads best so
)


def list_call(listed: Val, name: str, given: list[Val], line: int, call: Call) -> Val:
    """A method of a list; `call` calls a function of the code."""
    if name in _CALLBACKS and given:
        if _can_be_called(given[0].value):
            return _CALLBACKS[name](listed, given, line, call)
        if given[0].is_known and not isinstance(given[0].value, Class):
            raise Thrown("function", None, line, given[0])
        return Val(UNKNOWN)
    if name not in _PLAIN:
        raise Unknowable
    return _PLAIN[name](listed.value, given, Val(None, None, listed.value.made or listed.spots))


def _can_be_called(value: Any) -> bool:
    return isinstance(value, (Func, Native)) or (isinstance(value, Obj) and value.kind == "static")


def _push(arr: Arr, given: list[Val], spots: Val) -> Val:
    arr.elements.extend(given)
    return made_of(len(arr.elements), spots)


def _unshift(arr: Arr, given: list[Val], spots: Val) -> Val:
    arr.elements[:0] = given
    return made_of(len(arr.elements), spots)


def _pop(arr: Arr, _: list[Val], spots: Val) -> Val:
    return arr.elements.pop() if arr.elements else Val(ABSENT, None, spots.spots)


def _shift(arr: Arr, _: list[Val], spots: Val) -> Val:
    return arr.elements.pop(0) if arr.elements else Val(ABSENT, None, spots.spots)


def _at(arr: Arr, given: list[Val], _: Val) -> Val:
    place = given[0].value if given else 0
    if not isinstance(place, int):
        raise Unknowable
    if place < 0 and arr.elements:
        place += len(arr.elements)
    if place < 0:
        # Of an empty list it is the first element that is not there.
        return arr.get(0) if not arr.elements else Val(ABSENT, None, arr.made)
    return arr.get(place)


def _slice(arr: Arr, given: list[Val], spots: Val) -> Val:
    ends = [one.value for one in given[:2]]
    if not all(isinstance(one, int) for one in ends):
        raise Unknowable
    part = arr.elements[slice(*ends)] if len(ends) > 1 else arr.elements[ends[0] if ends else 0 :]
    return Val(Arr(part, None, spots.spots, arr.counted), None, spots.spots)


def _flattened(elements: list[Val]) -> list[Val]:
    return [one for each in elements for one in (each.value.elements if isinstance(each.value, Arr) else [each])]


def _concat(arr: Arr, given: list[Val], spots: Val) -> Val:
    return Val(Arr([*arr.elements, *_flattened(given)], None, spots.spots))


def _reverse(arr: Arr, _: list[Val], spots: Val) -> Val:
    return Val(Arr(arr.elements[::-1], None, spots.spots, arr.counted))


def _flat(arr: Arr, _: list[Val], spots: Val) -> Val:
    return Val(Arr(_flattened(arr.elements), None, spots.spots))


def _entries(arr: Arr, _: list[Val], spots: Val) -> Val:
    return Val(Arr([Val(Arr([Val(index), one])) for index, one in enumerate(arr.elements)], None, spots.spots))


def _unsorted(arr: Arr, _: list[Val], spots: Val) -> Val:
    return Val(arr, None, spots.spots)


def _join(arr: Arr, given: list[Val], spots: Val) -> Val:
    between = given[0].value if given else ","
    parts = ["" if one.is_nothing else text_of(one.value) for one in arr.elements]
    if UNKNOWN in parts or not isinstance(between, str):
        return made_of(UNKNOWN, spots, *arr.elements[:3])
    if sum(map(len, parts)) + len(between) * len(parts) > _LONGEST_JOINED:
        return made_of(UNKNOWN, spots)
    return made_of(between.join(parts), spots, *arr.elements[:3])


def _includes(arr: Arr, given: list[Val], spots: Val) -> Val:
    found = _index_of(arr, given, spots)
    return found if not found.is_known else Val(found.value >= 0, None, found.made)


def _index_of(arr: Arr, given: list[Val], spots: Val) -> Val:
    wanted = given[0] if given else Val(ABSENT)
    held = [one.value for one in arr.elements]
    if UNKNOWN in held or not wanted.is_known:
        return made_of(UNKNOWN, wanted, spots)
    same = [index for index, one in enumerate(held) if type(one) is type(wanted.value) and one == wanted.value]
    return made_of(same[0] if same else -1, wanted, spots)


def _map(listed: Val, given: list[Val], line: int, call: Call) -> Val:
    arr: Arr = listed.value
    out = [call(given[0], [one, Val(index), listed], line) for index, one in enumerate(list(arr.elements))]
    return Val(Arr(out, None, arr.made or listed.spots, sifted=arr.sifted, chosen=arr.chosen))


def _flat_map(listed: Val, given: list[Val], line: int, call: Call) -> Val:
    out = _map(listed, given, line, call)
    inner = _flattened(out.value.elements)
    return Val(Arr(inner, None, out.value.made, sifted=out.value.sifted))


def _each(listed: Val, given: list[Val], line: int, call: Call) -> Val:
    _map(listed, given, line, call)
    return Val(ABSENT)


def _filter(listed: Val, given: list[Val], line: int, call: Call) -> Val:
    arr: Arr = listed.value
    answers = [call(given[0], [one, Val(index), listed], line) for index, one in enumerate(list(arr.elements))]
    kept = [one for one, answer in zip(list(arr.elements), answers, strict=False) if _holds(answer)]
    tests = tuple(one.against for one in answers[:_MOST_TESTS] if one.against is not None)
    sifted = Sifted(line, len(answers), tests) if answers and not kept else arr.sifted
    chosen = tuple(one for one in answers if _holds(one))[:_MOST_CHOSEN]
    return Val(Arr(kept, None, arr.made or listed.spots, sifted=sifted, chosen=chosen))


def _find(listed: Val, given: list[Val], line: int, call: Call) -> Val:
    arr: Arr = listed.value
    tested: list[Val] = []
    for index, one in enumerate(list(arr.elements)):
        answer = call(given[0], [one, Val(index), listed], line)
        if _holds(answer):
            return one
        tested.append(answer)
    return Val(ABSENT, None, made_of(None, Val(None, None, arr.made or listed.spots)).made, missed=_missed(tested, arr))


def _missed(tested: list[Val], arr: Arr) -> Missed | None:
    """The value that every element was compared with, and some of what the elements have."""
    sides = [one.sides for one in tested[:_MOST_TESTS] if one.sides is not None]
    if not sides or len(sides) < len(tested):
        return None
    alike = [all(type(one[at]) is type(sides[0][at]) and one[at] == sides[0][at] for one in sides) for at in (0, 1)]
    if alike[0] is alike[1]:
        # Which of the two is looked for is not known.
        return None
    sought, other = sides[0][alike.index(True)], alike.index(False)
    if not isinstance(sought, (str, int, float)):
        return None
    of_items = arr.counted is not None or bool(arr.spot or arr.made)
    return Missed(sought, nearest(sought, (one[other] for one in sides)), of_items)


def _find_index(listed: Val, given: list[Val], line: int, call: Call) -> Val:
    for index, one in enumerate(list(listed.value.elements)):
        if _holds(call(given[0], [one, Val(index), listed], line)):
            return made_of(index, one)
    return made_of(-1, listed)


def _some(listed: Val, given: list[Val], line: int, call: Call) -> Val:
    answers = []
    for index, one in enumerate(list(listed.value.elements)):
        answer = call(given[0], [one, Val(index), listed], line)
        if _holds(answer):
            return made_of(True, answer)
        answers.append(answer)
    return made_of(False, *answers[:3], listed)


def _every(listed: Val, given: list[Val], line: int, call: Call) -> Val:
    answers = []
    for index, one in enumerate(list(listed.value.elements)):
        answer = call(given[0], [one, Val(index), listed], line)
        if not _holds(answer):
            return made_of(False, answer)
        answers.append(answer)
    return made_of(True, *answers[:3], listed)


def _reduce(listed: Val, given: list[Val], line: int, call: Call) -> Val:
    arr: Arr = listed.value
    elements = list(enumerate(arr.elements))
    if len(given) > 1:
        held = given[1]
    elif elements:
        held = elements.pop(0)[1]
    else:
        empty = Val(arr, listed.at, listed.spots or arr.made)
        raise Thrown("reduce", "Reduce of empty array with no initial value", line, empty)
    for index, one in elements:
        held = call(given[0], [held, one, Val(index), listed], line)
    return held


def _sort(listed: Val, given: list[Val], line: int, call: Call) -> Val:
    """Only what the comparator reads is of interest, so the neighbours are compared, and the order stays."""
    arr: Arr = listed.value
    for index in range(1, len(arr.elements)):
        call(given[0], [arr.elements[index], arr.elements[index - 1]], line)
    return listed


def _holds(answer: Val) -> bool:
    known = truth(answer.value)
    if known is None:
        raise Unknowable
    return known


_CALLBACKS: Final[dict[str, Callable[[Val, list[Val], int, Call], Val]]] = {
    "map": _map,
    "flatMap": _flat_map,
    "forEach": _each,
    "filter": _filter,
    "find": _find,
    "findIndex": _find_index,
    "some": _some,
    "every": _every,
    "reduce": _reduce,
    "sort": _sort,
    "toSorted": _sort,
}
_PLAIN: Final[dict[str, Callable[[Arr, list[Val], Val], Val]]] = {
    "push": _push,
    "unshift": _unshift,
    "pop": _pop,
    "shift": _shift,
    "at": _at,
    "slice": _slice,
    "includes": _includes,
    "indexOf": _index_of,
    "concat": _concat,
    "join": _join,
    "reverse": _reverse,
    "toReversed": _reverse,
    "flat": _flat,
    "entries": _entries,
    "sort": _unsorted,
    "toSorted": _unsorted,
}
