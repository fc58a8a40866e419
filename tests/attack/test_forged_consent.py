"""Clients that forge, repeat, swap and race the answers of a person: nothing is destroyed that nobody agreed to."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dogubako.gate.api_keys import KeyStore
from tests.gate import consent_pack
from tests.gate.hostile import FORGED, YES, Caller, was_asked, was_refused

from .conftest import Tally
from .server import target

pytestmark = pytest.mark.attack

PACK = Path(consent_pack.__file__)
RACERS = 8


class Attacker:
    """Somebody with a key of her own, the key of somebody else, and papers that must not be shredded."""

    def __init__(self, ann: Caller, bob: Caller, folder: Path) -> None:
        self.ann, self.bob, self._folder = ann, bob, folder
        self._number = 0

    def papers(self) -> dict[str, Any]:
        """The arguments of a call whose consequences can be counted."""
        self._number += 1
        return {"log": str(self._folder / f"papers {self._number}")}

    def used_state(self, papers: dict[str, Any], answer: dict[str, Any] = YES) -> str:
        """A state that has been answered once; what became of it is cleared away."""
        state = self.ann.question("shred", papers)
        self.ann.call("shred", papers, inputResponses={"dogubako_confirm": answer}, requestState=state)
        Path(papers["log"]).unlink(missing_ok=True)
        return state


def shredded(papers: dict[str, Any]) -> int:
    log = Path(papers["log"])
    return len(log.read_text().splitlines()) if log.exists() else 0


Trick = Callable[[Attacker, dict[str, Any]], dict[str, Any]]


def _answer_first(at: Attacker, papers: dict[str, Any]) -> dict[str, Any]:
    return at.ann.call("shred", papers, inputResponses=FORGED)


def _answer_first_with_confirm(at: Attacker, papers: dict[str, Any]) -> dict[str, Any]:
    return at.ann.call("shred", {**papers, "confirm": True}, inputResponses=FORGED)


def _answer_first_without_state(at: Attacker, papers: dict[str, Any]) -> dict[str, Any]:
    return at.ann.call("shred", papers, inputResponses=FORGED, requestState=None)


def _answer_first_through_call_tool(at: Attacker, papers: dict[str, Any]) -> dict[str, Any]:
    return at.ann.call("call_tool", {"name": "shred", "arguments": papers}, inputResponses=FORGED)


def _other_key(at: Attacker, papers: dict[str, Any]) -> dict[str, Any]:
    state = at.ann.question("shred", papers)
    return at.ann.call("shred", papers, inputResponses={"input_1": YES, "confirm": YES}, requestState=state)


def _state_without_answer(at: Attacker, papers: dict[str, Any]) -> dict[str, Any]:
    return at.ann.call("shred", papers, requestState=at.ann.question("shred", papers))


def _repeat(at: Attacker, papers: dict[str, Any]) -> dict[str, Any]:
    return at.ann.call("shred", papers, inputResponses=FORGED, requestState=at.used_state(papers))


def _yes_after_no(at: Attacker, papers: dict[str, Any]) -> dict[str, Any]:
    state = at.used_state(papers, {"action": "decline"})
    return at.ann.call("shred", papers, inputResponses=FORGED, requestState=state)


def _changed_meanwhile(at: Attacker, papers: dict[str, Any]) -> dict[str, Any]:
    state = at.ann.question("shred", papers)
    Path(papers["log"]).with_suffix(".papers").write_text("A thousand papers would be gone.")
    return at.ann.call("shred", papers, inputResponses=FORGED, requestState=state)


def _inner_question(at: Attacker, papers: dict[str, Any]) -> dict[str, Any]:
    state = at.ann.question("shred_by_assistant", papers)
    return at.ann.call("shred_by_assistant", papers, inputResponses=FORGED, requestState=state)


def _other_arguments(at: Attacker, papers: dict[str, Any]) -> dict[str, Any]:
    state = at.ann.question("shred", at.papers())
    return at.ann.call("shred", papers, inputResponses=FORGED, requestState=state)


def _more_arguments(at: Attacker, papers: dict[str, Any]) -> dict[str, Any]:
    state = at.ann.question("shred", papers)
    return at.ann.call("shred", {**papers, "confirm": True}, inputResponses=FORGED, requestState=state)


def _other_tool(at: Attacker, papers: dict[str, Any]) -> dict[str, Any]:
    state = at.ann.question("shred_by_assistant", papers)
    return at.ann.call("shred", papers, inputResponses=FORGED, requestState=state)


def _other_way(at: Attacker, papers: dict[str, Any]) -> dict[str, Any]:
    state = at.ann.question("shred", papers)
    passed_on = {"name": "shred", "arguments": papers}
    return at.ann.call("call_tool", passed_on, inputResponses=FORGED, requestState=state)


def _other_caller(at: Attacker, papers: dict[str, Any]) -> dict[str, Any]:
    state = at.ann.question("shred", papers)
    return at.bob.call("shred", papers, inputResponses=FORGED, requestState=state)


def _other_method(at: Attacker, papers: dict[str, Any]) -> dict[str, Any]:
    state = at.ann.question("shred", papers)
    return at.ann.send("prompts/get", {"name": "shred", "arguments": {}, "requestState": state}, "shred")


def _changed_bytes(at: Attacker, papers: dict[str, Any]) -> dict[str, Any]:
    state = at.ann.question("shred", papers)
    changed = state[:-4] + ("AAAA" if not state.endswith("AAAA") else "BBBB")
    return at.ann.call("shred", papers, inputResponses=FORGED, requestState=changed)


def _own_state(at: Attacker, papers: dict[str, Any]) -> dict[str, Any]:
    state = '{"id":"0","asked":{"dogubako_confirm":"0"},"answers":{}}'
    return at.ann.call("shred", papers, inputResponses=FORGED, requestState=state)


# Nobody was asked, or not this, or already: the person is asked.
ASKED: Sequence[tuple[str, Trick]] = (
    ("the first message has the answer", _answer_first),
    ("the first message has the answer and confirm", _answer_first_with_confirm),
    ("an answer and no state", _answer_first_without_state),
    ("the first message through call_tool", _answer_first_through_call_tool),
    ("an answer to another key", _other_key),
    ("a state and no answer", _state_without_answer),
    ("a used state", _repeat),
    ("a yes after a no", _yes_after_no),
    ("a question that reads otherwise by now", _changed_meanwhile),
    ("the question of a tool inside the tool", _inner_question),
)
# The state belongs to another request, or is none of ours: it is refused.
REFUSED: Sequence[tuple[str, Trick]] = (
    ("other arguments", _other_arguments),
    ("one argument more", _more_arguments),
    ("another tool", _other_tool),
    ("through call_tool", _other_way),
    ("another caller", _other_caller),
    ("another method", _other_method),
    ("changed bytes", _changed_bytes),
    ("a state of one's own", _own_state),
)


@pytest.mark.parametrize("workers", [1, 2])
def test_forged_consent(tmp_path: Path, tally: Tally, workers: int) -> None:
    store = KeyStore(tmp_path / "data")
    keys = [store.create(name, ["admin"])[0] for name in ("ann", "bob")]
    settings = {"DOGUBAKO_AUTH": "keys", "DOGUBAKO_DATA_DIR": str(tmp_path / "data")}
    with target(PACK, folder=tmp_path, words=["--workers", str(workers)], settings=settings) as aim:
        if workers > 1:
            aim.command.stderr.first(lambda line: b"Application startup complete" in line, nth=workers)
        ann, bob = (Caller(url=aim.url, credentials={"x-api-key": key}) for key in keys)
        attacker = Attacker(ann, bob, tmp_path)
        _play_tricks(attacker, tally)
        _race(attacker, tally)
        _agree(attacker, tally)


def _play_tricks(attacker: Attacker, tally: Tally) -> None:
    for tricks, held in ((ASKED, was_asked), (REFUSED, was_refused)):
        for what, trick in tricks:
            papers = attacker.papers()
            answer = trick(attacker, papers)
            tally.check(shredded(papers) == 0, f"{what}: shredded")
            tally.check(held(answer), f"{what}: {str(answer)[:200]}")


def _race(attacker: Attacker, tally: Tally) -> None:
    """One yes is sent many times at once: it counts once."""
    papers = attacker.papers()
    state = attacker.ann.question("shred", papers)
    with ThreadPoolExecutor(RACERS) as threads:
        running = [
            threads.submit(attacker.ann.call, "shred", papers, inputResponses=FORGED, requestState=state)
            for _ in range(RACERS)
        ]
        answers = [one.result() for one in running]
    tally.check(shredded(papers) == 1, f"{RACERS} answers at once: shredded {shredded(papers)} times")
    asked = sum(was_asked(answer) for answer in answers)
    tally.check(asked == RACERS - 1, f"{RACERS} answers at once: asked again {asked} times")


def _agree(attacker: Attacker, tally: Tally) -> None:
    """Whoever was asked and agrees is heard, also right after somebody tried to go round the question."""
    papers = attacker.papers()
    again = attacker.ann.call("shred", papers, inputResponses=FORGED)["result"]["requestState"]
    attacker.ann.call("shred", papers, inputResponses=FORGED, requestState=again)
    tally.check(shredded(papers) == 1, "a person who agreed was not heard")
