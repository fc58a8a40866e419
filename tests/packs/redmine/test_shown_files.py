"""Files of Redmine as an agent sees them: texts in any encoding, documents page by page, pictures in pixels."""

from base64 import b64decode
from io import BytesIO
from pathlib import Path
from random import Random

import docx
import openpyxl
import pytest

from dogubako.contract.output import parse_call
from dogubako.contract.picture_size import picture_size
from dogubako.tools import ExecutionOptions

from .made import JsonObject, made
from .test_files import drawn, with_file
from .wired import bench


def workbook(rows: int) -> bytes:
    book = openpyxl.Workbook()
    for number in range(rows):
        book.active.append([f"{number}: 納品の記録", number])
    target = BytesIO()
    book.save(target)
    return target.getvalue()


def word_file(paragraphs: int) -> bytes:
    document = docx.Document()
    for number in range(paragraphs):
        document.add_paragraph(f"{number}: 納品の記録 " + "道具" * 10)
    target = BytesIO()
    document.save(target)
    return target.getvalue()


async def test_a_large_screenshot_is_scaled_to_what_a_model_sees(tmp_path: Path) -> None:
    screenshot = drawn(2_400, 1_350, "L")
    assert len(screenshot) > 362_000
    async with bench(tmp_path, answers=made(with_file(screenshot, "screen.png", "image/png"))) as redmine:
        result = await redmine.call("show_attachment", id=7)

    shown = picture_size(b64decode(result.content[1]["data"]))
    assert shown is not None and (shown.width, shown.height) == (1_568, 882)
    assert result.tokens < 4_000


async def test_a_picture_has_to_fit_what_the_caller_wants_at_most(tmp_path: Path) -> None:
    places = with_file(drawn(900, 900, "L"), "p.png", "image/png")
    async with bench(tmp_path, answers=made(places)) as redmine:
        small = await redmine.box.call("show_attachment", {"id": 7}, ExecutionOptions(max_tokens=900))
        large = await redmine.box.call("show_attachment", {"id": 7}, ExecutionOptions(max_tokens=10_000))
        tiny = await redmine.box.call("show_attachment", {"id": 7}, ExecutionOptions(max_tokens=550))

    sizes = [picture_size(b64decode(one.content[1]["data"])) for one in (small, large)]
    assert [size.width for size in sizes if size] == [547, 900]
    assert small.tokens <= 900
    assert (tiny.code, "save_to" in tiny.content[1]["text"]) == ("ANSWER_TOO_LARGE", True)


@pytest.mark.parametrize(
    ("encoding", "named"),
    [
        ("cp932", "Shift_JIS"),
        ("euc_jp", "EUC-JP"),
        ("iso2022_jp", "ISO-2022-JP"),
        ("utf-16", "UTF-16LE"),
        ("utf-16-be", "UTF-16BE"),
        ("utf-8-sig", "UTF-8"),
    ],
)
async def test_a_text_is_shown_in_whatever_encoding_it_is(tmp_path: Path, encoding: str, named: str) -> None:
    text = "氏名,部署\n佐藤 太郎,営業部\n"
    places = with_file(text.encode(encoding), "名簿.csv", "application/vnd.ms-excel")
    async with bench(tmp_path, answers=made(places)) as redmine:
        shown = (await redmine.data("show_attachment", id=7))["attachment"]

    assert (shown["text"], shown["encoding"]) == (text, named)


async def test_an_unknown_encoding_is_said_to_be_unknown(tmp_path: Path) -> None:
    noise = Random(5).randbytes(300)
    async with bench(tmp_path, answers=made(with_file(noise, "a.txt"))) as redmine:
        shown = (await redmine.data("show_attachment", id=7))["attachment"]

    assert shown["encoding"] == "unknown"
    assert "characters may be wrong" in shown["encoding_note"]


@pytest.mark.parametrize(
    ("content", "name", "kind"),
    [
        pytest.param("".join(f"{n}: 納品の記録\n" for n in range(9_000)).encode("cp932"), "a.log", "", id="a long log"),
        pytest.param(workbook(1_000), "b.xlsx", "application/octet-stream", id="a long sheet"),
        pytest.param(word_file(900), "c.docx", "", id="a long letter", marks=pytest.mark.slow),
    ],
)
async def test_the_next_calls_read_a_long_file_to_its_end(tmp_path: Path, content: bytes, name: str, kind: str) -> None:
    call: JsonObject = {"id": 7}
    texts = []
    async with bench(tmp_path, answers=made(with_file(content, name, kind))) as redmine:
        for _ in range(60):
            shown = (await redmine.data("show_attachment", **call))["attachment"]
            texts.append(shown["text"])
            if "next" not in shown:
                break
            called, call = parse_call(shown["next"])
            assert called == "show_attachment"
        message, _ = await redmine.refusal("show_attachment", id=7, page=99_999)

    assert len(texts) > 1
    whole = "".join(texts)
    assert [number for number in range(900) if f"{number}: 納品の記録" not in whole] == []
    assert message.startswith("Invalid value for parameter page: the file has ")
