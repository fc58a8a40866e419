"""The table of words: what is in the wheel, and what its vectors say."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dogubako.engine.search
from dogubako.engine.search.word_table import WordPieces, plain_words, word_table

FOLDER = Path(dogubako.engine.search.__file__).parent / "table"
MOST_BYTES = 4_000_000


def test_the_table_is_small_and_says_where_it_comes_from() -> None:
    data = [FOLDER / name for name in ("rows.npy", "scales.npy", "words.txt.gz")]

    assert sum(path.stat().st_size for path in data) < MOST_BYTES
    assert "Apache License" in (FOLDER / "LICENSE").read_text(encoding="utf-8")
    assert "all-MiniLM-L6-v2" in (FOLDER / "NOTICE").read_text(encoding="utf-8")


def test_words_that_mean_the_same_are_near() -> None:
    bug, error, weather = word_table().embed(["fix the bug", "correct a software error", "rain tomorrow in Kyoto"])

    assert bug @ error > bug @ weather + 0.2


def test_a_text_without_words_has_no_direction() -> None:
    vectors = word_table().embed(["", "本日", "words"])

    assert not vectors[:2].any()
    assert np.linalg.norm(vectors[2]) == pytest.approx(1, abs=1e-3)


def test_one_text_has_the_same_vector_alone_and_among_others() -> None:
    alone, among = word_table().embed(["list issues"]), word_table().embed(["x", "list issues", "", "y"])

    assert np.allclose(alone[0], among[1])


def test_unknown_words_are_cut_into_the_longest_known_pieces() -> None:
    pieces = WordPieces(["work", "flow", "##flow", "##s"])

    assert pieces.numbers("workflows") == [0, 2, 3]
    assert pieces.numbers("zzwork") == []
    assert plain_words("listHTTPRoutes v2") == ["list", "http", "routes", "v", "2"]


def test_nothing_is_loaded_before_somebody_searches() -> None:
    program = (
        "import dogubako.app, sys; print('numpy' in sys.modules, 'dogubako.engine.search.word_table' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert ran.stdout.split()[0] == "False"
