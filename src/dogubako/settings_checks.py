"""Check single settings, and say which one is wrong, why, and what may have been meant."""

from collections.abc import Iterable
from difflib import get_close_matches

from pydantic import BaseModel, ValidationError

from dogubako.contract.pack import env_name, has_tables

PREFIX = "DOGUBAKO_"
# Options of one start of the server, not settings.
_ONLY_FLAGS = {"ALLOW_UNAUTHENTICATED": "--allow-unauthenticated", "WORKERS": "--workers"}


def settings_sentence(error: ValidationError, model: type[BaseModel]) -> str:
    """All wrong settings in one sentence, without their values."""
    parts = []
    for problem in error.errors(include_url=False, include_input=False):
        message = problem["msg"].removeprefix("Value error, ")
        field = str(problem["loc"][0]) if problem["loc"] else ""
        in_table = field in model.model_fields and has_tables(model, field)
        name = env_name(model, field) if field in model.model_fields and not in_table else ""
        name = name or ".".join(map(str, problem["loc"]))
        parts.append(f"{name}: {message}" if name else message)
    return "Invalid setting: " + "; ".join(dict.fromkeys(parts)) + "."


def suggest(name: str, known: Iterable[str]) -> str:
    """A name that is nearly the same, as a question; empty where there is none."""
    near = get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]}?" if near else ""


def suggest_variable(name: str, known: Iterable[str]) -> str:
    """Suggest a similar variable. The prefix does not count as similarity."""
    bare = name.removeprefix(PREFIX)
    if bare in _ONLY_FLAGS:
        return f" It is the flag {_ONLY_FLAGS[bare]} of `dogubako serve`."
    whole = {one.removeprefix(PREFIX): one for one in known}
    if near := get_close_matches(bare, whole, n=1):
        return f" Did you mean {whole[near[0]]}?"
    # The packs are not loaded yet.
    return f" If it is one of a pack, its name is {bare}." if bare else ""
