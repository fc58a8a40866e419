"""Headers of a webhook's call: which of them can be sent, and which of them are secrets that no answer may repeat."""

import re
from base64 import b64decode
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final

from dogubako.contract.errors import ApiError, ApiErrorContext, ValidationError
from dogubako.contract.redaction import MASK, Redactor, names_secret
from dogubako.packs.n8n.models import Execution, planned_items, read_part
from dogubako.packs.n8n.triggers import is_trigger_name

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
# What a program or a proxy sends by itself. A webhook with headerAuth takes its login in any other header: only its
# credential has the name, and n8n does not show that.
_HEADER_AUTH: Final = "headerAuth"
_SENT_BY_PROGRAMS: Final = re.compile(
    r"accept(?:-.*)?|content-.*|if-.*|sec-(?:ch|fetch|gpc).*|host|user-agent|connection|keep-alive|date|from|via|expect"
    r"|te|dnt|priority|range|origin|referer|pragma|cache-control|transfer-encoding|upgrade|upgrade-insecure-requests"
    r"|forwarded|x-forwarded-.*|x-(?:original-)?(?:real|client)-ip|true-client-ip|x-requested-with|max-forwards"
    r"|cdn-loop|cf-(?:ray|visitor|connecting-ip|connecting-ipv6|ipcountry|ew-via|worker|warp-tag-id)"
    r"|traceparent|tracestate|x-(?:request|correlation|trace|amzn-trace)-id|x-b3-.*|x-cloud-trace-context"
    rf"|idempotency-key|{CALL_HEADER.lower()}"
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


def masked(value: Any, secrets: Sequence[str], names: Collection[str] = (), whole: Collection[str] = ()) -> Any:
    """The value without these secrets, in any spelling, and without what its `headers` say of logins.

    `names` are those of more headers that are secrets, in lower case; `whole` are secrets only as a whole text.
    """
    mask = Redactor(secrets).mask_configured if secrets else str
    return _masked(value, lambda text: MASK if text in whole else mask(text), names, in_headers=False)


def masked_error(error: ApiError, secrets: Sequence[str]) -> ApiError:
    """The same error, without what was sent: n8n's reason may repeat it, in the message and in the log."""
    context = ApiErrorContext(operation="use n8n", status_code=error.status_code)
    message, hint = masked(error.message, secrets), masked(error.hint, secrets)
    # What was given as a secret is one, however short. In a long answer it would be found in ordinary words.
    for short in (one for one in secrets if _SHORTEST_IN_ERRORS <= len(one) < _SHORTEST):
        message = message.replace(short, MASK)
    return ApiError(message, status_code=error.status_code, context=context, hint=hint)


def _masked(value: Any, mask: Callable[[str], str], names: Collection[str], *, in_headers: bool) -> Any:
    if isinstance(value, str):
        return mask(value) if len(value) >= _SHORTEST else value
    if isinstance(value, Mapping):
        return {key: _masked_part(str(key), part, mask, names, in_headers=in_headers) for key, part in value.items()}
    return [_masked(part, mask, names, in_headers=in_headers) for part in value] if isinstance(value, list) else value


def _masked_part(key: str, part: Any, mask: Callable[[str], str], names: Collection[str], *, in_headers: bool) -> Any:
    is_text = isinstance(part, str) and bool(part) and not _BROKEN.fullmatch(part)
    is_secret = in_headers and (is_secret_header(key) or key.lower() in names)
    if is_secret and (is_text or isinstance(part, list)):
        return MASK
    return _masked(part, mask, names, in_headers=key.lower() == "headers")


def without_secrets(execution: Execution, shown: Any, children: Sequence[Execution] = ()) -> Any:
    """A view of an execution without the logins that its callers sent: in headers, and wherever they were copied.

    `children` are executions of sub-workflows that the view tells of too.
    """
    told = [one for one in (execution, *children) if _may_have_secrets(one.received)]
    if not told:
        return shown
    secrets: dict[str, None] = {}
    names, whole = set[str](), set[str]()
    for one in told:
        asking = _asking_nodes(one)
        for node, name, value in _received_headers(one, asking):
            lower = name.lower()
            if node in asking and not _SENT_BY_PROGRAMS.fullmatch(lower):
                names.add(lower)
                # An everyday word may be the login, or in any sentence.
                whole.update(() if _OPEN_NAME.fullmatch(lower) else _credentials(value, certain=True))
            if lower in names or is_secret_header(name):
                secrets |= dict.fromkeys(_credentials(value, certain=lower in _ALWAYS_LOGINS))
    return masked(shown, list(secrets)[:_MOST_SECRETS], names, whole)


def _may_have_secrets(received: bytes) -> bool:
    return _HEADERS in received and (_HEADER_AUTH.encode() in received or any(end in received for end in _SECRET_ENDS))


def _asking_nodes(execution: Execution) -> frozenset[str]:
    """The nodes that start or resume the execution for those who send the right header, of any name."""
    if _HEADER_AUTH.encode() not in execution.received:
        return frozenset()
    asking = []
    for node in execution.workflow.nodes:
        settings = node.settings
        wanted = [settings.get("incomingAuthentication")]
        wanted += [settings.get("authentication")] if is_trigger_name(node.type) else []
        if any(_HEADER_AUTH in str(one) for one in wanted):
            asking.append(node.name)
    return frozenset(asking)


def _received_headers(execution: Execution, asking: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """Node, name and value of the headers in items: a node that starts or resumes an execution shows them."""
    for node, item in chain(_first_items(execution), planned_items(execution) if asking else ()):
        for name, value in _headers_of(item).items():
            if isinstance(value, str):
                yield node, str(name), value


def _first_items(execution: Execution) -> Iterator[tuple[str, Any]]:
    for node, runs in execution.runs.items():
        for run in runs[:_MOST_ITEMS]:
            for raw in islice(chain.from_iterable(filter(None, run.outputs)), _MOST_ITEMS):
                # Most items have none, and need not be decoded.
                if _HEADERS in bytes(raw):
                    yield node, read_part(raw)


def _headers_of(item: Any) -> Mapping[Any, Any]:
    data = item.get("json") if isinstance(item, Mapping) else None
    headers = data.get("headers") if isinstance(data, Mapping) else None
    return headers if isinstance(headers, Mapping) else {}


def _wrong(what: str) -> ValidationError:
    return ValidationError.of("headers", f"Invalid value for parameter headers: {what}")
