"""Read PDF files, page by page."""

from io import BytesIO

from dogubako.outbound.documents.document import STUMBLES, Document, DocumentError, damaged


def read_pdf(body: bytes) -> Document:
    """The document. A page is extracted when it is asked for."""
    try:
        from pypdf import PdfReader  # noqa: PLC0415 - heavy, and few files are PDFs
        from pypdf.errors import PyPdfError  # noqa: PLC0415
    except ImportError as error:
        hint = "An operator can install it: pip install 'dogubako[files]'."
        raise DocumentError(
            "this server cannot read PDF files: a package is missing", cause=str(error), hint=hint
        ) from error

    errors = (PyPdfError, *STUMBLES)
    try:
        reader = PdfReader(BytesIO(body))
        count = len(reader.pages)
        title = str(reader.metadata.title or "") if reader.metadata else ""
    except errors as error:
        raise damaged("PDF", error) from error

    def page(number: int) -> str:
        try:
            return _clean(reader.pages[number - 1].extract_text()).strip()
        except errors as error:
            raise damaged("PDF", error) from error

    return Document(title=_clean(title), unit="page", count=count, page=page)


def _clean(text: str) -> str:
    """The reader makes lone surrogates of a wrong character map."""
    return text.encode("utf-8", "replace").decode()
