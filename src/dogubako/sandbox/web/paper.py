"""A PDF made by hand: one font, some lines a page."""

from collections.abc import Sequence
from typing import Final

_HEAD: Final = b"%PDF-1.4\n"
_FIRST_PAGE_OBJECT: Final = 5


def pdf(title: str, pages: Sequence[Sequence[str]]) -> bytes:
    """A document of these lines. Only characters of Latin-1, without brackets and backslashes."""
    numbers = [_FIRST_PAGE_OBJECT + 2 * index for index in range(len(pages))]
    kids = " ".join(f"{number} 0 R" for number in numbers)
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        f"<< /Title ({title}) >>",
    ]
    for number, lines in zip(numbers, pages, strict=True):
        content = _content(lines)
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {number + 1} 0 R >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    return _assembled(objects)


def _content(lines: Sequence[str]) -> str:
    shown = "\n".join(f"({line}) Tj T*" for line in lines)
    return f"BT /F1 12 Tf 16 TL 72 770 Td\n{shown}\nET"


def _assembled(objects: Sequence[str]) -> bytes:
    """The objects, and the table that says where each of them begins."""
    body = bytearray(_HEAD)
    places = []
    for number, text in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{text}\nendobj\n".encode("latin-1")
    rows = "".join(f"{place:010d} 00000 n \n" for place in places)
    table = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{rows}"
    end = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /Info 4 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    return bytes(body) + table.encode() + end.encode()
