"""Scale strangers' pictures to what a model can see."""

import warnings
from io import BytesIO
from typing import Any, Final

import msgspec

from dogubako.contract.picture_size import picture_size, side_for
from dogubako.outbound.documents.document import STUMBLES, DocumentError

# Formats that models take, and those that we convert.
_TAKEN: Final = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
_READ: Final = (*_TAKEN, "BMP", "TIFF")
# A picture with more is a decompression bomb, or nothing to look at in a conversation.
_MOST_PIXELS: Final = 80_000_000
# Larger files are written again, as JPEG.
_LARGEST_FILE: Final = 1024 * 1024
_QUALITIES: Final = (85, 70, 50, 30)


class Picture(msgspec.Struct, frozen=True, kw_only=True, tag="picture"):
    """A picture that a model can see, and the size of the original."""

    data: bytes
    mime_type: str
    width: int
    height: int
    original_width: int
    original_height: int


def scaled_picture(body: bytes, most_tokens: int) -> Picture:
    """Decode a picture, and scale it down if it is too large to be seen, or costs more tokens."""
    try:
        from PIL import Image, UnidentifiedImageError  # noqa: PLC0415 - an extra
    except ImportError:
        return _as_it_is(body, most_tokens)
    Image.MAX_IMAGE_PIXELS = _MOST_PIXELS // 2
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(BytesIO(body), formats=_READ) as image:
                return _seen(image, body, most_tokens)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise DocumentError("the picture has too many pixels", cause=str(error)) from error
    except (UnidentifiedImageError, *STUMBLES) as error:
        message = "the picture is damaged, or of a kind that cannot be shown"
        raise DocumentError(message, cause=f"{type(error).__name__}: {error}") from error


def _seen(image: Any, body: bytes, most_tokens: int) -> Picture:
    from PIL import ImageOps  # noqa: PLC0415 - an extra

    kind, (width, height) = str(image.format), image.size
    side = side_for(width, height, most_tokens)
    if kind == "JPEG":
        # Decodes only as many pixels as are needed.
        image.draft("RGB", (side, side))
    image.load()
    upright = ImageOps.exif_transpose(image)
    small = max(width, height) <= side and len(body) <= _LARGEST_FILE
    if small and kind in _TAKEN and upright.size == image.size:
        return _picture(body, _TAKEN[kind], image.size, (width, height))
    upright = upright.convert("RGBA" if _has_alpha(upright) else "RGB")
    upright.thumbnail((side, side))
    return _written(upright, "image/png" if kind != "JPEG" else "image/jpeg", (width, height))


def _has_alpha(image: Any) -> bool:
    return image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info


def _written(image: Any, mime_type: str, original: tuple[int, int]) -> Picture:
    """The picture as PNG, if that is small enough, or as JPEG on white."""
    if mime_type == "image/png":
        data = _encoded(image, "PNG", optimize=False)
        if len(data) <= _LARGEST_FILE:
            return _picture(data, mime_type, image.size, original)
    if image.mode == "RGBA":
        from PIL import Image  # noqa: PLC0415 - an extra

        background = Image.new("RGB", image.size, "white")
        background.paste(image, mask=image.getchannel("A"))
        image = background
    for quality in _QUALITIES:
        data = _encoded(image, "JPEG", quality=quality)
        if len(data) <= _LARGEST_FILE:
            break
    return _picture(data, "image/jpeg", image.size, original)


def _encoded(image: Any, kind: str, **options: Any) -> bytes:
    target = BytesIO()
    image.save(target, kind, **options)
    return target.getvalue()


def _as_it_is(body: bytes, most_tokens: int) -> Picture:
    """Without the library a picture that is small enough is shown as it is."""
    found = picture_size(body)
    fits = found is not None and max(found.width, found.height) <= side_for(found.width, found.height, most_tokens)
    if found is None or not fits or len(body) > _LARGEST_FILE:
        hint = "An operator can install it: pip install 'dogubako[files]'."
        raise DocumentError("this server cannot scale pictures: a package is missing", hint=hint)
    return _picture(body, found.mime_type, (found.width, found.height), (found.width, found.height))


def _picture(data: bytes, mime_type: str, size: tuple[int, int], original: tuple[int, int]) -> Picture:
    return Picture(
        data=data,
        mime_type=mime_type,
        width=size[0],
        height=size[1],
        original_width=original[0],
        original_height=original[1],
    )
