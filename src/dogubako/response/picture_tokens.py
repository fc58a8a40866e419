"""Count the tokens of a picture: a model sees pixels, not base64."""

import base64
import binascii
from typing import Final

from dogubako.contract.picture_size import picture_size

# Clients refuse pictures with more characters of base64.
MOST_ENCODED: Final = 5 * 1024 * 1024
# The size stands at the beginning, but a JPEG may have a large profile before it.
_HEAD_CHARACTERS: Final = 256 * 1024


def picture_tokens(encoded: str) -> int | None:
    """The tokens of a picture in base64; None if its size cannot be believed, so that its characters count."""
    if len(encoded) > MOST_ENCODED:
        return None
    head = encoded[:_HEAD_CHARACTERS]
    try:
        size = picture_size(base64.b64decode(head[: len(head) // 4 * 4]))
    except (binascii.Error, ValueError):
        return None
    if size is None or not size.can_have(len(encoded) * 3 // 4):
        return None
    return size.tokens
