"""Texts from outside are decoded in the encoding that they really have."""

import os
import random

import pytest

from bench.pages.encoding_samples import encoded_samples
from dogubako.outbound.text_decoding import decode_text

LETTER = "お世話になっております。来週の会議の資料を添付しますので、ご確認ください。"
# Two syllables of Japanese in UTF-16 without a mark are also valid ASCII: nobody can know.
_AMBIGUOUS = {("utf-16-le", "はい"), ("utf-16-be", "はい"), ("utf-16-le", "蛍光灯")}


def test_short_texts_are_decoded_without_any_declaration() -> None:
    wrong = [
        f"{language} in {encoding}: {text}"
        for language, encoding, text, body in encoded_samples()
        if decode_text(body).text != text and (encoding, text) not in _AMBIGUOUS
    ]

    assert wrong == []


@pytest.mark.parametrize(
    ("body", "charset", "encoding", "source"),
    [
        pytest.param(b"\xef\xbb\xbf" + LETTER.encode(), "shift_jis", "UTF-8", "byte order mark", id="mark"),
        pytest.param(LETTER.encode("utf-32"), None, "UTF-32LE", "byte order mark", id="UTF-32"),
        pytest.param(LETTER.encode("cp932"), "Shift_JIS", "Shift_JIS", "HTTP header", id="header"),
        pytest.param(
            b"<?xml version='1.0' encoding='euc-jp'?><a>" + LETTER.encode("euc_jp"),
            None,
            "EUC-JP",
            "XML declaration",
            id="XML",
        ),
        pytest.param(b"<meta charset='x-sjis'>" + LETTER.encode("cp932"), None, "Shift_JIS", "meta element", id="meta"),
        pytest.param(LETTER.encode("iso2022_jp"), None, "ISO-2022-JP", "content", id="content"),
        pytest.param(b"plain words", None, "UTF-8", "content", id="ASCII"),
        pytest.param(b"", None, "UTF-8", "content", id="empty"),
    ],
)
def test_the_source_of_the_encoding_is_told(body: bytes, charset: str | None, encoding: str, source: str) -> None:
    decoded = decode_text(body, charset)

    assert (decoded.encoding, decoded.source, decoded.contradicted, decoded.note) == (encoding, source, None, None)


@pytest.mark.parametrize("real", ["utf-8", "cp932", "euc_jp", "iso2022_jp"])
@pytest.mark.parametrize("declared", ["utf-8", "shift_jis", "euc-jp", "iso-8859-1", "windows-1252", "gbk", "us-ascii"])
def test_a_wrong_declaration_is_noticed(real: str, declared: str) -> None:
    decoded = decode_text(LETTER.encode(real), declared)

    assert decoded.text == LETTER
    right = {"utf-8": "UTF-8", "cp932": "Shift_JIS", "euc_jp": "EUC-JP", "iso2022_jp": "ISO-2022-JP"}[real]
    assert decoded.encoding == right
    assert (decoded.note is None) == (
        declared.replace("-", "_") in (real.replace("-", "_"), {"cp932": "shift_jis"}.get(real))
    )


@pytest.mark.parametrize(
    ("text", "encoding", "charset"),
    [
        pytest.param("Grüße aus Köln, schöne Straße", "latin-1", "iso-8859-1", id="German"),
        pytest.param("Ящик для инструментов", "cp1251", "windows-1251", id="Russian"),
        pytest.param("Żółta łódka płynie", "iso8859_2", "iso-8859-2", id="Polish"),
        pytest.param("工具箱里有锤子", "gbk", "gb2312", id="Chinese"),
        pytest.param("見積書", "cp932", "shift_jis", id="three kanji"),
        pytest.param("ｱｲｳｴｵ", "cp932", "shift_jis", id="half-width kana"),
        pytest.param("กล่องเครื่องมือ", "cp874", "tis-620", id="Thai"),
        pytest.param("鴎外と﨑山", "cp932", "shift_jis", id="rare kanji"),
    ],
)
def test_a_right_declaration_is_believed(text: str, encoding: str, charset: str) -> None:
    decoded = decode_text(text.encode(encoding), charset)

    assert (decoded.text, decoded.note) == (text, None)


def test_one_damaged_character_does_not_change_the_encoding() -> None:
    body = LETTER.encode("cp932")

    assert decode_text(body[:20] + b"\x81" + body[21:], "shift_jis").encoding == "Shift_JIS"
    assert decode_text(LETTER.encode() + b"\xe3", "utf-8").text.startswith(LETTER)


def test_noise_is_said_to_be_unknown() -> None:
    noise = random.Random(7)
    for size in (40, 400, 4_000):
        decoded = decode_text(noise.randbytes(size))
        assert not decoded.known
        assert decoded.note == "The encoding of this text is unknown: characters may be wrong."


def test_a_long_text_is_decoded_whole() -> None:
    body = (LETTER + "\n").encode("euc_jp") * 20_000

    decoded = decode_text(body)

    assert (decoded.encoding, decoded.text.count(LETTER)) == ("EUC-JP", 20_000)


def test_any_bytes_are_decoded() -> None:
    for size in range(200):
        body = os.urandom(size)
        for charset in (None, "utf-16", "shift_jis", "no-such-thing", "a\0b", "hex", "utf-7", "utf-32"):
            decode_text(body, charset).text.encode()


def test_vietnamese_tones_of_windows_1258_come_back_with_their_vowels() -> None:
    """The encoding has vowels and tones apart: "ê" and a dot below are "ệ"."""
    apart = "Bê\u0323nh viê\u0323n đa\u0303 kiê\u0309m tra thiê\u0301t bi\u0323.\n"

    decoded = decode_text(apart.encode("cp1258"))

    assert (decoded.text, decoded.encoding) == ("Bệnh viện đã kiểm tra thiết bị.\n", "windows-1258")


@pytest.mark.parametrize(
    "text",
    [
        "Sjúkrahúsið þarf nýjan búnað. Það er æskilegt; Þórir sér um það.\n",
        "Ciò che può, può: perciò più lavoro, così però è già lunedì.\n",
        "Això és el camió, ràpid; però això no.\n",
    ],
)
def test_western_letters_are_not_taken_for_tones(text: str) -> None:
    assert decode_text(text.encode("cp1252")).text == text
