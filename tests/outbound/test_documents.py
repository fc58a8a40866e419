"""Documents and pictures of strangers: read page by page, or refused in our words."""

import datetime
import zipfile
from io import BytesIO
from typing import Any, Final

import docx
import openpyxl
import pytest
from PIL import Image
from pypdf import PdfWriter

from dogubako.contract.errors import ApiError
from dogubako.contract.picture_size import picture_size
from dogubako.outbound.documents.document import DocumentError, DocumentKind, document_kind
from dogubako.outbound.documents.parser import DocumentParser, document_workers
from dogubako.outbound.documents.picture_scaling import Picture, scaled_picture
from dogubako.outbound.documents.texts import read_text
from dogubako.outbound.documents.worker import DocumentPart, DocumentRequest, PictureRequest, perform
from dogubako.outbound.parsing.protocol import ParseFailure
from tests.attack.hostile_pages import pdf, stream

PLENTY: Final = 100_000


def saved(book: Any) -> bytes:
    target = BytesIO()
    book.save(target)
    return target.getvalue()


def spreadsheet() -> bytes:
    book = openpyxl.Workbook()
    first = book.active
    first.title = "見積"
    first.append(["品名", "数量", "金額", "日付"])
    first.append(["鋸|小", 2, 3_500.0, datetime.datetime(2026, 11, 15)])
    first.append(["合計", None, "=SUM(C2:C2)", None])
    long = book.create_sheet("Long")
    for number in range(250):
        long.append([f"row {number}", number])
    book.create_sheet("Empty")
    return saved(book)


def letter() -> bytes:
    document = docx.Document()
    document.add_heading("議事録", 1)
    document.add_paragraph("木曜日の会議です。")
    for step in ("測る", "切る"):
        document.add_paragraph(step, style="List Number")
    document.add_paragraph("注意", style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for row, cells in zip(table.rows, (("Tool", "Price"), ("Saw", "30")), strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    return saved(document)


def two_pages() -> bytes:
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R 5 0 R]/Count 2>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R/Resources<</Font<</F 7 0 R>>>>>>",
        stream(b"BT /F 12 Tf 20 200 Td (First page) Tj ET"),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 6 0 R/Resources<</Font<</F 7 0 R>>>>>>",
        stream(b"BT /F 12 Tf 20 200 Td (Second page) Tj ET"),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )
    return pdf(iter(objects))


def read(kind: DocumentKind, body: bytes, page: int = 1, characters: int = PLENTY) -> DocumentPart:
    reply = perform(DocumentRequest(kind=kind, page=page, characters=characters), body)
    assert isinstance(reply, DocumentPart), reply
    return reply


def refusal(kind: DocumentKind, body: bytes) -> str:
    reply = perform(DocumentRequest(kind=kind, page=1, characters=PLENTY), body)
    assert isinstance(reply, ParseFailure)
    return reply.message or reply.reason


def drawn(size: tuple[int, int], kind: str = "PNG", mode: str = "RGB") -> bytes:
    target = BytesIO()
    Image.new(mode, size, 60).save(target, kind)
    return target.getvalue()


def test_sheets_are_tables_with_their_values() -> None:
    part = read("xlsx", spreadsheet())

    assert part.text.startswith("## Sheet 見積\n\n| 品名 | 数量 | 金額 | 日付 |\n| --- | --- | --- | --- |\n")
    assert "| 鋸\\|小 | 2 | 3500 | 2026-11-15 |" in part.text
    # A formula that nobody has computed yet is shown itself.
    assert "| 合計 |  | =SUM(C2:C2) |  |" in part.text
    assert (part.unit, part.pages, part.shown) == ("sheet", 5, 5)


def test_a_long_sheet_is_read_in_parts_that_repeat_the_first_row() -> None:
    second = read("xlsx", spreadsheet(), page=3, characters=1)

    assert (second.shown, second.page) == (1, 3)
    assert second.text.startswith(
        "## Sheet Long, rows 101 to 200 of 250\n\n| row 0 | 0 |\n| --- | --- |\n| row 100 | 100 |"
    )
    assert read("xlsx", spreadsheet(), page=5).text == "## Sheet Empty\n\n(empty)"


def test_a_word_file_keeps_headings_lists_and_tables() -> None:
    assert read("docx", letter()).text == (
        "# 議事録\n\n木曜日の会議です。\n\n1. 測る\n2. 切る\n- 注意\n\n| Tool | Price |\n| --- | --- |\n| Saw | 30 |"
    )


def test_a_pdf_is_read_from_any_page() -> None:
    whole, second = read("pdf", two_pages()), read("pdf", two_pages(), page=2)

    assert (whole.text, whole.pages) == ("## Page 1\n\nFirst page\n\n## Page 2\n\nSecond page", 2)
    assert second.text == "## Page 2\n\nSecond page"
    assert read("pdf", two_pages(), page=3).shown == 0
    assert read("pdf", two_pages(), characters=1).shown == 1


@pytest.mark.parametrize("kind", ["pdf", "xlsx", "docx"])
@pytest.mark.parametrize("body", [b"", b"PK\x03\x04", b"%PDF-1.7", b"hello", spreadsheet()[:900], letter()[:900]])
def test_a_damaged_document_is_refused(kind: DocumentKind, body: bytes) -> None:
    assert "damaged or locked" in refusal(kind, body)


def bomb(member: str, size: int) -> bytes:
    target = BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, bytes(size))
    return target.getvalue()


def test_a_decompression_bomb_is_refused_before_it_is_unpacked() -> None:
    body = bomb("xl/worksheets/sheet1.xml", 300 * 1024 * 1024)

    assert refusal("xlsx", body) == "the spreadsheet is too large when it is unpacked"
    assert refusal("docx", body) == "the Word file is too large when it is unpacked"


def test_an_xml_bomb_is_refused() -> None:
    entities = "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10 if n else 'ha'}'>" for n in range(12))
    body = BytesIO(spreadsheet())
    target = BytesIO()
    with zipfile.ZipFile(body) as archive, zipfile.ZipFile(target, "w") as other:
        for name in archive.namelist():
            text = archive.read(name)
            if name.endswith("sheet1.xml"):
                text = f"<!DOCTYPE x [{entities}]>".encode() + text.replace(b"<sheetData>", b"<sheetData>&a11;")
            other.writestr(name, text)

    reply = perform(DocumentRequest(kind="xlsx", page=1, characters=PLENTY), target.getvalue())
    assert isinstance(reply, ParseFailure) or len(reply.text) < PLENTY  # type: ignore[union-attr]


def seen(body: bytes, most_tokens: int = 25_000) -> Picture:
    reply = perform(PictureRequest(most_tokens=most_tokens), body)
    assert isinstance(reply, Picture), reply
    return reply


@pytest.mark.parametrize(
    ("body", "size", "mime_type"),
    [
        pytest.param(drawn((3_136, 2_000)), (1_568, 1_000), "image/png", id="a large PNG"),
        pytest.param(drawn((100, 4_000), "JPEG"), (39, 1_568), "image/jpeg", id="a tall JPEG"),
        pytest.param(drawn((2_000, 2_000), mode="RGBA"), (1_568, 1_568), "image/png", id="transparent"),
        pytest.param(drawn((50, 40), "BMP"), (50, 40), "image/png", id="a BMP becomes a PNG"),
        pytest.param(drawn((50, 40), "TIFF", "CMYK"), (50, 40), "image/png", id="colours of printers"),
        pytest.param(drawn((50, 40), "WEBP"), (50, 40), "image/webp", id="a WebP as it is"),
        pytest.param(drawn((50, 40), "GIF", "P"), (50, 40), "image/gif", id="a GIF as it is"),
    ],
)
def test_a_picture_is_scaled_to_what_a_model_sees(body: bytes, size: tuple[int, int], mime_type: str) -> None:
    picture = seen(body)

    assert abs(picture.width - size[0]) <= 1 and abs(picture.height - size[1]) <= 1
    assert picture.mime_type == mime_type
    found = picture_size(picture.data)
    assert found is not None
    assert (found.width, found.height, found.mime_type) == (picture.width, picture.height, mime_type)


def test_a_picture_is_scaled_to_the_tokens_that_are_left() -> None:
    picture = seen(drawn((1_500, 1_500)), most_tokens=300)

    assert picture.width * picture.height / 750 <= 300
    assert (picture.original_width, picture.original_height) == (1_500, 1_500)


def test_a_small_picture_stays_as_it_is() -> None:
    body = drawn((300, 200))

    assert seen(body).data == body


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(drawn((1, 1))[:40], "damaged", id="cut"),
        pytest.param(b"<svg onload=alert(1)>", "damaged", id="a drawing"),
        pytest.param(b"", "damaged", id="empty"),
        pytest.param(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "damaged", id="PostScript is never run"),
        pytest.param(drawn((20_000, 20_000), mode="1"), "too many pixels", id="a decompression bomb"),
    ],
)
def test_a_picture_that_cannot_be_shown_is_refused(body: bytes, message: str) -> None:
    reply = perform(PictureRequest(most_tokens=1_000), body)

    assert isinstance(reply, ParseFailure) and message in (reply.message or "")


def test_without_the_extra_small_pictures_are_shown_and_large_ones_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    small = drawn_before["small"]

    assert scaled_picture(small, 1_000).data == small
    with pytest.raises(DocumentError) as refused:
        scaled_picture(drawn_before["large"], 1_000)
    assert "dogubako[files]" in (refused.value.hint or "")


drawn_before: Final = {"small": drawn((20, 20)), "large": drawn((2_000, 2_000))}


def test_without_the_extra_office_files_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    sheet, text = spreadsheet(), letter()
    for name in ("openpyxl", "docx"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    for kind, body in (("xlsx", sheet), ("docx", text)):
        reply = perform(DocumentRequest(kind=kind, page=1, characters=9), body)  # type: ignore[arg-type]
        assert isinstance(reply, ParseFailure) and "dogubako[files]" in (reply.hint or "")


@pytest.mark.parametrize(
    ("content_type", "name", "body", "kind"),
    [
        ("application/pdf", "", None, "pdf"),
        ("application/octet-stream", "Plan.XLSX", None, "xlsx"),
        ("", "a.docx", None, "docx"),
        ("application/octet-stream", "", b"%PDF-1.4 ...", "pdf"),
        ("application/octet-stream", "", spreadsheet(), "xlsx"),
        ("application/octet-stream", "", letter(), "docx"),
        ("text/plain", "a.txt", b"hello", None),
        ("application/zip", "a.zip", b"PK\x03\x04", None),
    ],
)
def test_a_document_is_known_by_type_name_or_content(
    content_type: str, name: str, body: bytes | None, kind: str | None
) -> None:
    assert document_kind(content_type, name, body) == kind


def test_a_long_text_is_read_in_whole_lines_and_completely() -> None:
    text = "".join(f"行 {number}: 道具\n" for number in range(5_000))
    parts, part = "", 1
    for _ in range(100):
        read_part = read_text(text.encode("cp932"), "a.log", part, 12_000)
        assert read_part.text.endswith("\n")
        parts += read_part.text
        part += read_part.shown
        if part > read_part.parts:
            break

    assert parts == text
    assert read_text(b"x", "a.log", 2, 100).shown == 0


def test_every_part_of_a_table_begins_with_the_names_of_its_columns() -> None:
    body = ("品名,数量\n" + "鋸,1\n" * 4_000).encode("cp932")

    assert read_text(body, "list.csv", 2, 100).text.startswith("品名,数量\n鋸,1\n")


async def test_worker_processes_read_documents_and_pictures() -> None:
    async with document_workers() as workers:
        parser = DocumentParser(workers)
        part = await parser.document(letter(), "docx", 1, PLENTY)
        picture = await parser.picture(drawn((2_000, 1_000)), 2_000)
        with pytest.raises(ApiError, match=r"The file could not be shown: the PDF is damaged or locked\.") as refused:
            await parser.document(b"%PDF-1.7", "pdf", 1, PLENTY)

    assert part.text.startswith("# 議事録")
    assert (picture.width, picture.height) == (1_568, 784)
    assert not refused.value.retryable and "save_to" in (refused.value.hint or "")


def test_a_pdf_of_a_writer_is_read() -> None:
    writer = PdfWriter()
    writer.add_metadata({"/Title": "道具"})
    writer.add_blank_page(100, 100)
    target = BytesIO()
    writer.write(target)

    assert (read("pdf", target.getvalue()).title, read("pdf", target.getvalue()).pages) == ("道具", 1)
