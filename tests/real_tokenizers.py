"""The two real tokenizers our estimate must never fall below, both read from their wheels: no network, no key."""

from functools import cache
from importlib.resources import files

from mistral_common.tokens.tokenizers.tekken import Tekkenizer
from tokenizers import Tokenizer


@cache
def _claude() -> Tokenizer:
    # The JSON is read here, and not through Anthropic().count_tokens, which wants an API client and an older httpx.
    return Tokenizer.from_str(files("anthropic").joinpath("tokenizer.json").read_text(encoding="utf-8"))


@cache
def _mistral() -> Tekkenizer:
    data = files("mistral_common").joinpath("data")
    newest = max(entry.name for entry in data.iterdir() if entry.name.startswith("tekken_"))
    return Tekkenizer.from_file(str(data.joinpath(newest)))


def _without_lone_surrogates(text: str) -> str:
    # No tokenizer takes half a pair. U+FFFD is three bytes long, as the half would be.
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace") if not text.isascii() else text


def claude_tokens(text: str) -> int:
    """Count as the tokenizer that ships with the anthropic package, version 0.38."""
    return len(_claude().encode(_without_lone_surrogates(text)).ids)


def claude_vocabulary() -> dict[str, int]:
    """The tokens of the same tokenizer with their numbers; a blank is a blank."""
    return {token.replace("Ġ", " "): number for token, number in _claude().get_vocab().items()}


def mistral_tokens(text: str) -> int:
    """Count as the newest Tekken tokenizer that ships with mistral-common, without special tokens."""
    return len(_mistral().encode(_without_lone_surrogates(text), bos=False, eos=False))
