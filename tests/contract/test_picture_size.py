"""The size of a picture is read from its first bytes, for every format that models see; forged ones are nothing."""

import io

import pytest
from PIL import Image

from dogubako.contract.picture_size import PictureSize, picture_size, side_for

SIZE = (321, 123)


def picture(form: str, **options: object) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", SIZE, (200, 30, 60)).save(out, form, **options)
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "mime_type"),
    [
        pytest.param(picture("PNG"), "image/png", id="png"),
        pytest.param(picture("GIF"), "image/gif", id="gif"),
        pytest.param(picture("JPEG"), "image/jpeg", id="jpeg"),
        pytest.param(picture("JPEG", progressive=True), "image/jpeg", id="progressive jpeg"),
        pytest.param(picture("WEBP"), "image/webp", id="webp"),
        pytest.param(picture("WEBP", lossless=True), "image/webp", id="lossless webp"),
        pytest.param(
            picture("WEBP", exif=b"Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x00"), "image/webp", id="webp with exif"
        ),
    ],
)
def test_every_format_tells_its_size(data: bytes, mime_type: str) -> None:
    assert picture_size(data) == PictureSize(mime_type=mime_type, width=SIZE[0], height=SIZE[1])


def test_fill_bytes_before_a_segment_of_a_jpeg_are_passed_over() -> None:
    data = picture("JPEG")

    assert picture_size(data[:2] + b"\xff\xff\xff" + data[2:]) == picture_size(data)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00", id="half a png"),
        pytest.param(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(8), id="a png without pixels"),
        pytest.param(b"GIF89a\x01", id="half a gif"),
        pytest.param(b"\xff\xd8\xff", id="half a jpeg"),
        pytest.param(b"\xff\xd8\xff\xe0\x00\x02no marker", id="a jpeg without a marker"),
        pytest.param(b"\xff\xd8" + b"\xff\x01" * 2_000, id="a jpeg of empty segments"),
        pytest.param(b"RIFF\x00\x00\x00\x00WEBPVP9 " + bytes(30), id="another webp"),
        pytest.param(b"RIFF\x00\x00\x00\x00WEBPVP8 ", id="half a webp"),
        pytest.param(b"<svg/>", id="no picture"),
    ],
)
def test_what_has_no_size_is_no_picture(data: bytes) -> None:
    assert picture_size(data) is None


def test_a_picture_costs_its_pixels_as_far_as_models_see_them() -> None:
    assert PictureSize(mime_type="image/png", width=750, height=10).tokens == 10
    assert PictureSize(mime_type="image/png", width=1, height=1).tokens == 1
    large = PictureSize(mime_type="image/png", width=10_000, height=10_000)
    assert large.tokens == 1_568 * 1_568 // 750 + 1
    assert side_for(10_000, 10_000, 100) == int((100 * 750) ** 0.5)
    assert side_for(10, 10, 100_000) == 10


def test_a_forged_header_cannot_hide_bytes() -> None:
    small = PictureSize(mime_type="image/png", width=10, height=10)

    assert small.can_have(1_000)
    assert not small.can_have(1_000_000)
