"""Read pages with trafilatura and markitdown: runs in an environment of its own, pages and texts as JSON in pipes."""

import base64
import io
import json
import logging
import sys
import warnings

import trafilatura
from markitdown import MarkItDown, StreamInfo


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    converter = MarkItDown(enable_plugins=False)
    texts: dict[str, list[str]] = {"trafilatura": [], "markitdown": []}
    for page in json.load(sys.stdin):
        body = base64.b64decode(page["body"])
        mime, _, charset = page["content_type"].partition("; charset=")
        readable = trafilatura.extract(
            body,
            url=page["url"],
            output_format="markdown",
            include_links=True,
            include_tables=True,
            include_images=True,
        )
        texts["trafilatura"].append(readable or "")
        told = StreamInfo(mimetype=mime, charset=charset or None, url=page["url"])
        try:
            texts["markitdown"].append(converter.convert_stream(io.BytesIO(body), stream_info=told).text_content)
        except Exception as error:
            texts["markitdown"].append(f"({type(error).__name__})")
    json.dump(texts, sys.stdout)


if __name__ == "__main__":
    main()
