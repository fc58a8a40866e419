"""No pattern of ours takes much longer for a text that somebody has made to be hard to read."""

import ast
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from dogubako.packs.n8n.javascript_names import of_names

SOURCE: Final = Path(__file__).parents[1] / "src"
COMPILERS: Final = {"re.compile", "_pattern", "of_names"}
FROM_THE_START: Final = {"match", "fullmatch"}
ANYWHERE: Final = {"search", "split", "sub", "subn", "findall", "finditer"}
# Made of what an author of tools or the sandbox's own data says, once it is known.
MADE_LATER: Final = {
    # Made of the name of a node, quoted; nothing in them repeats but blanks.
    r"dogubako/packs/n8n/edits/expressions.py: f'([$_]node)\\s*+\\.\\s*+{re.escape(old)}(?![\\w$])'",
    r"dogubako/packs/n8n/edits/expressions.py: "
    r"f'((?:[$_](?:items)?+\\s*+\\(|[$_]node\\s*+\\[)\\s*+)({quoted})'",
    # Made of the other patterns, each of which is looked at.
    r"dogubako/packs/n8n/javascript_names.py: pattern.replace('[\\w', _LETTERS)",
    # Made of a name in a message or a field, quoted; what repeats is bounded and possessive.
    r"dogubako/packs/n8n/diagnosis/code_lines.py: f'[{{,]\\s*+{re.escape(name)}\\s*+[,}}]'",
    r"dogubako/packs/n8n/diagnosis/code_rules.py: f'\\.([\\w$]{{1,100}}+)\\??\\.{re.escape(message[1])}\\b'",
    r"dogubako/packs/n8n/diagnosis/code_rules.py: f'(?<![\\w$\\])])([\\w$\\])]{{1,100}}+)"
    r"\\s*+\\??\\.{re.escape(message[1])}\\b'",
    r"dogubako/packs/n8n/diagnosis/code_lines.py: f'\\s*+{root}\\.{quoted}(?![\\w$])'",
    "dogubako/packs/n8n/diagnosis/code_lines.py: makes",
    "dogubako/packs/n8n/diagnosis/format_rules.py: f'{before}|{asked}'",
    r"dogubako/packs/n8n/diagnosis/hole_rules.py: f'(?<![\\w$.]){re.escape(name)}(?![\\w$])'",
    "dogubako/packs/n8n/diagnosis/number_rules.py: told",
    r"dogubako/packs/n8n/diagnosis/code_lines.py: f'(?:Number|parseFloat|parseInt|Math\\.\\w{{1,9}})"
    r"\\([^()]{{0,60}}(?<![\\w$]){re.escape(name)}(?![\\w$])|\\.{re.escape(name)}(?![\\w$])"
    r"\\s{{0,9}}(?:[*/<>-]|\\.to(?:Number|Float|Int)\\()"
    r"|[*/-]\\s{{0,9}}(?:[\\w$]{{1,60}}\\.){{1,5}}{re.escape(name)}(?![\\w$])'",
    # Made of the tokens of a date format, each of which takes a fixed number of digits, or one or two.
    "dogubako/packs/n8n/diagnosis/replay/luxon.py: ''.join(parts)",
    # Made of a name in the code of a node, quoted; the code is at most 12,000 characters long.
    r"dogubako/packs/n8n/diagnosis/code_rules.py: f'(?:const|let|var)\\s++{name}\\b'",
    r"dogubako/packs/n8n/diagnosis/guards.py: f'(?<![\\w$.]){re.escape(block.text)}\\s*+\\('",
    r"dogubako/packs/n8n/diagnosis/guards.py: f'(?<![\\w$.])(?:const|let|var)\\s++({target})\\s*+=(?!=)\\s*+'",
    r"dogubako/packs/n8n/diagnosis/guards.py: changed",
    r"dogubako/packs/n8n/diagnosis/guards.py: f'(?<![\\w$.])(?:const|let|var)\\s++{re.escape(name)}\\s*+=(?!=)\\s*+'",
    r"dogubako/packs/n8n/diagnosis/code_lines.py: _PROMISE.format(name=re.escape(root[0]))",
    r"dogubako/packs/n8n/diagnosis/searches.py: changed",
    r"dogubako/packs/n8n/diagnosis/searches.py: f'(?<![\\w$.])(?:const|let|var)"
    r"\\s++{re.escape(name)}\\s*+=\\s*+(?=\\{{)'",
    r"dogubako/packs/n8n/edits/expressions.py: quoted",
    # Of the code of a node: no repeated groups, two open repeats at most, on 200 characters; splits are listed.
    "dogubako/packs/n8n/diagnosis/replay/texts.py: body",
    # Made of the names of functions of the language, which the rule lists; the argument is bounded.
    "dogubako/packs/n8n/diagnosis/format_rules.py: f'{call}{_ARGUMENT}'",
    r"dogubako/packs/n8n/diagnosis/guards.py: f'\\.{re.escape(name)}(?![\\w$])|\\['",
    r'''dogubako/packs/n8n/diagnosis/guards.py: f"""\\[\\s*(['\\"`]?){re.escape(name)}\\1\\s*\\]"""''',
    r"dogubako/packs/n8n/diagnosis/absence.py: f'(?<![\\w$]){re.escape(name)}(?![\\w$])'",
    r"dogubako/packs/n8n/diagnosis/data_rules.py: f'(?<!\\w){re.escape(str(value))}(?!\\w)'",
    # A pattern of a workflow, only if it has no groups and at most two open repeats.
    "dogubako/packs/n8n/diagnosis/evaluation.py: body",
    "dogubako_sandbox/redmine/custom_fields.py: field['regexp']",
    # Made of the names of settings, for the names of variables of a shell.
    "dogubako/cli/connect.py: f'{re.escape(prefix)}([A-Z0-9_]+_)?{re.escape(variable.removeprefix(prefix))}'",
    "dogubako/cli/connect.py: re.escape(variable)",
    # Made of the configured secrets; what repeats is bounded and possessive.
    "dogubako/contract/redaction.py: '|'.join((''.join(map(_any_spelling, secret)) for secret in ordered))",
}

# Every pattern meets these, beside what it is made of itself.
ODD: Final = (" ", "\n", "a", "0", "-", ".", "(", ")", "'", '"', "#")
END: Final = "\n\x00"
MOST_BRANCHES: Final = 4
# Each four times the one before.
SIZES: Final = (400, 1_600, 6_400)
# Before them so short ones that even a pattern whose time doubles with each character comes back.
FIRST_SIZES: Final = (16, 20, 25, 32, 44, 60, 96)
# Whatever takes less of the processor than this pattern on this text is no trouble. Seconds would be another measure
# on every machine: a fast one is through with a square before a slow one is through with a line.
YARDSTICK: Final = (re.compile(r"\S+@"), "a" * 2_000)
# A square that is over the floor for the last size takes more than this part of it for the one before.
WORTH_ANOTHER_LOOK: Final = 1 / 20
# In step with the text it would be 4, with its square 16.
TOO_MUCH_GROWTH: Final = 8

Pattern = re.Pattern[Any]
Read = Callable[[Any], object]
_parser: Any = import_module("re._parser")


@dataclass(frozen=True, kw_only=True)
class Found:
    """A pattern of the source and the methods by which it is used."""

    place: str
    pattern: Pattern
    ways: frozenset[str]

    def readings(self) -> Iterator[Read]:
        if self.ways & FROM_THE_START:
            yield self.pattern.match
            yield self.pattern.fullmatch
        if self.ways & ANYWHERE:
            yield self.pattern.findall


def patterns_in(source: str, names: dict[str, Any], place: str) -> Iterator[Found | str]:
    """Every pattern of a module; one that nobody can know before it runs, as it is written."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (ways := _ways(node, tree)):
            try:
                pattern = _compiled(node, names)
            except NameError:
                yield f"{place}: {ast.unparse(node.args[0])}"
            else:
                yield Found(place=f"{place}:{node.lineno}", pattern=pattern, ways=ways)


def _ways(call: ast.Call, tree: ast.AST) -> frozenset[str]:
    """How the pattern in a call is used, or nothing when there is none in it."""
    every = frozenset(FROM_THE_START | ANYWHERE)
    said = ast.unparse(call.func)
    if said in COMPILERS:
        return _methods_of(call, tree) & every or every
    return frozenset({said.removeprefix("re.")} if said.startswith("re.") else ()) & every


def _methods_of(compiled: ast.Call, tree: ast.AST) -> frozenset[str]:
    called = {ast.unparse(compiled)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and node.value is compiled:
            called |= set(map(ast.unparse, node.targets))
        elif isinstance(node, ast.AnnAssign) and node.value is compiled:
            called.add(ast.unparse(node.target))
    attributes = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return frozenset(one.attr for one in attributes if ast.unparse(one.value) in called)


def _compiled(call: ast.Call, names: dict[str, Any]) -> Pattern:
    flags = [one.value for one in call.keywords if one.arg == "flags"]
    if ast.unparse(call.func) in COMPILERS:
        flags += call.args[1:]
    compiler = of_names if ast.unparse(call.func) == "of_names" else re.compile
    return compiler(*(eval(ast.unparse(one), names) for one in (call.args[0], *flags)))


@cache
def every_pattern() -> Sequence[Found | str]:
    found: list[Found | str] = []
    for path in sorted(SOURCE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if re.search(r"^(import re|from re import .*|from .*\.javascript_names import .*)$", source, re.MULTILINE):
            module = path.relative_to(SOURCE).with_suffix("")
            names = vars(import_module(".".join(module.parts).removesuffix(".__init__")))
            found += patterns_in(source, names, path.relative_to(SOURCE).as_posix())
    return found


class HardText(NamedTuple):
    """One thing again and again, with an end that fits nothing."""

    head: str
    run: str

    def of(self, size: int) -> str:
        return f"{self.head}{self.run * (size // len(self.run))}{END}"

    def of_bytes(self, size: int) -> bytes:
        return self.of(size).encode("latin-1", "replace")


class Pieces:
    """What a pattern is made of: how its matches and their parts begin, and what may come again and again."""

    def __init__(self, pattern: Pattern) -> None:
        self._openings: dict[str, None] = {}
        self._parts: dict[str, None] = dict.fromkeys(ODD)
        self._groups: dict[int, list[str]] = {}
        self._sequence(_parser.parse(pattern.pattern, pattern.flags))

    def hard_texts(self) -> Iterator[HardText]:
        for opening, part in product({"": None, **self._openings}, filter(None, self._parts)):
            yield HardText(opening, part)
            if opening:
                yield HardText("", opening + part)

    def _sequence(self, nodes: Iterable[Any]) -> list[str]:
        begun, was_literal = [""], True
        for kind, what in nodes:
            is_literal = str(kind) == "LITERAL"
            if not is_literal or not was_literal:
                # Half a word is not worth a text of its own.
                self._openings |= dict.fromkeys(begun)
            begun = [before + one for before in begun for one in self._written(str(kind), what)][:MOST_BRANCHES]
            was_literal = is_literal
        self._openings |= dict.fromkeys(begun)
        return begun

    def _written(self, kind: str, what: Any) -> list[str]:
        """Some texts that this node of a pattern fits."""
        match kind:
            case "LITERAL":
                return [chr(what)]
            case "IN":
                found = _members(what)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                once = self._sequence(what[2])
                self._parts |= dict.fromkeys(once)
                found = [one * max(what[0], 1) for one in once]
                return found if what[0] else [*found[: MOST_BRANCHES // 2], ""]
            case "SUBPATTERN":
                self._groups[what[0]] = self._sequence(what[3])
                return self._groups[what[0]]
            case "BRANCH":
                return [one for branch in what[1] for one in self._sequence(branch)]
            case "ATOMIC_GROUP":
                return self._sequence(what)
            case "GROUPREF":
                return self._groups[what][:1]
            case "ASSERT":
                return self._sequence(what[1]) if what[0] < 0 else [""]
            case "AT" | "ASSERT_NOT":
                return [""]
            case _:
                found = ["a", "#"]
        self._parts |= dict.fromkeys(found[:MOST_BRANCHES])
        return found


def _members(members: list[Any]) -> list[str]:
    categories = {"CATEGORY_SPACE": " ", "CATEGORY_DIGIT": "0", "CATEGORY_WORD": "a"}
    if str(members[0][0]) == "NEGATE":
        return ["a", "#"]
    named = [(str(kind), what) for kind, what in members]
    return [
        categories.get(str(what), "#") if kind == "CATEGORY" else chr(what[0] if kind == "RANGE" else what)
        for kind, what in named
    ]


def seconds(read: Read, text: str | bytes, tries: int = 1) -> float:
    """What it takes of the processor at best, whatever else the machine does."""
    taken = []
    for _ in range(tries):
        started = time.thread_time()
        read(text)
        taken.append(time.thread_time() - started)
    return min(taken)


@cache
def floor_seconds() -> float:
    pattern, text = YARDSTICK
    return seconds(pattern.findall, text, tries=5)


def blows_up(read: Read, text_of: Callable[[int], str | bytes]) -> bool:
    """Whether the time grows clearly faster than the text does."""
    floor = floor_seconds()
    for text in (text_of(size) for size in FIRST_SIZES):
        if seconds(read, text) > floor and seconds(read, text, tries=3) > floor:
            return True
    took = floor
    for size in SIZES:
        if size == SIZES[-1] and took < floor * WORTH_ANOTHER_LOOK:
            return False
        took = seconds(read, text_of(size))
        if took > floor and _grew(read, text_of(size // 4), text_of(size)):
            return True
    return False


def _grew(read: Read, small: str | bytes, large: str | bytes) -> bool:
    took = seconds(read, large, tries=3)
    return took > floor_seconds() and took > TOO_MUCH_GROWTH * seconds(read, small, tries=5)


def trouble_with(found: Found) -> str | None:
    """The first text that is too hard for it, if there is one."""
    for hard in Pieces(found.pattern).hard_texts():
        text_of = hard.of_bytes if isinstance(found.pattern.pattern, bytes) else hard.of
        if any(_each_time(read, text_of) for read in found.readings()):
            return f"{found.place}: {found.pattern.pattern!r} on {hard.head!r} and many {hard.run!r}"
    return None


def _each_time(read: Read, text_of: Callable[[int], str | bytes]) -> bool:
    """Whether it blows up three times, beside a yardstick that is taken anew: other work slows down both."""
    for _ in range(3):
        if not blows_up(read, text_of):
            return False
        floor_seconds.cache_clear()
    return True


@pytest.mark.slow
def test_no_pattern_blows_up() -> None:
    troubles = [trouble_with(found) for found in every_pattern() if isinstance(found, Found)]

    assert len(troubles) > 80
    assert [trouble for trouble in troubles if trouble] == []


def test_every_pattern_is_looked_at_but_those_that_are_made_later() -> None:
    assert {found for found in every_pattern() if isinstance(found, str)} == MADE_LATER


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(r"^(a+)+$", id="doubling"),
        pytest.param(r"^(?:a|aa)+b", id="nearly doubling"),
        pytest.param(r"\s+$", id="a start at every blank"),
        pytest.param(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*", id="a start at every piece"),
        pytest.param(r"\$\(\s*(['\"]).+?\1\s*\)", id="an end that is looked for again and again"),
        pytest.param(r"(?<!\w)(?:\w|\))+\.json", id="a start at every bracket"),
        pytest.param(rb"charset\s*=\s*[\"']?\s*([A-Z]{1,40})", id="blanks shared out among three, in bytes"),
        pytest.param(r"\[line (\d+)[^\]]*\]", id="digits shared out among two"),
        pytest.param(r"(?<=://)\S+@", id="behind something"),
    ],
)
def test_this_test_sees_a_pattern_that_blows_up(pattern: str | bytes) -> None:
    found = Found(place="here", pattern=re.compile(pattern), ways=frozenset({"search"}))

    # On a busy machine the small text may happen to take long too; it does not happen every time.
    assert any(trouble_with(found) for _ in range(5))


@pytest.mark.parametrize(
    ("pattern", "way"),
    [
        pytest.param(r"(?<!\s)\s++$", "search", id="one start for all blanks"),
        pytest.param(r"(?:a++)+$", "match", id="what is taken is not given back"),
        pytest.param(r"[a-z]{1,60}/", "search", id="bounded"),
        pytest.param(r"[^@\s]+@", "fullmatch", id="one start"),
        pytest.param(r"(?i)\b(?:token|secret)\s*[:=]\s*\S{6,}", "sub", id="slow, but in step with the text"),
    ],
)
def test_this_test_does_not_mind_a_pattern_that_takes_its_time(pattern: str, way: str) -> None:
    assert trouble_with(Found(place="here", pattern=re.compile(pattern), ways=frozenset({way}))) is None


@pytest.mark.parametrize(
    ("source", "ways"),
    [
        pytest.param("_A = re.compile('a')\n_A.match(x)\n_A.search(x)", {"match", "search"}, id="by its name"),
        pytest.param("_A: Final = re.compile('a')\n_A.sub(x, y)", {"sub"}, id="by its typed name"),
        pytest.param("_pattern('a').findall(x)", {"findall"}, id="at once"),
        pytest.param("re.split('a', x)", {"split"}, id="without a name"),
        pytest.param("{'a': re.compile('a')}", FROM_THE_START | ANYWHERE, id="who knows how"),
    ],
)
def test_this_test_sees_how_a_pattern_is_used(source: str, ways: set[str]) -> None:
    [found] = patterns_in(source, {"re": re}, "here")

    assert isinstance(found, Found)
    assert found.ways == ways


def test_this_test_sees_the_flags_of_a_pattern() -> None:
    source = "re.compile('a', re.DOTALL)\nre.sub('a', 'b', x, flags=re.IGNORECASE)\nre.compile(rf'{A}')"
    found = [
        one.pattern.flags & ~re.UNICODE
        for one in patterns_in(source, {"re": re, "A": "a"}, "")
        if isinstance(one, Found)
    ]

    assert found == [re.DOTALL, re.IGNORECASE, 0]
