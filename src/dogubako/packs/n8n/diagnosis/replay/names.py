"""What the names of n8n and of the language stand for in a replay."""

from collections.abc import Callable
from typing import Final

from dogubako.packs.n8n.diagnosis.declarations import Step
from dogubako.packs.n8n.diagnosis.evaluation import Unknowable
from dogubako.packs.n8n.diagnosis.javascript import ParseError
from dogubako.packs.n8n.diagnosis.javascript_values import ABSENT, UNKNOWN
from dogubako.packs.n8n.diagnosis.references import Reference
from dogubako.packs.n8n.diagnosis.replay.calls import static
from dogubako.packs.n8n.diagnosis.replay.values import FILES, Arr, Native, Obj, Val, wrapped
from dogubako.packs.n8n.diagnosis.scene import RunPlace, Scene
from dogubako.packs.n8n.formatters.flow import Place

_STATIC: Final = frozenset(
    """
    Object Array JSON Math Number String Boolean Date Map Set Promise Error TypeError RangeError Intl parseInt
    parseFloat isNaN isFinite DateTime BigInt RegExp decodeURIComponent decodeURI
    """.split()  # noqa: SIM905 - a list of names reads best so
)
_UNKNOWN: Final = frozenset(
    """
    $now $today $execution $workflow $env $vars $prevNode $getWorkflowStaticData $jmespath $parameter $secrets
    Duration Interval luxon console Buffer require setTimeout clearTimeout crypto encodeURIComponent
    encodeURI btoa atob structuredClone Symbol Reflect Proxy globalThis process $if $min $max
    URLSearchParams TextDecoder TextEncoder helpers $nodeVersion $webhookId
    """.split()  # noqa: SIM905 - a list of names reads best so
)

# The code is of strangers: what the replay does not master must not end the diagnosis.
NOT_REPLAYED: Final = (
    ParseError, Unknowable, RecursionError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError
)  # fmt: skip


def runs_for_each(scene: Scene, node: str) -> bool:
    """Whether the code of a node runs once for each item."""
    mode = scene.settings.get(node, {}).get("mode")
    return mode == "runOnceForEachItem" or scene.kind(node) == "functionItem"


class N8nNames:
    """The names while the code works on one item; `place` is None for code that runs once for all of them."""

    def __init__(
        self, scene: Scene, at: RunPlace, place: Place | None, index: int, spend: Callable[[int], None]
    ) -> None:
        self._spend = spend
        self._made: dict[tuple[str | None, str, int | None], Val] = {}
        self._scene = scene
        self._at = at
        self._place = place
        self._index = index

    def __call__(self, name: str) -> Val | None:
        if name in _STATIC:
            return static(name)
        if name in _UNKNOWN:
            return Val(UNKNOWN)
        if name in ("undefined", "NaN", "Infinity"):
            return Val({"undefined": ABSENT, "NaN": float("nan"), "Infinity": float("inf")}[name])
        if name in ("$itemIndex", "$runIndex"):
            return Val(self._index if name == "$itemIndex" else self._at.index)
        if name in ("$json", "item"):
            return self._own(name)
        if name == "items":
            return self._items(None, "all")
        if name == "$input":
            return self._source(None)
        if name == "$":
            return Val(Native(self._node))
        if name == "$items":
            return Val(Native(self._node_items))
        if name == "$node":
            ran = [one for one in self._scene.nodes if self._scene.execution.runs.get(one)]
            return Val(Obj({one: self._items(one, "item") for one in ran}))
        return None

    def _own(self, name: str) -> Val | None:
        place = self._place
        if place is None:
            place = next(iter(self._scene.input_places(self._at.run)), None)
            if place is None or name == "item":
                return None
        held = self._item(place)
        return held.value.get("json") if name == "$json" else held

    def _item(self, place: Place) -> Val:
        held = self._scene.item(place)
        rest = {key: value for key, value in held.items() if key not in ("json", "binary")}
        fields = {"json": wrapped(held.get("json"), (place, ()))}
        if "binary" in held:
            fields["binary"] = wrapped(held["binary"], (place, (FILES,)))
        return Val(Obj(fields, data=rest, kind="item"))

    def _items(self, node: str | None, pick: str, output: int | None = None) -> Val:
        key = (node, pick, output)
        if key not in self._made:
            places = self._places(node, pick, output)
            self._spend(1 + len(places))
            if pick == "all":
                self._made[key] = Val(Arr([self._item(one) for one in places], None, (), node or ""))
            else:
                self._made[key] = self._item(places[0]) if places else Val(ABSENT)
        return self._made[key]

    def _places(self, node: str | None, pick: str, output: int | None) -> list[Place]:
        if node is not None and not self._scene.execution.runs.get(node):
            raise Unknowable
        reference = Reference(node=node, pick=pick, path=(Step("json"),), output=output)
        return self._scene.places_read(reference, self._place, self._at.run)

    def _node(self, given: list[Val], _: int) -> Val:
        if not given or not isinstance(given[0].value, str):
            raise Unknowable
        return self._source(given[0].value)

    def _node_items(self, given: list[Val], _: int) -> Val:
        if given and not isinstance(given[0].value, str):
            raise Unknowable
        return self._items(given[0].value if given else None, "all")

    def _source(self, node: str | None) -> Val:
        """`$input` or `$('Name')`."""
        fields = {
            pick: Val(Native(lambda given, _, pick=pick: self._items(node, pick, _output(given) if node else None)))
            for pick in ("all", "first", "last")
        }
        fields["itemMatching"] = Val(Native(lambda given, _: self._matching(node, given)))
        if self._place is not None:
            fields["item"] = self._items(node, "item")
        return Val(Obj(fields, data={"params": UNKNOWN, "context": UNKNOWN, "isExecuted": True}))

    def _matching(self, node: str | None, given: list[Val]) -> Val:
        index = given[0].value if given else None
        places = self._scene.input_places(self._at.run)
        if not isinstance(index, int) or not 0 <= index < len(places):
            raise Unknowable
        reference = Reference(node=node, pick="item", path=(Step("json"),))
        found = self._scene.places_read(reference, places[index], self._at.run)
        return self._item(found[0]) if found else Val(ABSENT)


def _output(given: list[Val]) -> int | None:
    """The output that a call names; which run it names beside it is not followed."""
    if not given:
        return None
    if len(given) > 1 or not isinstance(given[0].value, int):
        raise Unknowable
    return given[0].value
