"""Words and meaning together; words alone as long as the meaning is not known."""

from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
import structlog.testing
from numpy.typing import NDArray

from dogubako import tool
from dogubako.engine.registry import ToolRegistry
from dogubako.engine.search.meanings import Meanings
from dogubako.engine.search.semantic_search import SemanticSearch, blend, is_known_script, semantic_search
from dogubako.engine.search.sentence_model import ModelError
from dogubako.engine.search.vector_store import VectorStore

_SOON = 10.0


class Dictionary:
    """A model that knows three topics. It can be held back, and counts what it was asked."""

    topics = ({"weather", "rain", "umbrella"}, {"email", "mail", "letter"}, {"money", "price", "cost"})

    def __init__(self) -> None:
        self.may_go_on = Event()
        self.may_go_on.set()
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        assert self.may_go_on.wait(_SOON)
        self.embedded += texts
        rows = [self._row(set(text.lower().strip("?.").split())) for text in texts]
        return np.array(rows, np.float32)

    def _row(self, said: set[str]) -> list[float]:
        """One of a few directions; the last one is for what is about nothing of this."""
        about = [bool(topic & {word.strip("?.") for word in said}) for topic in self.topics]
        found = [*map(float, about), 0.0 if any(about) else 1.0]
        return [one / sum(found) ** 0.5 for one in found]


@tool
async def forecast() -> Any:
    """Tell the weather of tomorrow."""


@tool
async def send_message() -> Any:
    """Send an email."""


@tool
async def unrelated() -> Any:
    """Count the sheep of a farm."""


@pytest.fixture
def model() -> Dictionary:
    return Dictionary()


@pytest.fixture
def store(tmp_path: Path) -> VectorStore:
    return VectorStore(tmp_path / "vectors.db", "a model")


def registry_with(meanings: Meanings) -> ToolRegistry:
    registry = ToolRegistry(search=SemanticSearch(meanings))
    for one in (forecast, send_message, unrelated):
        registry.register(one)
    return registry


def found(registry: ToolRegistry, query: str) -> list[str]:
    return [match.entry.name for match in registry.search(query)]


def test_a_tool_is_found_by_what_it_means(model: Dictionary, store: VectorStore) -> None:
    meanings = Meanings(lambda: model, store)
    registry = registry_with(meanings)
    registry.search("anything")
    meanings.wait(_SOON)

    assert found(registry, "Do I need an umbrella?") == ["forecast"]
    assert found(registry, "post a letter") == ["send_message"]


def test_until_the_vectors_are_there_words_decide(model: Dictionary, store: VectorStore) -> None:
    model.may_go_on.clear()
    meanings = Meanings(lambda: model, store)
    registry = registry_with(meanings)

    assert found(registry, "umbrella") == []
    assert found(registry, "weather") == ["forecast"]

    model.may_go_on.set()
    meanings.wait(_SOON)
    assert found(registry, "umbrella") == ["forecast"]


def test_a_new_tool_is_understood_and_a_gone_one_forgotten(model: Dictionary, store: VectorStore) -> None:
    meanings = Meanings(lambda: model, store)
    registry = registry_with(meanings)
    registry.search("anything")
    meanings.wait(_SOON)

    registry.unregister("forecast")
    assert found(registry, "umbrella") == []

    registry.register(forecast)
    registry.search("anything")
    meanings.wait(_SOON)
    assert found(registry, "umbrella") == ["forecast"]


def test_what_was_embedded_once_is_not_embedded_again(model: Dictionary, store: VectorStore) -> None:
    for _ in range(2):
        meanings = Meanings(lambda: model, store)
        registry_with(meanings).search("anything")
        meanings.wait(_SOON)

    # The query may be embedded too: whether the vectors were ready by then is a matter of threads.
    of_tools = [text for text in model.embedded if text != "anything"]
    assert len(of_tools) == len(set(of_tools)) == 3


def test_without_a_place_to_keep_vectors_they_are_made_again(model: Dictionary, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    meanings = Meanings(lambda: model, VectorStore(tmp_path / "file" / "vectors.db", "a model"))
    registry = registry_with(meanings)
    registry.search("anything")
    meanings.wait(_SOON)

    assert found(registry, "umbrella") == ["forecast"]


def test_with_a_model_that_cannot_be_read_words_go_on(store: VectorStore) -> None:
    def refuse() -> Dictionary:
        raise ModelError("It is broken.")

    meanings = Meanings(refuse, store)
    registry = registry_with(meanings)
    with structlog.testing.capture_logs() as lines:
        registry.search("anything")
        meanings.wait(_SOON)

    assert found(registry, "weather") == ["forecast"]
    assert found(registry, "umbrella") == []
    assert [(line["event"], line["reason"]) for line in lines] == [("Tools are found by words only", "It is broken.")]


def test_a_folder_without_a_model_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"it has no config\.json"):
        semantic_search(tmp_path, tmp_path)


def test_a_named_tool_stays_first_and_the_shares_add_up(model: Dictionary, store: VectorStore) -> None:
    meanings = Meanings(lambda: model, store)
    registry = registry_with(meanings)
    registry.search("anything")
    meanings.wait(_SOON)

    assert registry.search("send_message")[0].score == 1
    for match in registry.search("send an email about the price of the weather", explain=True):
        assert sum(reason.share for reason in match.why) == pytest.approx(match.score, abs=0.001)
        assert 0 < match.score < 0.9


@pytest.mark.parametrize(
    ("query", "known"),
    [
        pytest.param("Where is the café?", True, id="Latin"),
        pytest.param("天気を教えて", False, id="Japanese"),
        pytest.param("n8n の実行を一覧する", False, id="mostly Japanese"),
        pytest.param("какая погода", False, id="Cyrillic"),
        pytest.param("12345 ?!", False, id="no letters"),
    ],
)
def test_a_model_is_only_asked_in_letters_that_it_knows(query: str, known: bool) -> None:
    assert is_known_script(query) is known


def test_a_blend_measures_both_by_their_best() -> None:
    scores = blend({"words": 0.8, "both": 0.6}, {"meaning": 0.7, "both": 0.6, "neither": 0.1})

    assert max(scores, key=lambda name: scores[name]) == "both"
    assert scores.keys() == {"words", "both", "meaning"}
    assert all(0 < score < 0.9 for score in scores.values())


def test_what_is_alike_by_chance_is_not_found() -> None:
    assert blend({}, {"one": 0.2, "two": 0.1}) == {}
