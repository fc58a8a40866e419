"""Real conversations of both eras, and what becomes of them when every message may be mutated."""

from collections.abc import Iterator
from random import Random
from typing import Any, Final

from tests.doors import messages, mutations
from tests.doors.mutations import Attempt

_FORMS: Final[dict[str, Any]] = {"elicitation": {"form": {}}}
_REFERENCE: Final = {"type": "ref/prompt", "name": "tidy"}

# Method, params, and what a modern request repeats in a header.
_CONVERSATION: Final[tuple[tuple[str, dict[str, Any], str | None], ...]] = (
    ("tools/list", {}, None),
    ("tools/call", {"name": "look", "arguments": {"text": "a"}}, "look"),
    ("tools/call", {"name": "put", "arguments": {"text": "a"}}, "put"),
    ("tools/call", {"name": "wipe", "arguments": {"marker": "/nowhere/marker"}}, "wipe"),
    ("tools/call", {"name": "call_tool", "arguments": {"name": "look", "arguments": {}}}, "call_tool"),
    ("tools/call", {"name": "read_more", "arguments": {"tool": "look", "arguments": {}}}, "read_more"),
    ("tools/call", {"name": "stumble", "arguments": {"foreseen": False}}, "stumble"),
    ("resources/list", {}, None),
    ("resources/templates/list", {}, None),
    ("resources/read", {"uri": "shed://stock"}, "shed://stock"),
    ("prompts/list", {}, None),
    ("prompts/get", {"name": "tidy", "arguments": {"how": "well"}}, "tidy"),
    ("completion/complete", {"ref": _REFERENCE, "argument": {"name": "how", "value": "w"}}, None),
)
_LEGACY_ONLY: Final[tuple[tuple[str, dict[str, Any], str | None], ...]] = (
    ("ping", {}, None),
    ("initialize", messages.initialize(capabilities=_FORMS), None),
    ("logging/setLevel", {"level": "info"}, None),
    ("resources/subscribe", {"uri": "shed://stock"}, None),
    ("resources/unsubscribe", {"uri": "shed://stock"}, None),
)
_MODERN_ONLY: Final[tuple[tuple[str, dict[str, Any], str | None], ...]] = (("server/discover", {}, None),)


def mutated(count: int, *, seed: int, modern: bool) -> Iterator[Attempt]:
    """The same requests every time; one in five is left as it is."""
    random = Random(seed)
    for number in range(count):
        attempt = _valid(random, number, modern)
        for _ in range(random.choice((0, 1, 1, 2, 4))):
            attempt = random.choice(mutations._MUTATIONS)(attempt, random)
        yield attempt


def _valid(random: Random, number: int, modern: bool) -> Attempt:
    method, params, name = random.choice(_CONVERSATION + (_MODERN_ONLY if modern else _LEGACY_ONLY))
    # Nobody is asked: a client that fails at everything would have to answer.
    said = {**params, "_meta": messages.envelope()} if modern else params
    headers = messages.modern_headers(method, name) if modern else messages.legacy_headers("{session}")
    pairs = tuple((key.encode(), value.encode()) for key, value in headers.items())
    return Attempt(pairs, messages.request(method, said, request_id=f"request-{number}"))
