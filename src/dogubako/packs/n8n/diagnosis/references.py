"""What a node's expressions and code read: `$json.a`, `$('X').item.json.a`, `$node["X"]`, aliases, destructuring."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from dogubako.packs.n8n.diagnosis.declarations import Step, bound_names, declarations
from dogubako.packs.n8n.javascript_names import NAME, of_names

# Code may be long, and hostile: the patterns do not backtrack, and only so much of it is read.
LONGEST_CODE: Final = 100_000
_MOST_ALIASES: Final = 200
_MOST_MEANINGS: Final = 4
_MOST_REFERENCES: Final = 1_000
_LONGEST_CHAIN: Final = 30

_QUOTED: Final = r"""(?:'(?:[^'\\\n]++|\\.)*+'|"(?:[^"\\\n]++|\\.)*+"|`(?:[^`\\$]++|\\.)*+`)"""
_ROOT = of_names(
    rf"(?<![\w$.])(?:(?P<json>\$json)|(?P<input>\$input)|\$\(\s*+(?P<node>{_QUOTED})\s*+\)"
    rf"|\$node\s*+\[\s*+(?P<old>{_QUOTED})\s*+\]|\$node\.(?P<plain>{NAME})|\$items\(\s*+(?P<items>{_QUOTED})[^()]*+\)"
    rf"|(?P<name>{NAME}))"
)
_STEP = re.compile(
    rf"\s*+(?:(?P<maybe>\?)?\.\s*+(?P<name>{NAME})|(?P<maybe2>\?\.)?\[\s*+(?:(?P<quoted>{_QUOTED})|(?P<index>\d++)|(?P<any>[^\[\]'\"`\n]++))\s*+\]"
    r"|(?P<call>\((?P<args>[^()]*+)\)))"
)
_FOR_OF = of_names(
    rf"(?<![\w$.])for\s*+(?:await\s*+)?\(\s*+(?:const|let|var)\s++(?P<target>{NAME}|\{{[^;=]{{0,400}}?\}}|\[[^;=\]]{{0,400}}+\])\s++of\s++(?P<start>)"
)
_CALLBACK = re.compile(
    rf"\.(?P<method>map|forEach|filter|find|some|every|flatMap|sort|reduce)\(\s*+(?:async\s++)?"
    rf"(?:function\s*+)?(?:\((?P<params>[^()]*+)\)|(?P<one>{NAME}))\s*+(?:=>|\{{)"
)
_MAPPED = re.compile(rf"\(\s*+\(?\s*+(?P<one>{NAME})\s*+\)?\s*+=>\s*+(?P=one)(?P<path>(?:\.{NAME})++)\s*+\)")
_WHOLE = re.compile(r"[ \t]*+(?:[;,)}\n]|$)")
_GIVEN: Final = re.compile(r"\s*+=(?![=>])")
_SELECTS: Final = frozenset({"filter", "sort", "slice", "reverse", "toSorted", "concat"})
_COMMENT = re.compile(r"(?<![:'\"`\w])//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)")
ELEMENT: Final = "[]"
# Calls whose first argument is an output, which is kept as a step behind them.
_OF_OUTPUT: Final = ("first", "last", "all")
_OUTPUT: Final = "output "
_PICKS: Final = {"first": "first", "last": "last", "item": "item", "itemMatching": "item", "all": "all", "items": "all"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """A value that is read: of the own input, or of another node, below the item's json.

    `node` is None for the own input. `line` is the line of the code. `called` tells that the last step is called.
    """

    node: str | None
    pick: str
    path: tuple[Step, ...]
    line: int = 0
    called: bool = False
    output: int | None = None
    """The output of the other node, where it is named: `$('X').all(1)`."""
    ambiguous: bool = False
    """Whether its name stands for several things in the code, of which this is only one."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(step.name for step in self.path)

    @property
    def field(self) -> "Reference":
        """The field of which a method is called: the name of the method is no field."""
        return replace(self, path=self.path[:-1], called=False) if self.called else self

    @property
    def written(self) -> str:
        """The path for people, with the node that it belongs to."""
        return ".".join(self.names) + (f" of '{self.node}'" if self.node else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Chain:
    """A root and the raw steps behind it, before they are understood as an item and a path."""

    node: str | None
    steps: tuple[Step, ...]
    called: bool = False
    listed: bool = False
    """Whether it stands for a list of such values, as `rows.map((row) => row.json)` does."""
    selected: bool = False
    """Whether it stands for some of the items, or for all in another order: then a number tells no item."""

    def then(self, steps: tuple[Step, ...], *, called: bool = False) -> "_Chain":
        """The chain with further steps. The first step into a list of values takes one of them."""
        into = self.listed and bool(steps) and (steps[0].name == ELEMENT or steps[0].name.isdecimal())
        taken = (*self.steps, *(steps[1:] if into else steps))
        return _Chain(node=self.node, steps=taken, called=called, selected=self.selected)


def references(parameters: Any) -> list[Reference]:
    """Every reference in the parameters of a node, in the order of the text."""
    found = [one for text in texts(parameters) for one in references_in(text)]
    return list(dict.fromkeys(found))


def references_in(text: str) -> list[Reference]:
    """The references in one expression or piece of code."""
    code = _without_comments(text[:LONGEST_CODE])
    aliases = _aliases(code)
    found: dict[Reference, None] = {}
    for match in _ROOT.finditer(code):
        if _GIVEN.match(code, _steps_from(code, match.end())[2]):
            # What gets a value there is not read.
            continue
        chains = _chains_at(code, match, aliases)
        for chain in chains:
            if (reference := _understood(chain, code.count("\n", 0, match.start()) + 1)) is not None:
                found[replace(reference, ambiguous=len(chains) > 1)] = None
        if len(found) >= _MOST_REFERENCES:
            break
    return list(found)


def reference_of(expression: str, text: str) -> Reference | None:
    """What an expression that an error message quotes refers to, by the aliases of the code."""
    code = _without_comments(text[:LONGEST_CODE])
    match = _ROOT.match(expression)
    chains = _chains_at(expression, match, _aliases(code)) if match else []
    return next((one for chain in chains if (one := _understood(chain, 0)) is not None), None)


def only_reference(value: Any) -> Reference | None:
    """The reference that an expression like `={{ $json.a.b }}` consists of."""
    inner = expression_body(value)
    match = _ROOT.match(inner) if inner else None
    if inner is None or match is None:
        return None
    chain, end = _chain_from(inner, match, {})
    return _understood(chain, 1) if chain is not None and not inner[end:].strip() and not chain.called else None


def expression_body(value: Any) -> str | None:
    """The JavaScript of a parameter that is one expression and nothing else."""
    if not isinstance(value, str) or not value.startswith("="):
        return None
    written = value[1:].strip()
    whole = written.startswith("{{") and written.endswith("}}") and written.count("{{") == 1
    return written[2:-2].strip() if whole else None


def texts(value: Any) -> Iterator[str]:
    """Every text in the parameters of a node."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts(part)


def _without_comments(code: str) -> str:
    """The code with comments blanked out, so that lines keep their numbers."""
    return _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), code)


Aliases = dict[str, list[_Chain]]


def _aliases(code: str) -> Aliases:
    """Names that stand for an item, a list of items or a part of one, in the order in which they are declared."""
    aliases: Aliases = {}
    declared = [(place, target, False) for place, target in declarations(code)]
    looped = [(match.end("start"), match["target"], True) for match in _FOR_OF.finditer(code)]
    callbacks = [(match.start(), _callback_target(match), True) for match in _CALLBACK.finditer(code)]
    for place, target, elements in sorted([*declared, *looped, *callbacks])[:_MOST_ALIASES]:
        chain = _iterated(code, place, aliases) if elements else _assigned(code, place, aliases)
        if chain is not None:
            for name, path in bound_names(target):
                _add(
                    aliases,
                    name,
                    chain.then(((Step(ELEMENT),) if elements else ()) + path) if elements or path else chain,
                )
    return aliases


def _add(aliases: Aliases, name: str, chain: _Chain) -> None:
    """A name that is declared more than once may stand for any of some values."""
    # A value that was reached by `?.` may be missing, and reading from its name then fails.
    chain = replace(chain, steps=tuple(Step(step.name) for step in chain.steps))
    known = aliases.setdefault(name, [])
    if chain not in known and len(known) < _MOST_MEANINGS:
        known.append(chain)


def _iterated(code: str, place: int, aliases: Aliases) -> _Chain | None:
    """What a loop or a callback takes its elements from."""
    if code.startswith(".", place):
        return _chain_ending(code, place, aliases)
    chain, _ = _chain_starting(code, place, aliases)
    return _kept(chain) if chain is not None else None


def _assigned(code: str, place: int, aliases: Aliases) -> _Chain | None:
    """What a declaration assigns, if it is a reference as it is: a sum or a default may be anything."""
    chain, end = _chain_starting(code, place, aliases)
    if chain is None:
        return None
    mapped = _MAPPED.match(code, end) if chain.called and chain.steps and chain.steps[-1].name == "map" else None
    if mapped is not None and not _WHOLE.match(code, mapped.end()):
        then = _STEP.match(code, mapped.end())
        mapped = mapped if then and then["name"] in _SELECTS else None
        chain = chain if mapped is not None else replace(chain, called=True)
    if mapped is not None:
        steps = tuple(Step(name) for name in mapped["path"].strip(".").split("."))
        before = replace(chain, steps=chain.steps[:-1], called=False)
        return replace(before.then((Step(ELEMENT), *steps)), listed=True)
    if chain.called:
        return _kept(chain)
    return chain if _WHOLE.match(code, end) else None


def _kept(chain: _Chain) -> _Chain | None:
    """The chain without a last call that only selects or sorts; None behind any other call."""
    if not chain.called:
        return chain
    if chain.steps[-1].name not in _SELECTS:
        return None
    return replace(chain, steps=chain.steps[:-1], called=False, selected=True)


def _callback_target(match: re.Match[str]) -> str:
    """The parameter of a callback that stands for an element; `reduce` has it behind the sum."""
    params = match["one"] or match["params"] or ""
    if match["method"] == "reduce":
        return params.partition(",")[2].partition(",")[0].strip() or "_"
    braced = params.lstrip().startswith(("{", "["))
    return params.strip() if braced else params.partition(",")[0].strip() or "_"


def _chain_starting(code: str, place: int, aliases: Aliases) -> tuple[_Chain | None, int]:
    match = _ROOT.match(code, place)
    return _chain_from(code, match, aliases) if match else (None, place)


def _chain_ending(code: str, place: int, aliases: Aliases) -> _Chain | None:
    """The chain on which a method is called at this place, also behind calls that only select or sort."""
    begin = max(code.rfind(mark, 0, place) for mark in ("\n", ";", "{"))
    for match in _ROOT.finditer(code, begin + 1, place):
        chain, end = _chain_from(code, match, aliases, place)
        if chain is not None and end == place and not chain.called:
            return chain
        if chain is not None and chain.called and chain.steps and chain.steps[-1].name in _SELECTS:
            return replace(chain, steps=chain.steps[:-1], called=False)
    return None


def _chains_at(code: str, match: re.Match[str], aliases: Aliases) -> list[_Chain]:
    name = match["name"]
    if name is None or name in ("items", "item"):
        chain, _ = _chain_from(code, match, aliases)
        known = aliases.get(name, []) if name else []
        if chain is not None and not known:
            return [chain]
    found = []
    for one in aliases.get(name or "", []):
        steps, called, _ = _steps_from(code, match.end(), inside=_is_inside(one.steps))
        found.append(one.then(steps, called=called))
    return found


def _chain_from(
    code: str, match: re.Match[str], aliases: Aliases, limit: int | None = None
) -> tuple[_Chain | None, int]:
    name = match["name"]
    head = aliases[name][-1].steps if name in aliases else _head(match)
    steps, called, end = _steps_from(code, match.end(), limit, inside=_is_inside(head))
    if name in aliases:
        base = aliases[name][-1]
        return (base if not steps and not called else base.then(steps, called=called)), end
    if name is not None and name not in ("items", "item"):
        return None, end
    return _Chain(node=_node_named(match), steps=(*head, *steps), called=called), end


def _is_inside(steps: Sequence[Step]) -> bool:
    """Whether these steps lead into the data of an item: behind that, `first()` is a method of a list."""
    return any(step.name == "json" for step in steps)


def _node_named(match: re.Match[str]) -> str | None:
    quoted = match["node"] or match["old"] or match["items"]
    return _unquoted(quoted) if quoted else match["plain"]


def _head(match: re.Match[str]) -> tuple[Step, ...]:
    """What stands before the first step: `$json` is the json of the own item."""
    if match["json"]:
        return Step("item"), Step("json")
    if match["old"] or match["plain"] or match["name"] == "item":
        return (Step("item"),)
    if match["items"] or match["name"] == "items":
        return (Step("all"),)
    return ()


def _steps_from(
    code: str, place: int, limit: int | None = None, *, inside: bool = False
) -> tuple[tuple[Step, ...], bool, int]:
    """The steps behind a root. Only calls that pick items are passed; any other call ends the chain."""
    steps: list[Step] = []
    while len(steps) < _LONGEST_CHAIN and (limit is None or place < limit):
        step = _STEP.match(code, place)
        if step is None or (limit is not None and step.end() > limit):
            break
        if step["call"] is not None:
            if not steps or steps[-1].name not in _PICKS or inside or _is_inside(steps):
                return tuple(steps), True, place
            named = re.match(r"\s*+(\d{1,3}+)\s*+(?:,|$)", step["args"]) if steps[-1].name in _OF_OUTPUT else None
            if named is not None:
                steps.append(Step(f"{_OUTPUT}{named[1]}"))
        else:
            name = step["name"] or (_unquoted(step["quoted"]) if step["quoted"] else step["index"] or ELEMENT)
            steps.append(Step(name, bool(step["maybe"] or step["maybe2"])))
        place = step.end()
    return tuple(steps), code.startswith("(", place), place


def _understood(chain: _Chain, line: int) -> Reference | None:
    """The chain as an item and a path; None when it never reaches the json of an item."""
    names = [step.name for step in chain.steps]
    if "json" not in names:
        return None
    place = names.index("json")
    before = names[:place]
    pick = next((_PICKS[name] for name in before if name in _PICKS), "item")
    if pick == "all":
        index = next((name for name in before if name.isdecimal() and not chain.selected), None)
        pick = f"#{index}" if index is not None else "all"
    path = chain.steps[place + 1 :]
    output = next((int(name.removeprefix(_OUTPUT)) for name in before if name.startswith(_OUTPUT)), None)
    told = Reference(node=chain.node, pick=pick, path=path, line=line, called=chain.called, output=output)
    return told if path else None


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])
