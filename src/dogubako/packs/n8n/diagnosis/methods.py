"""Methods of the language by the type that has them, and what to say of a value that lacks one."""

from typing import Final

from dogubako.packs.n8n.diagnosis.failures import Failure
from dogubako.packs.n8n.diagnosis.hollow_objects import hollow_object
from dogubako.packs.n8n.diagnosis.scene import Cause
from dogubako.packs.n8n.diagnosis.shown import type_name
from dogubako.packs.n8n.diagnosis.spelling import near_names
from dogubako.packs.n8n.diagnosis.trace import trace_type
from dogubako.packs.n8n.formatters.flow import Place

_OF_STRINGS: Final = """
trim trimStart trimEnd split toLowerCase toUpperCase replace replaceAll startsWith endsWith match matchAll padStart
padEnd substring substr slice charAt charCodeAt includes indexOf concat repeat localeCompare search at
"""
_OF_ARRAYS: Final = """
map filter forEach reduce find findIndex some every push join sort flatMap flat pop shift unshift splice slice includes
indexOf concat reverse keys entries values at fill
"""
_OF_DATES: Final = """
toISOString toDateString toTimeString toUTCString toLocaleDateString toLocaleTimeString getTime getFullYear getMonth
getDate getDay getHours getMinutes getTimezoneOffset toISO toISODate toFormat toMillis plus minus diff startOf endOf
"""
_A: Final = ("a", "an")
METHODS: Final = {
    "string": _OF_STRINGS.split(),
    "array": _OF_ARRAYS.split(),
    "number": ["toFixed", "toPrecision", "toLocaleString"],
    "date": _OF_DATES.split(),
}


def without_method(failure: Failure, place: Place, path: tuple[str, ...], method: str) -> Cause:
    """A value of the wrong type, or a method that no value has."""
    if (hollow := hollow_object(failure.scene, place, path)) is not None:
        return hollow.with_problem(f"{hollow.problem}, so {'.'.join(path)} has no {method}()")
    if method in METHODS["date"]:
        described = f"no date, so it has no {method}(); between nodes a date becomes a text"
        return trace_type(failure.scene, failure.node, place, path, described)
    if any(method in known for known in METHODS.values()):
        return trace_type(failure.scene, failure.node, place, path, f"which has no {method}()")
    kind = type_name(failure.scene.value(place, path))
    near = near_names(METHODS.get(kind, []), method)
    hint = f"; there is {near[0]}()" if near else ""
    problem = (
        f"it calls {method}() on {'.'.join(path)}, {_A[kind[0] in 'aeiou']} {kind}, which has no such method{hint}"
    )
    return Cause(node=failure.node, problem=problem, place=place)
