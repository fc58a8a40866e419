"""Read the size of a picture from its first bytes, and estimate what it costs a model to see it."""

import struct
from typing import Final

import msgspec

# Models see at most so many pixels on the long side; clients scale larger pictures down.
MOST_SEEN_PIXELS: Final = 1_568
# The formula of Claude's documentation: width x height / 750.
_PIXELS_PER_TOKEN: Final = 750
# No format needs more bytes for a pixel, besides its header.
_MOST_BYTES_PER_PIXEL: Final = 8
_HEADER_BYTES: Final = 128 * 1024
# The segments of a JPEG that hold its size.
_JPEG_SIZES: Final = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_MOST_SEGMENTS: Final = 1_000


def side_for(width: int, height: int, most_tokens: int) -> int:
    """The longest side that a picture may have to cost at most this many tokens."""
    longest = max(width, height, 1)
    share = (most_tokens * _PIXELS_PER_TOKEN / max(width * height, 1)) ** 0.5
    return max(1, min(MOST_SEEN_PIXELS, int(longest * min(share, 1.0))))


class PictureSize(msgspec.Struct, frozen=True, kw_only=True):
    """The type of a picture and its size in pixels."""

    mime_type: str
    width: int
    height: int

    @property
    def tokens(self) -> int:
        """What the picture costs a model, after it was scaled down to what the model sees."""
        scale = min(1.0, MOST_SEEN_PIXELS / max(self.width, self.height, 1))
        return max(1, -(-int(self.width * scale * self.height * scale) // _PIXELS_PER_TOKEN))

    def can_have(self, byte_count: int) -> bool:
        """Whether a picture of this size can have so many bytes. A forged header states a size that is too small."""
        return byte_count <= self.width * self.height * _MOST_BYTES_PER_PIXEL + _HEADER_BYTES


def picture_size(data: bytes) -> PictureSize | None:
    """The size of a PNG, JPEG, GIF or WebP; None for anything else."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
            return _sized("image/png", *struct.unpack(">II", data[16:24]))
        if data.startswith((b"GIF87a", b"GIF89a")):
            return _sized("image/gif", *struct.unpack("<HH", data[6:10]))
        if data.startswith(b"\xff\xd8\xff"):
            return _jpeg(data)
        if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
            return _webp(data)
    except (struct.error, IndexError):
        return None
    return None


def _sized(mime_type: str, width: int, height: int) -> PictureSize | None:
    return PictureSize(mime_type=mime_type, width=width, height=height) if width and height else None


def _jpeg(data: bytes) -> PictureSize | None:
    position = 2
    for _ in range(_MOST_SEGMENTS):
        if data[position] != 0xFF:
            return None
        kind = data[position + 1]
        if kind in _JPEG_SIZES:
            height, width = struct.unpack(">HH", data[position + 5 : position + 9])
            return _sized("image/jpeg", width, height)
        if kind == 0xFF:
            position += 1
            continue
        length = 0 if 0xD0 <= kind <= 0xD9 or kind == 1 else struct.unpack(">H", data[position + 2 : position + 4])[0]
        position += 2 + length
    return None


def _webp(data: bytes) -> PictureSize | None:
    kind = data[12:16]
    if kind == b"VP8X":
        return _sized("image/webp", 1 + _uint24(data[24:27]), 1 + _uint24(data[27:30]))
    if kind == b"VP8L":
        bits = struct.unpack("<I", data[21:25])[0]
        return _sized("image/webp", 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return _sized("image/webp", width & 0x3FFF, height & 0x3FFF)
    return None


def _uint24(data: bytes) -> int:
    return int.from_bytes(data, "little")
