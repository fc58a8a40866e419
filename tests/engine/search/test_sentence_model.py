"""A BERT in numpy: read from a folder, the same for one sentence and for many."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from dogubako.engine.search.sentence_model import ModelError, SentenceModel, fingerprint

_SIZE, _WIDE, _LAYERS, _HEADS = 8, 16, 2, 2
_VOCABULARY = ("[UNK]", "list", "issues", "send", "an", "email")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model that has learned nothing, in the files that a real one has."""
    (tmp_path / "config.json").write_text(json.dumps({"num_hidden_layers": _LAYERS, "num_attention_heads": _HEADS}))
    tokenizer = Tokenizer(WordLevel({word: at for at, word in enumerate(_VOCABULARY)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "model.safetensors").write_bytes(_safetensors(_weights()))
    return tmp_path


def _weights() -> dict[str, NDArray[np.float32]]:
    random = np.random.default_rng(5)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(_VOCABULARY), _SIZE),
        "embeddings.position_embeddings.weight": (96, _SIZE),
        "embeddings.token_type_embeddings.weight": (2, _SIZE),
        **_both("embeddings.LayerNorm", (_SIZE,)),
    }
    for layer in range(_LAYERS):
        name = f"encoder.layer.{layer}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            shapes |= _both(f"{name}.attention.{part}", (_SIZE, _SIZE))
        shapes |= _both(f"{name}.attention.output.LayerNorm", (_SIZE,)) | _both(f"{name}.output.LayerNorm", (_SIZE,))
        shapes |= _both(f"{name}.intermediate.dense", (_WIDE, _SIZE)) | _both(f"{name}.output.dense", (_SIZE, _WIDE))
    return {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def _both(name: str, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": shape, f"{name}.bias": shape[:1]}


def _safetensors(weights: dict[str, NDArray[np.float32]]) -> bytes:
    table, body = {}, b""
    for name, one in weights.items():
        table[name] = {"dtype": "F32", "shape": one.shape, "data_offsets": [len(body), len(body) + one.nbytes]}
        body += one.tobytes()
    head = json.dumps({"__metadata__": {"format": "pt"}, **table}).encode()
    head += b" " * (-len(head) % 8)
    return len(head).to_bytes(8, "little") + head + body


def test_every_sentence_becomes_a_row_of_length_one(folder: Path) -> None:
    rows = SentenceModel(folder).embed(["list issues", "send an email"])

    assert rows.shape == (2, _SIZE)
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1], abs=1e-5)
    assert not np.allclose(rows[0], rows[1], atol=0.01)


def test_a_sentence_is_the_same_alone_and_among_others(folder: Path) -> None:
    model, sentences = SentenceModel(folder), ["list issues", "email", "send an email to list", *["issues"] * 20]

    together = model.embed(sentences)

    for sentence, row in zip(sentences, together, strict=True):
        assert np.allclose(model.embed([sentence])[0], row, atol=1e-5)


def test_a_long_text_is_read_as_far_as_the_model_can(folder: Path) -> None:
    assert SentenceModel(folder).embed(["list issues " * 500]).shape == (1, _SIZE)


@pytest.mark.parametrize("missing", ["config.json", "model.safetensors", "tokenizer.json"])
def test_what_is_missing_is_said(folder: Path, missing: str) -> None:
    (folder / missing).unlink()

    with pytest.raises(ModelError, match=missing):
        SentenceModel(folder)
    with pytest.raises(ModelError, match=missing):
        fingerprint(folder)


def test_another_model_has_another_fingerprint(folder: Path) -> None:
    before = fingerprint(folder)
    assert fingerprint(folder) == before

    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"!")

    assert fingerprint(folder) != before


def test_a_file_that_is_something_else_is_refused(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0not json at all!")

    with pytest.raises(ModelError, match="is no sentence model"):
        SentenceModel(folder)
