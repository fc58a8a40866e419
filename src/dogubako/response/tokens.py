"""A fast upper bound of the tokens of a text, never below what a real tokenizer counts.

An answer that is too long is lost, one that is a little shorter than it could be is not. So this is an upper
bound: at least what the tokenizers of Claude (anthropic 0.38) and Mistral (Tekken) say, about 1.2 times that for
English, code, logs and JSON, twice for Japanese at most.

- A run of letters is looked up: `token_words.txt.gz` has those that are one token for both tokenizers, after a blank
  or without one. Another run costs the pieces of that table that it is made of, and one more.
- What is between letters is made of bytes. Each byte adds what its *pair* with the byte before it costs: a digit is
  a token, a comma behind a quote nearly free.
- A byte outside ASCII is a token, unless its character is one we know to be cheaper.
- Chance evens out in long texts, not in short ones: a margin that grows with the square root covers that.

`scripts/fit_tokens.py` chooses the words and fits the pairs by linear programming: the smallest costs that stay above
both tokenizers for thousands of samples of prose, code, logs, JSON and noise, and of short patterns that are repeated.
tests/response/test_tokens.py holds them to it.
"""

import re
import sys
import time
import unicodedata
import zlib
from collections import Counter
from functools import cache, lru_cache
from math import isqrt
from pathlib import Path
from typing import Final

from dogubako.contract.normalization import nfkc
from dogubako.response.jsonable import pieces_of

TOKEN: Final = 60  # All costs are in sixtieths of a token.

# The start and the end of a text count as a line end: kind 0. Kind 2 is a byte outside ASCII, kind 3 a control.
_KINDS = ("\n", " ", "", "\r\t", ":", "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz",
          '"', ",", "{}[]", "-_", "./", "<>=()", "';&!?", "\\#*`|@%$+~^")  # fmt: skip
# A row is the first of the pair, a column the second, both in the order above.
_KIND_COSTS = bytes(map(int, """
    55 41 60 60 56 60 60 10 32  0  0 60 60  0  0 60
    60  5 60 60 60 60  0  2 18 60 26  8 27 15 21 45
    60 60 60 60 60 60 60 60 60 60 60 60 60 60 60 60
    60 37 60 60  0 60  3  7  0  0  0  0  0  0 60  0
     0 54 60  0  0 44 32 24  0 60 42 60 60 60 60 50
    55 59 60 60 31 60 58 26 60 60 60 23 50 60 60 60
     0  0 60 13  0  8  0  0  0  0 60  2  0 60 27 60
    28  0 60 60  6 28  0  0  0 25 15 28 18  6  0 39
    56  0 60  0  0 21 53 50 18  2 60 60  0 15 27 18
    57 51 60  0  0 60  0 60  0 45 60 60 60  0 60 60
    60 56 60 42  0 34 57  0  0  0 47 60 29 60 44 60
     9 55 60  0  0 60  0 50  0 14 60 18 12 48 60 60
     0 48 60  0 47 60 37 10 15  0  0 17 26 54 22 60
    47 50 60  0 60 60 60 46 34  0 60  0  9 22 56 60
    10 31 60  0 48 60  0  0 30 11 40 60 60 14 13 60
    10 60 60 60 60 60 17  3 60 50 60  3 57 60 60 33
""".split()))  # fmt: skip
WORDS_FILE: Final = Path(__file__).with_name("token_words.txt.gz")
# How zlib is told that a file of gzip comes.
_GZIP: Final = zlib.MAX_WBITS | 16
_LETTERS_ONLY: Final = bytes(byte if byte < 128 and chr(byte).isalpha() else 32 for byte in range(256))
# Most text has less than so many bytes for each token.
_LOOKED_AT: Final = 3
# No piece of the table is longer. A longer run is no word: its letters are counted.
_LONGEST_PIECE: Final = 16
_LONGEST_WORD: Final = 64
# Cutting a word into pieces takes some microseconds. Beyond so many different words, their letters are counted.
_MOST_WORDS_CUT: Final = 3_000

# ":-,:-,:-,…" is made of pairs that are cheap in text, and is not cheap itself. Text with such passages compresses
# well; searching them in every text would take longer than counting it.
_PERIODS: Final = range(2, 15)
_PATTERN_RATIO: Final = 5
_SHORTEST_PATTERN: Final = 48
# To count so many bytes takes milliseconds, and the pause of a thread after them next to nothing.
_LONG_STEP: Final = 16 * 1024
_PAUSE_SECONDS: Final = 0.000_05
# Whole lines that are repeated cost up to this part more than lines that differ.
_REPEATED_LINES: Final = 24
# What a byte of such a passage costs more than its pair. Letters were counted before, each with a blank before it.
_COUNTED_BEFORE: Final = {(first, kind) for first in range(16) for kind in (1, 6, 7)} - {(0, 1), (1, 1), (3, 1)}
_PATTERN_COSTS: Final = bytes(
    0 if divmod(pair, 16) in _COUNTED_BEFORE else TOKEN - cost for pair, cost in enumerate(_KIND_COSTS)
)

# Before a word the last of several blanks is part of the word's token; before a digit it is one of its own.
_BLANKS_BEFORE_DIGIT = re.compile(rb"  (?=[0-9])")

# There are no rows of 16 different signs: ":-,:-,:-,…" is made of pairs that are cheap in text, and is not cheap.
_LONG_SIGNS_COST = 45

# Rulers and padding: repeated characters are cheap, and some are cheaper than others.
_LONG_RUN = re.compile(rb"([ !-/:-IL-PR-TW-~])\1{15,}")
_RUN_SHOWN = 16
_RUN_COSTS = {**dict.fromkeys(b"%FXYfxy}", 15), **dict.fromkeys(b"_", 8), **dict.fromkeys(b".#/=*- ", 4)}
_OTHER_RUN_COST = 32

# Three bytes, but one token in both vocabularies: signs, kana, the most common kanji and hangul.
_CHEAP_CHARACTERS = (
    r"–—‘’“”„•…€™→−≥①-⑤─█■●\u3000-\u3002「」【】\uff01\uff05\uff08-\uff1b\uff1d-\uff1f\uff3b\uff3d\uff5e"
    "あいうえおかがきくけこさしすせそただちっつてでとどなにのはばまみめもやよらりるれわをんアィイウェエオカキクグコ"
    "サシジスセタッテデトドパフブプマムメュョラリルレロン・ー"
    "一万三上下不与专且业东两个中临为主么义之乐也习书了事二于云互五些交产京人什仅今从他付代令以们件价任份企会传似但"
    "位体何余作你使例供依保信修個候值假做停像元充先光克入全公共关兴其具典内册再写决况准几出击分切划列则初利别到制前"
    "剧割力功加务动助動包化北匹区十半华单南博占卡印即历原去县参及双反发取受变口古句只可台右号司各合吉同名后向否含启"
    "告员周命和品哈响商器四回因团国图土在地场均坐型城域基報場境增处备変复外多大天太失头好如始子字存学宁它安完定实実"
    "客害家容密对导対射将小少尔就尾局展属山川州工左差己已市布带常平年并广序库应店度建开式引张归当录形影径待很後得微"
    "德心必志态思性总息您情想意感戏成我或截户房所手才打批承技把投报拉择括持指按换据排接控推提播支收改放政效教数整數"
    "文料断新方族无日时昌明易星映是显時普景曲更替最月有服期未本术机权束条来板构林果查标校样根格案档概標模次止正此步"
    "武段母每比民水永求江没河治法波注活流海消深清游湖源满点為热然照父片版牌物特状率王环现現理生用由申电画界略発登白"
    "百的目直相省看真着知短石码确示社神票离种科秒称移程空突立站章端符第等答策简算管类精系素索結線红约级线组终经结给"
    "统继续维编网罪置群老考者而联股育能自至致色节花若英范获菜藏行表被装西要见规视角解言計設计认让议记许论设证评识词"
    "试话该语误说请读调象資负责败质费资起超足路跳身车转轮载较辑输边达过运近返还这进连述追退送选通速造遍道那部都配采"
    "释里重量金银错长開間関门闭问间闻队防阳际陆限院除随隔集零需青非面音页项顺须题首马验高黑默"
    "가간개게경고과구그기까나내는니다단당대도동되된드들라래량러력로료를름리만면문미번보복부분사산상색서성세소수스습"
    "시식아야어에여열오와요용우원위으은을음의이인일입자작장재전정제주지째치크터트하한할합해행호화환"
)
# Adding up fewer one by one is faster.
_FEW_BYTES: Final = 512
# In such a short text, a byte may be a token.
_TINY = 8
# Even padding costs more than a token per this many characters.
_MOST_PER_TOKEN = 24
# U+FDFA grows to 33 bytes when it is normalised. No character grows more.
_WIDEST = 33
_LONG = 512 * 1024
# U+FDFA becomes 18 characters. Texts that people write hardly grow.
_MOST_GROWTH = 3


def _classes(groups: tuple[str, ...], step: int, ascii_rest: int, rest: int) -> bytes:
    """A translation table from a byte to its class, multiplied by `step`."""
    table = [ascii_rest * step] * 128 + [rest * step] * 128
    for number, group in enumerate(groups):
        for char in group:
            table[ord(char)] = number * step
    return bytes(table)


_KIND_FIRST, _KIND_SECOND = _classes(_KINDS, 16, 3, 2), _classes(_KINDS, 1, 3, 2)
_IS_SIGN = _classes(("", "".join(chr(one) for one in range(33, 127) if not chr(one).isalnum())), 1, 0, 0)
_IS_ZERO = b"\x01" + bytes(255)
_ASCII = bytes(range(128))
# Rows of 16 bytes, in bits.
_SIXTEEN: Final = (8, 16, 32, 64)


def count_tokens(text: str) -> int:
    """An upper bound of the tokens of this text."""
    if len(text) <= _TINY and text.isascii():
        return len(text)
    if len(text) > _LONG:
        # Counting a long text at once would hold the interpreter. The bounds of the pieces add up to a bound of the
        # whole.
        return sum(map(count_tokens, pieces_of(text)))
    if text.isascii() or unicodedata.is_normalized("NFKC", text):
        return _bound(text)
    # Claude's tokenizer normalises first, Mistral's does not, and either form can be the longer one.
    normal = nfkc(text)
    # What grows so much is no text in any language: its bytes are bound enough, and cheaper to count than its pairs.
    grown = len(normal) > _MOST_GROWTH * len(text)
    return max(_bound(text), len(normal.encode("utf-8", "surrogatepass")) if grown else _bound(normal))


def most_tokens(text: str) -> int:
    """What `count_tokens` is at most, without counting: a byte is at most a token."""
    if text.isascii():
        return len(text)
    if unicodedata.is_normalized("NFKC", text):
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) * _WIDEST


def surely_above(text: str, limit: int) -> bool:
    """Whether `count_tokens` is above the limit, as far as the beginning of a text tells: far faster than to count.

    What words and pairs of bytes cost there, the whole text costs as well, and more.
    """
    if far_above(text, limit):
        return True
    if len(text) <= limit or len(text) < _FEW_BYTES or not text.isascii():
        return False
    beginning = text[: _LOOKED_AT * limit].encode()
    if _has_run(beginning):
        return False
    # The last two are pairs with the end of the text.
    pairs = pairs_of_kinds(beginning)[:-2].translate(_KIND_COSTS)
    return len(beginning.translate(_LETTERS_ONLY).split()) * TOKEN + _sum(pairs) > limit * TOKEN


def far_above(text: str, limit: int) -> bool:
    """Whether a text is so long that it cannot fit. Avoids counting megabytes."""
    return len(text) > far_above_characters(limit)


def far_above_characters(limit: int) -> int:
    """The length above which no text fits into `limit` tokens."""
    return max(limit, 1) * _MOST_PER_TOKEN


def fits(text: str, limit: int) -> bool:
    """Whether `count_tokens` stays within the limit. Short texts are not counted: a byte is at most a token."""
    return len(text) * (1 if text.isascii() else _WIDEST) <= limit or count_tokens(text) <= limit


def _bound(text: str) -> int:
    # Lone surrogates have no UTF-8. They count as three bytes.
    whole = text.encode("utf-8", "surrogatepass")
    data, run_cost = without_runs(whole)
    cost = run_cost + cost_besides_pairs(data) + _pair_costs(data) + _pattern_costs(data)
    cost += cost // _REPEATED_LINES
    return min(len(whole), margin(len(whole)) + -(-cost // TOKEN))


def margin(size: int) -> int:
    """Tokens that a text of this many bytes may have more than its parts cost on average."""
    return 4 + isqrt(size) // 4


def cost_besides_pairs(data: bytes) -> int:
    """What words, rows of signs, blanks before digits and characters outside ASCII cost."""
    cost = _word_costs(data) + _LONG_SIGNS_COST * _beyond_fifteen(data, _IS_SIGN)
    cost += TOKEN * len(_BLANKS_BEFORE_DIGIT.findall(data))
    return cost if data.isascii() else cost - _savings(data)


def pairs_of_kinds(data: bytes) -> bytes:
    """Each byte with the one before it, as a place in the table, at C speed: the text is one big number.

    Shifted by one digit and added, two such numbers hold in each digit the pair of a byte and its neighbour.
    """
    pairs = (_number(data.translate(_KIND_FIRST)) << 8) + _number(data.translate(_KIND_SECOND))
    return pairs.to_bytes(len(data) + 2, "little")


def _pair_costs(data: bytes) -> int:
    return _sum(pairs_of_kinds(data).translate(_KIND_COSTS))


def _sum(costs: bytes) -> int:
    """Add up bytes. Of many, eight neighbours are added at a time, as parts of one big number."""
    if len(costs) < _FEW_BYTES:
        return sum(costs)
    size = -(-len(costs) // 8) * 8
    number = _number(costs)
    for bits in (8, 16, 32):
        mask = _number((b"\xff" * (bits // 8) + bytes(bits // 8)) * (size * 8 // (2 * bits)))
        number = (number & mask) + ((number >> bits) & mask)
    return sum(memoryview(number.to_bytes(size, sys.byteorder)).cast("Q"))


def _pattern_costs(data: bytes) -> int:
    """What short patterns that are repeated cost beyond their pairs: in them, every sign and digit is a token."""
    if len(data) < _SHORTEST_PATTERN or _compressed_size(data) * _PATTERN_RATIO > len(data):
        return 0
    whole, size, repeated = _number(data), len(data), 0
    for period in _PERIODS:
        # The last bytes of the text would be compared with the nothing behind it.
        differs = (whole ^ (whole >> (8 * period))).to_bytes(size, "little")[: size - period]
        repeated |= _after_many(differs.translate(_IS_ZERO), _SIXTEEN)
    if not repeated:
        return 0
    # The pairs begin one place before the bytes. Which of two neighbours is counted makes no difference in a pattern.
    missing = _number(pairs_of_kinds(data).translate(_PATTERN_COSTS)) & (repeated * 255)
    return sum(missing.to_bytes(size + 2, "little"))


def _compressed_size(data: bytes) -> int:
    size = len(zlib.compress(data, 1))
    if len(data) >= _LONG_STEP:
        # `compress` releases the interpreter's lock so briefly that another thread wakes up too late to take it, and
        # each time that thread's wait begins anew: without a pause, the event loop would stand still beside a thread
        # that counts one long text after the other.
        time.sleep(_PAUSE_SECONDS)
    return size


# A run of letters belongs to the blank before it. Here that blank is another sign, and all else is a blank.
_BLANK: Final = b"\x01"
_RUNS_ONLY: Final = bytes(
    byte if chr(byte).isalpha() and byte < 128 else 1 if byte == 32 else 32 for byte in range(256)
)


@cache
def _words() -> frozenset[bytes]:
    """Runs of letters that are one token; those after a blank begin with its sign."""
    return frozenset(zlib.decompress(WORDS_FILE.read_bytes(), _GZIP).replace(b" ", _BLANK).split(b"\n"))


def _runs(data: bytes) -> Counter[bytes]:
    """The runs of letters, each with the blank before it, in the order in which they first occur."""
    runs = Counter(data.translate(_RUNS_ONLY).replace(_BLANK, b" " + _BLANK).split())
    # Blanks before something else.
    del runs[_BLANK]
    return runs


def _word_costs(data: bytes) -> int:
    runs, words = _runs(data), _words()
    unknown = [(run, times) for run, times in runs.items() if run not in words]
    cost = runs.total()
    for run, times in unknown[:_MOST_WORDS_CUT]:
        cost += _pieces(run) * times
    for run, times in unknown[_MOST_WORDS_CUT:]:
        cost += len(run) * times
    return cost * TOKEN


@lru_cache(maxsize=8192)
def _pieces(run: bytes) -> int:
    """Into how many pieces of the table a run of letters can be cut, from the left, the longest first."""
    words, size, start, pieces = _words(), len(run), 0, 0
    if size > _LONGEST_WORD:
        return size
    while start < size:
        end = min(size, start + _LONGEST_PIECE)
        while end > start + 1 and run[start:end] not in words:
            end -= 1
        start, pieces = end, pieces + 1
    return pieces


def without_runs(data: bytes) -> tuple[bytes, int]:
    """The text with its long runs shortened, and the cost of the removed part."""
    if not _has_run(data):
        return data, 0
    cost = 0

    def shorten(run: re.Match[bytes]) -> bytes:
        nonlocal cost
        cost += (len(run[0]) - _RUN_SHOWN) * _RUN_COSTS.get(run[0][0], _OTHER_RUN_COST)
        return run[0][:_RUN_SHOWN]

    return _LONG_RUN.sub(shorten, data), cost


def _number(digits: bytes) -> int:
    return int.from_bytes(digits, "little")


def _beyond_fifteen(data: bytes, kind: bytes) -> int:
    """Count the signs that follow 15 others."""
    return _after_many(data.translate(kind), _SIXTEEN).bit_count()


def _has_run(data: bytes) -> bool:
    """Whether some byte is followed by 16 of its kind."""
    if len(data) <= _RUN_SHOWN:
        return False
    number = _number(data)
    differs = (number ^ (number >> 8)).to_bytes(len(data), "little")
    return _after_many(differs.translate(_IS_ZERO), _SIXTEEN) != 0


def _after_many(marks: bytes, shifts: tuple[int, ...]) -> int:
    """Which of the marks (0 or 1) begin a row of as many as the shifts add up to."""
    run = _number(marks)
    for shift in shifts:
        run &= run >> shift
    return run


def _savings(data: bytes) -> int:
    wide = data.translate(None, _ASCII).decode("utf-8", "surrogatepass")
    return sum(saved * len(pattern.findall(wide)) for pattern, saved in _saving_patterns())


@cache
def _saving_patterns() -> list[tuple[re.Pattern[str], int]]:
    """How much less than its bytes a character costs. Compiled with the first text outside ASCII: it takes long.

    The second class are scripts of India and Thailand, two tokens.
    """
    return [
        (re.compile(f"[{_CHEAP_CHARACTERS}]"), 120),
        (
            re.compile(
                "[\u0900-\u0957\u0960-\u09db\u0b80-\u0c3f\u0c80-\u0cbf\u0d00-\u0d3f\u0e00-\u0e7f"
                "\u1000-\u107f\u10d0-\u10ff]"
            ),
            54,
        ),
        (re.compile("[а-яёєії]"), 72),
        (re.compile("[α-ωά-ώא-תا-ي]"), 39),
    ]
