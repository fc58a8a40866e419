"""Placeholder."""


def count_tokens(text: str) -> int:
    return (len(text.encode(errors="replace")) + 1) // 2


def fits(text: str, limit: int) -> bool:
    return count_tokens(text) <= limit
