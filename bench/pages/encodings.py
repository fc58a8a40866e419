"""Measure which detector reads short texts right: ours, chardet, charset-normalizer, cchardet.

python -m bench.pages.encodings: a table for docs/adr/0053. A text counts as right if it decodes to what was written.
The libraries are not dependencies; those that are not installed are left out.
"""

import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

from bench.pages.encoding_samples import encoded_samples
from dogubako.outbound.text_decoding import decode_text, python_codec

Detect = Callable[[bytes], str | None]


def _ours(body: bytes) -> str | None:
    found = decode_text(body)
    return found.text if found.known else None


def _by(name: str | None, body: bytes) -> str | None:
    codec = python_codec(name)
    return body.decode(codec, "replace").removeprefix("\ufeff") if codec else None


def _chardet(library: Any, body: bytes) -> str | None:
    return str(library.detect(body)["encoding"] or "")


def _charset_normalizer(library: Any, body: bytes) -> str | None:
    return getattr(library.from_bytes(body).best(), "encoding", None)


_LIBRARIES: Final = (
    ("chardet", "chardet", _chardet),
    ("charset-normalizer", "charset_normalizer", _charset_normalizer),
    ("cchardet", "cchardet", _chardet),
)


def _reader(library: Any, detect: Callable[[Any, bytes], str | None]) -> Detect:
    return lambda body: _by(detect(library, body), body)


def detectors() -> dict[str, Detect]:
    found: dict[str, Detect] = {"ours": _ours}
    for label, module, detect in _LIBRARIES:
        with suppress(ImportError):
            found[label] = _reader(import_module(module), detect)
    return found


def main() -> None:
    warnings.simplefilter("ignore")
    tools = detectors()
    right: Counter[tuple[str, str, str]] = Counter()
    counted: Counter[tuple[str, str]] = Counter()
    for language, encoding, text, body in encoded_samples():
        counted[language, encoding] += 1
        for name, detect in tools.items():
            right[language, encoding, name] += detect(body) == text
    print("| language | encoding | texts |", " | ".join(tools), "|")
    print("| --- " * (3 + len(tools)) + "|")
    for (language, encoding), count in counted.items():
        print(
            f"| {language} | {encoding} | {count} |",
            " | ".join(str(right[language, encoding, one]) for one in tools),
            "|",
        )
    totals = (sum(value for key, value in right.items() if key[2] == one) for one in tools)
    print(f"| all | | {sum(counted.values())} |", " | ".join(map(str, totals)), "|")


if __name__ == "__main__":
    main()
