"""Hide logins in a report: what is not shown in one line is not shown in another."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from dogubako.contract.redaction import MASK
from dogubako.packs.n8n.diagnosis.references import references_in, texts
from dogubako.packs.n8n.diagnosis.scene import Scene

# A name in small letters, with its words joined by _.
_SECRET_NAME = re.compile(
    r"(?:.*_)?(?:(?:api|private|secret|access|signing|encryption)_?key|(?:api|access|auth|refresh|id|bearer|session|bot"
    r"|app|user|service|oauth)_?token|secret|pass(?:word|wd|phrase)|pwd|authorization|jwt)|token|(?:client|app)_?secret"
)
_WORD_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^\w]+")
_LOGIN_NAME = re.compile(r"auth|token|api[_-]?key|secret|cookie|signature|passw", re.IGNORECASE)
_SCHEME = re.compile(r"(?:bearer|basic|token)\s++", re.IGNORECASE)
# A login that was made of nothing is no secret, but what is wrong.
_BROKEN = re.compile(r"(?:(?:bearer|basic|token)\s*+)?(?:undefined|null|NaN|\[object Object\])?", re.IGNORECASE)
_SHOWN_FIELD = re.compile(r'(?P<name>[\w-]{1,60}+) is "(?P<value>[^"\n]{1,200}+)" \(string\)')
# Shorter values would hide ordinary words.
_SHORTEST: Final = 6
_MOST_READ: Final = 200
_MOST_NODES: Final = 500


def without_logins(report: Mapping[str, Any], scenes: Sequence[Scene]) -> dict[str, Any]:
    """The report without what is sent as a login, and without the values of fields that are called like one."""
    secrets = {one for scene in scenes for one in _sent(scene)} | set(_named(report))
    kept = [one for one in secrets if len(one) >= _SHORTEST and _BROKEN.fullmatch(one) is None]
    ordered = sorted(kept, key=len, reverse=True)
    return {key: _masked(value, ordered, str(key)) for key, value in report.items()}


def _sent(scene: Scene) -> Iterator[str]:
    """The values that nodes put into headers which carry a login."""
    for at in scene.first_runs[:_MOST_NODES]:
        holder = scene.settings.get(at.node, {}).get("headerParameters")
        rows = holder.get("parameters") if isinstance(holder, Mapping) else None
        for row in rows if isinstance(rows, list) else ():
            if not isinstance(row, Mapping) or not _LOGIN_NAME.search(str(row.get("name"))):
                continue
            for reference in (one for text in texts(row.get("value")) for one in references_in(text)):
                for place in scene.input_places(at.run)[:_MOST_READ]:
                    read = scene.places_read(reference, place, at.run)[:1]
                    held = [scene.value(where, reference.names) for where in read]
                    yield from (_SCHEME.sub("", one) for one in held if isinstance(one, str))


def _named(value: Any, name: str = "") -> Iterator[str]:
    """The texts in a report that lie in fields which are called like a secret."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _named(part, str(key))
    elif isinstance(value, list):
        for part in value:
            yield from _named(part, name)
    elif isinstance(value, str) and _is_secret(name):
        yield value


def _masked(value: Any, secrets: Sequence[str], name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: _masked(part, secrets, str(key)) for key, part in value.items()}
    if isinstance(value, list):
        return [_masked(part, secrets, name) for part in value]
    if not isinstance(value, str):
        return value
    if value and _is_secret(name) and _BROKEN.fullmatch(value) is None:
        return MASK
    value = _SHOWN_FIELD.sub(_hidden, value)
    for secret in secrets:
        value = value.replace(secret, MASK)
    return value


def _hidden(shown: re.Match[str]) -> str:
    """A value in a sentence: `api_token is "abc" (string)`."""
    kept = not _is_secret(shown["name"]) or _BROKEN.fullmatch(shown["value"]) is not None
    return shown[0] if kept else f'{shown["name"]} is "{MASK}" (string)'


def _is_secret(name: str) -> bool:
    return _SECRET_NAME.fullmatch(_WORD_BORDER.sub("_", name).lower()) is not None
