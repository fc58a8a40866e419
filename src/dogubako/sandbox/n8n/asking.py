"""One request as the endpoints see it, and the two ways to answer that are not a plain 200."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """What is left of a request when method, path, key and scope have been checked."""

    path: Mapping[str, str]
    query: Mapping[str, str]
    key: str = ""
    body: Any = None

    def says(self, name: str, *, default: str = "false") -> bool:
        """A yes or no in the query; n8n takes only the word `true` for yes."""
        return self.query.get(name, default) == "true"


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A status other than 200, and what is said with it."""

    status: int
    body: Any


class RefusedError(Exception):
    """n8n says no. The words are the real server's own; clients are tested against them."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def not_found() -> RefusedError:
    return RefusedError(404, "Not Found")


def one_of(query: Mapping[str, str], name: str, *values: str) -> str | None:
    """What the query says, if it is a word that n8n knows there."""
    value = query.get(name)
    if value is not None:
        check_word(value, f"request/query/{name}", values)
    return value


def check_word(value: str, place: str, values: tuple[str, ...]) -> None:
    if value not in values:
        expected = " | ".join(f"'{each}'" for each in values)
        raise RefusedError(400, f"{place} Invalid enum value. Expected {expected}, received '{value}'")
