"""The estimate never counts less than two real tokenizers, and not much more where it matters."""

import base64
import inspect
import json
import random
import string
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dogubako import app
from dogubako import settings as settings_module
from dogubako.engine import registry
from dogubako.response.tokens import count_tokens, fits, most_tokens, surely_above
from tests.hypothesis_profiles import examples
from tests.real_tokenizers import claude_tokens, mistral_tokens

ENGLISH = """The harbour was quiet when the ferry came in. A dozen people stood along the wall, wrapped in coats that
had seen better winters, and nobody spoke until the ropes were tied. "You are late," said the old man at last, although
he had no watch and the clock above the customs house had stopped in March. What he meant, Anna thought, was that he had
been afraid. She picked up both suitcases, the heavy one first, and walked past him towards the road that climbs behind
the church. There would be time for explanations tomorrow: about the letter, the doctor's unlikely diagnosis, and the
twenty-three boxes of photographs that her aunt had left to a museum which no longer existed. For now there was rain."""

JAPANESE = """昨日の夕方、私は友人と一緒に駅前の小さな喫茶店へ行きました。店内は静かで、
窓の外には雨が降り始めていました。コーヒーを飲みながら、来年の旅行の計画について話し合いました。彼女は北海道へ行きたいと言いましたが、私は九州の温泉のほうが
いいと思います。結局、どちらにするかは決まりませんでした。ワークフローの実行に失敗した場合は、エラーの内容を確認してから、
もう一度お試しください。サーバーの設定を変更するには、管理者の権限が必要です。"""

EMOJI = "😀😂🔥👍🏽👨‍👩‍👧‍👦🇯🇵🎉✅⚠️❤️🧰🛠️🏳️‍🌈🤷🏻‍♀️✨"


def _json(indent: int | None, seed: int = 1) -> str:
    dice = random.Random(seed)
    rows = [
        {
            "id": dice.randrange(10**6),
            "uuid": f"{dice.getrandbits(128):032x}",
            "createdAt": f"2026-{dice.randrange(1, 13):02}-{dice.randrange(1, 29):02}T10:30:00.000Z",
            "workflowName": dice.choice(["Fetch orders", "Send a reminder", "Sync customers"]),
            "nodes": [{"name": "HTTP Request", "type": "n8n-nodes-base.httpRequest", "position": [250, 300]}],
            "active": dice.random() > 0.5,
            "ratio": dice.random(),
            "url": f"https://example.com/api/v1/items/{dice.randrange(999)}?page={dice.randrange(99)}",
            "description": "The order could not be saved because the customer has no address.",
            "retryOf": None,
        }
        for _ in range(20)
    ]
    separators = (",", ":") if indent is None else None
    return json.dumps(rows, indent=indent, separators=separators)


def _xml() -> str:
    issue = '<issue id="{}"><subject>Printer &amp; scanner</subject><status id="2">In Progress</status></issue>'
    return '<?xml version="1.0" encoding="UTF-8"?><issues>' + "".join(issue.format(n) for n in range(60)) + "</issues>"


def _random(alphabet: str, length: int) -> str:
    return "".join(random.Random(7).choices(alphabet, k=length))


def _bytes(length: int) -> bytes:
    return random.Random(8).randbytes(length)


SAMPLES: dict[str, str] = {
    "English": ENGLISH,
    "English, long": ENGLISH * 8,
    "JSON, compact": _json(None),
    "JSON, indented by 2": _json(2),
    "JSON, indented by 4": _json(4, seed=2),
    "XML": _xml(),
    "Japanese": JAPANESE,
    "Japanese and English": JAPANESE + ENGLISH,
    "base64": base64.b64encode(_bytes(3000)).decode(),
    "emoji": EMOJI * 12,
    "hex": _bytes(1500).hex(),
    "source code": "\n".join(inspect.getsource(module) for module in (app, registry, settings_module)),
    "a table of numbers": "\n".join(f"{n:6} {n * 7 % 90:3}  {n % 10}" for n in range(40)),
    "rulers and padding": "\n".join(char * 90 for char in string.printable[:95]),
    "padded JSON": json.dumps([{"id": n, "name": f"customer {n}", "note": "x" * 220} for n in range(12)]),
    "digits": _random(string.digits, 800),
    "capitals": _random(string.ascii_uppercase, 800),
    "nonsense": _random(string.ascii_lowercase, 800),
    "letters and digits": _random(string.ascii_letters + string.digits, 800),
    "punctuation": _random(string.punctuation, 800),
    "white space": _random(" \n\t\r", 800),
    "control characters": "".join(map(chr, range(32))) * 20,
    "accents": _random("áéíóúñçßøåæœ", 300),
    "Cyrillic": "Сервер не отвечает, попробуйте ещё раз позже. " * 10,
    "Arabic": "الخادم لا يستجيب، حاول مرة أخرى لاحقًا. " * 10,
    "Chinese": "服务器没有响应，请稍后再试。工作流执行失败。" * 10,
    "Korean": "서버가 응답하지 않습니다. 나중에 다시 시도하십시오. " * 10,
    "Thai": "เซิร์ฟเวอร์ไม่ตอบสนอง โปรดลองอีกครั้งในภายหลัง " * 10,
    "Hindi": "सर्वर उत्तर नहीं दे रहा है, कृपया बाद में पुनः प्रयास करें। " * 10,
    "full-width": "ＡＢＣ１２３！？" * 40,
    "ligatures that grow when normalised": "ﷺﷻ㍿㌀" * 30,
    "marks upon marks": "Z̸̧͇a̵͙l̶͉g̴̰o̷͕" * 30,
    "half characters": "\ud800a\udfff" * 50,
    "one letter": "a",
    "nothing": "",
}


def _larger(text: str) -> int:
    return max(claude_tokens(text), mistral_tokens(text))


@pytest.mark.parametrize("name", SAMPLES)
def test_no_text_is_counted_below_a_real_tokenizer(name: str) -> None:
    assert count_tokens(SAMPLES[name]) >= _larger(SAMPLES[name])


@pytest.mark.parametrize("name", SAMPLES)
def test_no_part_of_a_text_is_counted_below_a_real_tokenizer(name: str) -> None:
    text, dice = SAMPLES[name], random.Random(9)
    for length in (3, 20, 70, 300, 1500):
        for _ in range(8):
            start = dice.randrange(max(len(text) - length, 0) + 1)
            part = text[start : start + length]
            assert count_tokens(part) >= _larger(part), part


@pytest.mark.parametrize(
    ("name", "most"),
    [
        pytest.param("English", 1.5, id="English"),
        pytest.param("English, long", 1.5, id="long English"),
        pytest.param("JSON, compact", 1.5, id="compact JSON"),
        pytest.param("JSON, indented by 2", 1.5, id="JSON indented by 2"),
        pytest.param("JSON, indented by 4", 1.5, id="JSON indented by 4"),
        pytest.param("padded JSON", 1.5, id="padded JSON"),
        pytest.param("Japanese", 2.0, id="Japanese"),
        pytest.param("Japanese and English", 2.0, id="Japanese and English"),
    ],
)
def test_what_agents_read_most_is_not_counted_much_above(name: str, most: float) -> None:
    assert count_tokens(SAMPLES[name]) <= most * _larger(SAMPLES[name])


WORDS = st.sampled_from(
    [*ENGLISH.split(), *JAPANESE.split("。"), *EMOJI, '{"id":', "null}", "<b>", "\n", "  ", "1.5e10"]
)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.one_of(WORDS, st.text(max_size=8)), max_size=40), st.sampled_from(["", " ", ",", "\n"]))
def test_no_mixture_is_counted_below_a_real_tokenizer(parts: list[str], joint: str) -> None:
    text = joint.join(parts)

    assert count_tokens(text) >= _larger(text)


@settings(max_examples=examples(100), deadline=None)
@given(st.text(max_size=200), st.integers(0, 300))
def test_what_fits_is_never_more_than_the_limit_by_a_real_tokenizer(text: str, limit: int) -> None:
    if fits(text, limit):
        assert _larger(text) <= limit


@pytest.mark.parametrize(
    "count", [pytest.param(claude_tokens, id="Claude"), pytest.param(mistral_tokens, id="Mistral")]
)
def test_the_real_tokenizers_are_really_there(count: Callable[[str], int]) -> None:
    assert 5 <= count("The harbour was quiet.") <= 8


@pytest.mark.parametrize("unit", ["\x80)À,", "一:", "가<Ȕ}¶>", "Ļ'Ŋ{", "ä=", "é)", "\x96}", "Š?ȡ]"])
def test_a_character_beside_a_sign_is_not_counted_below_a_real_tokenizer(unit: str) -> None:
    text = unit * 400

    assert count_tokens(text) >= _larger(text)


@pytest.mark.parametrize("seed", range(5))
def test_no_endless_pattern_of_signs_is_counted_below_a_real_tokenizer(seed: int) -> None:
    dice = random.Random(seed)
    units = [
        ":-,",
        ",:.",
        '=/"',
        *("".join(dice.choices(string.punctuation, k=dice.randrange(2, 7))) for _ in range(60)),
    ]
    low = {unit: _larger(unit * 80) for unit in units if count_tokens(unit * 80) < _larger(unit * 80)}

    assert low == {}


@pytest.mark.parametrize("seed", range(5))
def test_no_word_that_is_repeated_is_counted_below_a_real_tokenizer(seed: int) -> None:
    """Chance evens out over different words, not over one."""
    dice = random.Random(seed)
    words = ["abt", "qz", *("".join(dice.choices(string.ascii_lowercase, k=dice.randrange(2, 8))) for _ in range(80))]
    texts = [joint.join([word] * 60) for word in words for joint in (" ", "\n", ", ")]
    low = {text[:20]: _larger(text) for text in texts if count_tokens(text) < _larger(text)}

    assert low == {}


def _log() -> str:
    dice = random.Random(3)
    texts = ("Connection to database established", "Retrying request after timeout", "Cache miss for key")
    return "\n".join(
        f"2026-11-{dice.randrange(10, 29)} 08:{dice.randrange(10, 60)}:07,512 INFO [worker-3] com.example.Service - "
        f"{dice.choice(texts)} id={dice.randrange(10**6)}"
        for _ in range(300)
    )


PLAIN: dict[str, str] = {
    "log": _log(),
    "stack trace": '  File "/usr/lib/python3.11/site-packages/app/main.py", line 42, in run\n    self.process(item)\n'
    * 80,
    "long words": "authentication configuration initialization of the application management service\n" * 100,
    "English, long": ENGLISH * 8,
    "source code": SAMPLES["source code"],
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_text_is_not_counted_much_above_a_real_tokenizer(name: str) -> None:
    real = _larger(PLAIN[name])

    assert real <= count_tokens(PLAIN[name]) <= 1.4 * real


def test_many_different_words_are_counted_by_their_letters() -> None:
    """Cutting each of them into pieces would take too long."""
    dice = random.Random(4)
    words = {"".join(dice.choices(string.ascii_lowercase, k=9)) for _ in range(5_000)}

    assert count_tokens(" ".join(words)) >= _larger(" ".join(words))


@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_told_without_counting_is_true(name: str) -> None:
    text = SAMPLES[name]
    for part in (text, text[: len(text) // 2], text * 5):
        tokens = count_tokens(part)

        assert most_tokens(part) >= tokens
        assert [limit for limit in (tokens, tokens + 1, 2 * tokens, 9 * tokens) if surely_above(part, limit)] == []


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.one_of(WORDS, st.text(max_size=8)), max_size=40), st.integers(1, 60))
def test_no_mixture_is_said_to_be_above_what_it_costs(parts: list[str], times: int) -> None:
    text = " ".join(parts) * times

    assert most_tokens(text) >= count_tokens(text)
    assert not surely_above(text, count_tokens(text))


@pytest.mark.parametrize("name", ["JSON, compact", "JSON, indented by 2"])
def test_a_text_that_is_far_too_long_is_told_by_its_beginning(name: str) -> None:
    text = SAMPLES[name] * 3

    assert surely_above(text, count_tokens(text) // 2)
