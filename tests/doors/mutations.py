"""Requests that go wrong in every way we could think of: valid `tools/call` requests, mutated by a seeded random."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

from . import messages
from .oddities import CALLS, HEADER_VALUES, META_KEYS, META_VALUES, ODD_VALUES, SESSION, TOKENS


@dataclass(frozen=True)
class Attempt:
    """One request. `hole` is where a raw token goes that no JSON writer would write."""

    headers: tuple[tuple[bytes, bytes], ...]
    message: Any
    token: str | None = None
    around: Callable[[bytes], bytes] = bytes

    def body(self) -> bytes:
        text = json.dumps(self.message)
        if self.token is not None:
            text = text.replace('"{hole}"', self.token)
        return self.around(text.encode())

    def headers_in(self, session: str) -> list[tuple[bytes, bytes]]:
        """The headers, with the id of a session that is open at this very server."""
        return [(name, value.replace(SESSION, session.encode())) for name, value in self.headers]


Mutation = Callable[[Attempt, Random], Attempt]


def attempts(count: int, *, seed: int, modern: bool) -> Iterator[Attempt]:
    """The same requests every time: a fifth of them untouched, the others mutated once or several times."""
    random = Random(seed)
    for number in range(count):
        attempt = _valid(random, number, modern=modern)
        for _ in range(random.choice((0, 1, 1, 2, 3))):
            attempt = random.choice(_MUTATIONS)(attempt, random)
        yield attempt


def _valid(random: Random, number: int, *, modern: bool) -> Attempt:
    name, arguments = random.choice(CALLS)
    params = messages.call(name, arguments, modern=modern)
    if not modern and random.random() < 0.3:
        params["_meta"] = {"progressToken": random.choice((number, f"t{number}"))}
    headers = messages.modern_headers("tools/call", name) if modern else messages.legacy_headers("{session}")
    pairs = tuple((key.encode(), value.encode()) for key, value in headers.items())
    return Attempt(pairs, messages.request("tools/call", params, request_id=random.choice((number, f"id-{number}"))))


def _change_header(attempt: Attempt, random: Random) -> Attempt:
    name = random.choice(tuple(HEADER_VALUES))
    kept = tuple(pair for pair in attempt.headers if pair[0] != name)
    return replace(attempt, headers=(*kept, (name, random.choice(HEADER_VALUES[name]))))


def _drop_header(attempt: Attempt, random: Random) -> Attempt:
    gone = random.choice(attempt.headers) if attempt.headers else None
    return replace(attempt, headers=tuple(pair for pair in attempt.headers if pair != gone))


def _double_header(attempt: Attempt, random: Random) -> Attempt:
    if not attempt.headers:
        return attempt
    name, value = random.choice(attempt.headers)
    second = random.choice((value, *HEADER_VALUES.get(name, (value,))))
    return replace(attempt, headers=(*attempt.headers, (name, second)))


def _change_field(attempt: Attempt, random: Random) -> Attempt:
    return _at_random_place(attempt, random, lambda parent, key: parent.__setitem__(key, random.choice(ODD_VALUES)))


def _drop_field(attempt: Attempt, random: Random) -> Attempt:
    return _at_random_place(attempt, random, lambda parent, key: parent.pop(key))


def _add_field(attempt: Attempt, random: Random) -> Attempt:
    name = random.choice(("task", "inputResponses", "requestState", "cursor", "uri", "extra", "error", "result", "id"))
    return _at_random_place(attempt, random, lambda parent, _: parent.__setitem__(name, random.choice(ODD_VALUES)))


def _change_meta(attempt: Attempt, random: Random) -> Attempt:
    message = json.loads(json.dumps(attempt.message))
    params = message.get("params") if isinstance(message, dict) else None
    if isinstance(params, dict):
        meta = params.setdefault("_meta", {})
        if isinstance(meta, dict):
            meta[random.choice(META_KEYS)] = random.choice((*META_VALUES, *ODD_VALUES))
    return replace(attempt, message=message)


def _plant_token(attempt: Attempt, random: Random) -> Attempt:
    planted = _at_random_place(attempt, random, lambda parent, key: parent.__setitem__(key, "{hole}"))
    return replace(planted, token=random.choice(TOKENS))


def _wrap(attempt: Attempt, random: Random) -> Attempt:
    return replace(attempt, around=random.choice(_WRAPPERS))


_WRAPPERS: Final[tuple[Callable[[bytes], bytes], ...]] = (
    lambda body: b" \n\t" + body + b"\r\n ",
    lambda body: b"\xef\xbb\xbf" + body,
    lambda body: body + b"x",
    lambda body: body + body,
    lambda body: body[:-1],
    lambda body: b"",
    lambda body: b"[" + body + b"]",
    lambda body: body.replace(b": ", b" :\n "),
    lambda body: body.replace(b'"method"', b'"method": "ping", "method"', 1),
    lambda body: body.replace(b'"id"', b'"id": null, "id"', 1),
    lambda body: body.replace(b'"name"', b'"name": 7, "name"', 1),
    lambda body: body.replace(b'"params"', b'"params": [], "params"', 1),
    lambda body: body.replace(b'"jsonrpc"', b'"json\\u0072pc"', 1),
    lambda body: body.replace(b"hello", b"h\xffllo"),
    lambda body: body.decode().encode("utf-16"),
    lambda body: body.decode().encode("utf-32"),
)

_MUTATIONS: Final[tuple[Mutation, ...]] = (
    _change_header,
    _drop_header,
    _double_header,
    _change_field,
    _drop_field,
    _add_field,
    _change_meta,
    _change_meta,
    _plant_token,
    _wrap,
)


def _at_random_place(attempt: Attempt, random: Random, change: Callable[[Any, str], Any]) -> Attempt:
    message = json.loads(json.dumps(attempt.message))
    places = list(_places(message))
    if places:
        parent, key = random.choice(places)
        change(parent, key)
    return replace(attempt, message=message)


def _places(node: Any) -> Iterator[tuple[dict[str, Any], str]]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield node, key
            yield from _places(value)
