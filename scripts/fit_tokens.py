"""Fit the tables of `response/tokens.py` to two real tokenizers, and write them.

    python -m scripts.fit_tokens            prints how tight and how safe the fit is; --write replaces the tables

It needs the development packages (both tokenizers) and scipy, which no lock file names: `pip install scipy`. The
samples are files of this Python and its packages, and texts that are made here: logs, tables, JSON, noise, and short
patterns that are repeated, for which chance does not even out.
"""

import argparse
import base64
import gzip
import importlib
import json
import random
import re
import string
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

# Run as a file, Python looks beside it, not where `tests` is.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dogubako.response import tokens
from tests import real_tokenizers

_RUN: Final = re.compile(r" ?[A-Za-z]+")
_SUFFIXES: Final = {
    ".py",
    ".md",
    ".txt",
    ".rst",
    ".json",
    ".js",
    ".html",
    ".toml",
    ".yml",
    ".yaml",
    ".css",
    ".h",
    ".csv",
}
_MOST_FILES: Final = 2_500
_MOST_CHARACTERS: Final = 60_000
# More words would cost memory and gain little.
_KEPT_WORDS: Final = 20_000
_KINDS: Final = 16
_LETTERS: Final = (6, 7)
_OUTSIDE_ASCII: Final = 2
# What a missing token weighs beside one too many.
_PENALTY: Final = 3.0
# Only half of the margin is used up by the samples; the other half is for texts that nobody has seen.
_MARGIN_USED: Final = 0.5
# Passages of this kind have a rule of their own, so they do not have to be paid for by their pairs.
_PATTERN: Final = re.compile(r"(.{2,14}?)\1{5,}", re.DOTALL)


def real_tokens(text: str) -> int:
    """What the larger of both tokenizers counts."""
    return max(real_tokenizers.claude_tokens(text), real_tokenizers.mistral_tokens(text))


def files_of_python(dice: random.Random) -> Iterator[str]:
    folders = {Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib")}
    files = sorted(file for folder in folders for file in folder.rglob("*") if file.suffix in _SUFFIXES)
    for file in dice.sample(files, min(_MOST_FILES, len(files))):
        try:
            yield file.read_text(encoding="utf-8")[:_MOST_CHARACTERS]
        except (OSError, UnicodeDecodeError):
            continue


def chunk(text: str, dice: random.Random) -> str:
    size = dice.choice((60, 150, 400, 1_000, 3_000))
    start = dice.randrange(max(len(text) - size, 0) + 1)
    return text[start : start + size]


def log_lines(dice: random.Random) -> str:
    events = ("connected", "retrying request", "User logged in", "cache miss for key", "Started worker process")

    def event() -> str:
        return dice.choice(events)

    def clock() -> str:
        return f"{dice.randrange(24):02}:{dice.randrange(60):02}:{dice.randrange(60):02}"

    def number(most: int = 99_999) -> int:
        return dice.randrange(most)

    lines: tuple[Callable[[], str], ...] = (
        lambda: f"2026-11-17 {clock()},{number(999):03} INFO [worker-{number(9)}] com.example.Service - {event()}",
        lambda: (
            f'10.0.{number(255)}.{number(255)} - - [17/Nov/2026:{clock()} +0000] "GET /api/{number()} HTTP/1.1" 200'
        ),
        lambda: f"Nov 17 {clock()} host sshd[{number()}]: Accepted publickey for root port {number()}",
        lambda: f"{number()},{dice.choice(('Tanaka', 'Suzuki', 'open'))},{dice.random():.3f},2026-11-17,{event()}",
        lambda: f"{number(999):6} {number(90):3}  {number(9)}",
        lambda: f"| {number(99):4} | {event():24} | {dice.random():8.2f} |",
        lambda: f'  File "/usr/lib/python3.11/{event().replace(" ", "_")}.py", line {number(999)}, in run',
    )
    line = dice.choice(lines)
    return "\n".join(line() for _ in range(dice.randrange(3, 40)))


def json_text(dice: random.Random) -> str:
    rows: list[dict[str, Any]] = [
        {
            "id": dice.randrange(10**6),
            "uuid": f"{dice.getrandbits(128):032x}",
            "createdAt": f"2026-11-{dice.randrange(1, 29):02}T10:30:00.000Z",
            "name": dice.choice(("Fetch orders", "HTTP Request", "佐藤 太郎", "Send a reminder")),
            "active": dice.random() > 0.5,
            "nested": [{"type": "n8n-nodes-base.httpRequest", "position": [250, 300], "none": None}],
        }
        for _ in range(dice.randrange(1, 12))
    ]
    return json.dumps(rows, indent=dice.choice((None, None, 2, 4)), ensure_ascii=dice.random() > 0.5)


def noise(dice: random.Random) -> str:
    letters, signs, digits = string.ascii_letters, string.punctuation, string.digits
    alphabets = (
        *(string.printable, signs, digits, letters, string.ascii_lowercase, letters + digits, signs + " ", " \n\t"),
        *(digits + signs, " \n", "  " + digits, "".join(map(chr, range(32))), " \t\r\nab", letters + signs),
        string.ascii_lowercase + "    ",
    )
    size = dice.choice((20, 80, 300, 900))
    if dice.random() < 0.15:
        return base64.b64encode(dice.randbytes(size)).decode()
    return "".join(dice.choices(dice.choice(alphabets), k=size))


def repeated(text: str, dice: random.Random) -> str:
    """A piece of a text, again and again."""
    size = dice.choice((1, 2, 3, 5, 8, 11, 14, 20, 35, 60, 100))
    start = dice.randrange(max(len(text) - size, 0) + 1)
    unit = text[start : start + size]
    return (unit * 2_000)[: dice.choice((240, 600, 2_000))]


def samples(dice: random.Random, texts: list[str], number: int) -> Iterator[tuple[str, bool]]:
    """Texts, and whether people write such texts."""
    makers: tuple[tuple[float, bool, Callable[[], str]], ...] = (
        (0.40, True, lambda: chunk(dice.choice(texts), dice)),
        (0.12, True, lambda: log_lines(dice)),
        (0.10, True, lambda: json_text(dice)),
        (0.15, False, lambda: noise(dice)),
        (0.13, False, lambda: repeated(dice.choice(texts), dice)),
        (0.10, False, lambda: repeated(noise(dice), dice)),
    )
    for _ in range(number):
        _, natural, make = dice.choices(makers, [weight for weight, _, _ in makers])[0]
        yield make(), natural


def word_table() -> set[str]:
    """Runs of letters, with and without a blank before them, that are one token for both; the most frequent ones.

    A tokenizer numbers its tokens in the order in which it learned them, the most frequent first.
    """
    vocabulary = real_tokenizers.claude_vocabulary()
    runs = [run for run in sorted(vocabulary, key=vocabulary.__getitem__) if _RUN.fullmatch(run)]
    single = [run for run in runs if real_tokens(run) == 1]
    return {*single[:_KEPT_WORDS], *string.ascii_letters, *(f" {letter}" for letter in string.ascii_letters)}


def kind_counts(text: str) -> Any:
    """How often each pair of kinds stands in a text whose long runs were shortened."""
    data, _ = tokens.without_runs(text.encode("utf-8", "surrogatepass"))
    return np.bincount(np.frombuffer(tokens.pairs_of_kinds(data), np.uint8), minlength=256)


def needed(text: str) -> int:
    """What the pairs of a text have to cost, in all."""
    whole = text.encode("utf-8", "surrogatepass")
    data, run_cost = tokens.without_runs(whole)
    others = run_cost + tokens.cost_besides_pairs(data) + int(tokens.margin(len(whole)) * _MARGIN_USED) * tokens.TOKEN
    return real_tokens(text) * tokens.TOKEN - others


def fit(training: list[tuple[str, bool]]) -> list[int]:
    """The smallest costs of pairs of kinds that keep (nearly) every sample above the real tokenizers."""
    from scipy.optimize import linprog  # noqa: PLC0415 - only this script needs it, and only here
    from scipy.sparse import csr_matrix, hstack, identity  # noqa: PLC0415

    bounds = [_bounds(pair) for pair in range(256)]
    rows = np.array([kind_counts(text) for text, _ in training], float)
    weight = np.array([natural / max(real_tokens(text), 1) for text, natural in training])
    size = len(training)
    solution = linprog(
        np.concatenate([rows.T @ weight + 1e-6, np.full(size, _PENALTY)]),
        A_ub=hstack([csr_matrix(-rows), -identity(size)]).tocsr(),
        b_ub=-np.array([needed(text) for text, _ in training], float),
        bounds=[*bounds, *[(0, None)] * size],
        method="highs-ipm",
    )
    return [int(np.ceil(cost - 1e-6)) for cost in solution.x[:256]]


def _bounds(pair: int) -> tuple[int, int]:
    first, second = divmod(pair, _KINDS)
    if first in _LETTERS and second in _LETTERS:
        return 0, 0
    # What is outside ASCII costs its bytes, less what `_saving_patterns` says.
    return (tokens.TOKEN, tokens.TOKEN) if _OUTSIDE_ASCII in (first, second) else (0, tokens.TOKEN)


def write_costs(costs: list[int]) -> None:
    """Replace the table in the source."""
    source = Path(tokens.__file__)
    rows = "\n".join(
        "    " + " ".join(f"{cost:2}" for cost in costs[start : start + 16]) for start in range(0, 256, 16)
    )
    text = re.sub(r'(?<=_KIND_COSTS = bytes\(map\(int, """\n)[\d\s]+', rows + "\n", source.read_text(encoding="utf-8"))
    source.write_text(text, encoding="utf-8")


def report(title: str, tried: list[tuple[str, bool]]) -> None:
    for natural in (True, False):
        ratios = [tokens.count_tokens(text) / max(real_tokens(text), 1) for text, kind in tried if kind is natural]
        below = sum(ratio < 1 for ratio in ratios)
        print(f"{title}, {'texts' if natural else 'noise and patterns'}: {len(ratios)} samples, {below} below, "
              f"lowest {min(ratios):.2f}, mean {sum(ratios) / len(ratios):.2f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="replace the tables in src")
    parser.add_argument("--samples", type=int, default=16_000)
    options = parser.parse_args()
    dice = random.Random(2026)
    texts = [text for text in files_of_python(dice) if len(text) > 200]
    if options.write:
        listed = "\n".join(sorted(word_table())).encode("ascii")
        tokens.WORDS_FILE.write_bytes(gzip.compress(listed, 9, mtime=0))
        importlib.reload(tokens)
        training = samples(dice, texts, options.samples)
        write_costs(fit([(text, natural) for text, natural in training if natural or not _PATTERN.search(text)]))
        importlib.reload(tokens)
    report("held back", list(samples(random.Random(7), texts, 4_000)))


if __name__ == "__main__":
    main()
