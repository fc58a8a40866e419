"""Headers of a webhook's call: which of them can be sent, and which of them are secrets that no answer may repeat."""

import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final

from dogubako.contract.errors import ApiError, ApiErrorContext, ValidationError
from dogubako.contract.redaction import MASK, Redactor, names_secret
from dogubako.packs.n8n.models import Execution, read_part

# n8n shows the headers of a call in the item of its Webhook node, also while the execution runs.
CALL_HEADER: Final = "X-Dogubako-Call"
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
# Letters of ASCII, with blanks and tabs between them.
_VALUE: Final = re.compile(r"(?:[!-~](?:[ \t!-~]*[!-~])?)?")
# They belong to the connection, to how an answer is packed, and to how its execution is found.
_RESERVED: Final = frozenset(
    {
        *("host", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection", "upgrade"),
        *("te", "trailer", "expect", "accept-encoding", CALL_HEADER.lower()),
    }
)
_SECRET_NAME: Final = re.compile(
    r"(?:.*[-_])?(?:tokens?|secret|pass(?:word|wd|phrase)?|auth|jwt|session|signature"
    r"|(?:api|app|access|auth|private|secret|subscription|license)[-_]?key)"
)
# So the names of secret headers end in an execution, in which n8n has them in lower case. One without any of these
# needs no second look: a search for a few words is far faster than a pattern.
_SECRET_ENDS: Final = tuple(
    f'{word}"'.encode()
    for word in (
        *("authorization", "cookie", "cookie2", "cookies", "token", "tokens", "secret", "pass", "password", "passwd"),
        *("passphrase", "auth", "jwt", "session", "signature", "-key", "_key"),
        *("apikey", "appkey", "accesskey", "authkey", "privatekey", "secretkey", "subscriptionkey", "licensekey"),
    )
)
_HEADERS: Final = b'"headers"'
_ALWAYS_LOGINS: Final = ("authorization", "proxy-authorization")
# What these say is never a secret. Neither are ids, which callers look for in answers.
_OPEN_NAME: Final = re.compile(
    r"accept.*|content-.*|if-.*|user-agent|referer|origin|date|from|via|forwarded|x-forwarded-.*|cache-control|pragma"
    r"|range|sec-.*|traceparent|tracestate|idempotency-key|.*[-_]?id"
)
_SCHEME: Final = re.compile(r"(?:bearer|basic|token|apikey|digest)[ \t]+", re.IGNORECASE)
# A login that was made of nothing is no secret, but what is wrong.
_BROKEN: Final = re.compile(r"(?:(?:bearer|basic|token)\s*)?(?:undefined|null|NaN|\[object Object\])?", re.IGNORECASE)
_EVERYDAY: Final = re.compile(r"[A-Za-z]{1,11}|[a-z]+/[a-z0-9.+-]+|\d{1,11}")
_LONG_WORD: Final = re.compile(r"[A-Za-z0-9]{16,}+")
# Shorter values would mask ordinary words.
_SHORTEST: Final = 6
_SHORTEST_IN_ERRORS: Final = 4
_MOST_ITEMS: Final = 20
_MOST_SECRETS: Final = 20


def check_headers(headers: Mapping[str, str]) -> None:
    """What HTTP cannot carry, or is not the caller's to say. Values may be secret, so only names are shown."""
    seen: set[str] = set()
    for name, value in headers.items():
        shown = f"'{name[:100]}'"
        if not _NAME.fullmatch(name):
            raise _wrong(f"{shown} is no name of a header")
        if not can_be_sent(value):
            told = "letters of ASCII, without line breaks, and without blanks at its ends"
            raise _wrong(f"the value of {shown} is none that HTTP can carry: {told}")
        if name.lower() in _RESERVED:
            raise _wrong(f"{shown} belongs to the connection, and is set by run_workflow itself. Leave it out")
        if name.lower() in seen:
            raise _wrong(f"{shown} is there twice: upper and lower case mean the same")
        seen.add(name.lower())


def can_be_sent(value: str) -> bool:
    return _VALUE.fullmatch(value) is not None


def joined(first: Mapping[str, str], *others: Mapping[str, str]) -> dict[str, str]:
    """All headers, each once, in any case: that of the first mapping which has it."""
    every = dict(first)
    for more in others:
        known = {name.lower() for name in every}
        every |= {name: value for name, value in more.items() if name.lower() not in known}
    return every


def header(headers: Mapping[str, str], wanted: str) -> str | None:
    return next((value for name, value in headers.items() if name.lower() == wanted.lower()), None)


def caller_secrets(headers: Mapping[str, str], *, asks_for_login: bool = False) -> list[str]:
    """What of a caller's headers may be a secret. Of a webhook that asks for a login, any of them may be it."""
    found: list[str] = []
    for name, value in headers.items():
        certain = name.lower() in _ALWAYS_LOGINS
        if certain or is_secret_header(name):
            found += _credentials(value, certain=certain)
        elif not _OPEN_NAME.fullmatch(name.lower()) and (asks_for_login or _has_key(value)):
            found += _credentials(value, certain=asks_for_login)
    return found


def _has_key(value: str) -> bool:
    """Whether a value has a long word of letters and digits in it."""
    return any(not word.isalpha() and not word.isdecimal() for word in _LONG_WORD.findall(value))


def is_secret_header(name: str) -> bool:
    """Whether a header of this name holds a secret: `Authorization`, `Cookie`, `X-API-Key`, `X-Gitlab-Token`."""
    return names_secret(name) or (len(name) <= 100 and _SECRET_NAME.fullmatch(name.lower()) is not None)


def _credentials(value: str, *, certain: bool) -> Iterator[str]:
    """The value, and what is left of it without its scheme: a workflow may take it apart."""
    bare = _SCHEME.sub("", value, count=1).strip()
    every = [value, bare]
    if value.lower().startswith("basic "):
        try:
            login = b64decode(bare, validate=True).decode()
        except ValueError:
            login = ""
        every += [login, login.partition(":")[2]]
    for one in dict.fromkeys(every):
        if len(one) >= _SHORTEST and not _BROKEN.fullmatch(one) and (certain or not _EVERYDAY.fullmatch(one)):
            yield one


def masked(value: Any, secrets: Sequence[str]) -> Any:
    """The value without these secrets, in any spelling, and without what its `headers` say of logins."""
    redactor = Redactor(secrets)
    return _masked(value, redactor.mask_configured if secrets else str, in_headers=False)


def masked_error(error: ApiError, secrets: Sequence[str]) -> ApiError:
    """The same error, without what was sent: n8n's reason may repeat it, in the message and in the log."""
    context = ApiErrorContext(operation="use n8n", status_code=error.status_code)
    message, hint = masked(error.message, secrets), masked(error.hint, secrets)
    # What was given as a secret is one, however short. In a long answer it would be found in ordinary words.
    for short in (one for one in secrets if _SHORTEST_IN_ERRORS <= len(one) < _SHORTEST):
        message = message.replace(short, MASK)
    return ApiError(message, status_code=error.status_code, context=context, hint=hint)


def _masked(value: Any, mask: Callable[[str], str], *, in_headers: bool) -> Any:
    if isinstance(value, str):
        return mask(value) if len(value) >= _SHORTEST else value
    if isinstance(value, Mapping):
        return {key: _masked_part(str(key), part, mask, in_headers=in_headers) for key, part in value.items()}
    return [_masked(part, mask, in_headers=in_headers) for part in value] if isinstance(value, list) else value


def _masked_part(key: str, part: Any, mask: Callable[[str], str], *, in_headers: bool) -> Any:
    is_text = isinstance(part, str) and bool(part) and not _BROKEN.fullmatch(part)
    if in_headers and is_secret_header(key) and (is_text or isinstance(part, list)):
        return MASK
    return _masked(part, mask, in_headers=key.lower() == "headers")


def without_secrets(execution: Execution, shown: Any) -> Any:
    """A view of an execution without the logins that its callers sent: in headers, and wherever they were copied."""
    if _HEADERS not in execution.received or not any(end in execution.received for end in _SECRET_ENDS):
        return shown
    return masked(shown, list(dict.fromkeys(_received_secrets(execution)))[:_MOST_SECRETS])


def _received_secrets(execution: Execution) -> Iterator[str]:
    """The secret headers in items that came from outside: a node that starts or resumes an execution shows them."""
    for runs in execution.runs.values():
        for run in runs[:_MOST_ITEMS]:
            for raw in islice(chain.from_iterable(filter(None, run.outputs)), _MOST_ITEMS):
                # Most items have none, and need not be decoded.
                headers = _headers_of(read_part(raw)) if _HEADERS in bytes(raw) else {}
                for name, value in headers.items():
                    if isinstance(value, str) and is_secret_header(str(name)):
                        yield from _credentials(value, certain=str(name).lower() in _ALWAYS_LOGINS)


def _headers_of(item: Any) -> Mapping[Any, Any]:
    data = item.get("json") if isinstance(item, Mapping) else None
    headers = data.get("headers") if isinstance(data, Mapping) else None
    return headers if isinstance(headers, Mapping) else {}


def _wrong(what: str) -> ValidationError:
    return ValidationError.of("headers", f"Invalid value for parameter headers: {what}")
