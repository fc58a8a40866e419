"""What the name of a file says of its type, and what may stand in one."""

import re
from typing import Final

_FORBIDDEN: Final = re.compile(r"[/?%*:|\"'<>\n\r]+")
# Types that are known by the end of a name, when nobody says one.
_TYPES: Final = {
    "bmp": "image/x-ms-bmp",
    "css": "text/css",
    "csv": "text/csv",
    "diff": "text/plain",
    "gif": "image/gif",
    "htm": "text/html",
    "html": "text/html",
    "ini": "text/plain",
    "java": "text/x-java",
    "jpe": "image/jpeg",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "js": "application/javascript",
    "json": "application/json",
    "log": "text/plain",
    "md": "text/markdown",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
    "patch": "text/plain",
    "pdf": "application/pdf",
    "php": "text/x-php",
    "png": "image/png",
    "py": "text/x-python",
    "rb": "text/x-ruby",
    "sh": "text/x-sh",
    "sql": "text/plain",
    "svg": "image/svg+xml",
    "textile": "text/x-textile",
    "tif": "image/tiff",
    "tiff": "image/tiff",
    "txt": "text/plain",
    "webp": "image/webp",
    "xml": "text/xml",
    "yaml": "text/yaml",
    "yml": "text/yaml",
    "zip": "application/zip",
}


def type_by_name(name: str) -> str | None:
    _, dot, end = name.rpartition(".")
    return _TYPES.get(end.lower()) if dot else None


def cleaned_name(name: str) -> str:
    """What is behind the last slash, without characters that some file system forbids."""
    return _FORBIDDEN.sub("_", re.split(r"[/\\]", name)[-1])
