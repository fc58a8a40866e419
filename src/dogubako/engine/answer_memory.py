"""Bound the memory of large answers that are being built, for tools that no service slows down.

A bulkhead protects a service. A tool without one is bounded by what it costs: the bytes of its answer, from the moment
at which the tool returns it until the answer is built. What a tool will return is not known before it runs, so it is
learned: a call waits for room if the last answers of this tool to arguments of such a size were large. Any other call
runs at once.
"""

from typing import Any, Final

from dogubako.contract.byte_budget import MAX_WAIT_SECONDS, ByteBudget
from dogubako.contract.call import ToolCall
from dogubako.contract.offload import weight_of

MOST_ANSWER_BYTES: Final = 32 * 1024 * 1024
# A tool whose answers are smaller never waits.
_SMALL_BYTES: Final = 64 * 1024
# How much of what was learned stays after an answer that was smaller.
_REMEMBERED: Final = 0.875

# Calls whose answers are likely of one size: the tool, and the size of the arguments as a power of two.
Kind = tuple[str, int]


class AnswerMemory:
    """The budget for large answers, and what the answers of each tool are expected to take of it."""

    def __init__(self, *, most_bytes: int = MOST_ANSWER_BYTES, max_wait_seconds: float = MAX_WAIT_SECONDS) -> None:
        message = "Too many large answers are being built."
        self.budget = ByteBudget(most_bytes, message, max_wait_seconds=max_wait_seconds)
        self._expected: dict[Kind, int] = {}
        # The tools that are expected to have large answers. A call of any other tool needs no hold to begin with.
        self.large_tools: Final[set[str]] = set()

    def hold(self, call: ToolCall) -> "AnswerHold":
        """The memory of one call, which does not hold anything yet."""
        kind = (call.name, weight_of(call.parameters).bit_length())
        # A call that another tool makes must not wait for what that tool holds.
        return AnswerHold(self, kind, waits=call.within is None)

    def expected(self, kind: Kind) -> int:
        """About how many bytes the next answer to such a call will have, or 0 for few."""
        return self._expected.get(kind, 0)

    def learn(self, kind: Kind, weight: int) -> None:
        expected = max(weight, int(self.expected(kind) * _REMEMBERED))
        if expected >= _SMALL_BYTES:
            self._expected[kind] = expected
            self.large_tools.add(kind[0])
        elif self._expected.pop(kind, None) is not None:
            self.large_tools.intersection_update({name for name, _ in self._expected})


class AnswerHold:
    """The bytes that one call holds. The tool's own task enters, so that calls that came together enter in turn."""

    __slots__ = ("_ended", "_kind", "_memory", "_size", "_waits", "_weighed")

    def __init__(self, memory: AnswerMemory, kind: Kind, *, waits: bool) -> None:
        self._memory = memory
        self._kind = kind
        self._waits = waits
        self._size = 0
        self._weighed = self._ended = False

    async def enter(self) -> None:
        """Wait until there is room for the answer that is expected."""
        expected = self._memory.expected(self._kind)
        if expected and self._waits:
            await self._memory.budget.take(expected)
            self._size = expected

    def weigh(self, answer: Any) -> None:
        """Hold what the answer really takes."""
        if self._ended:
            # Nobody waits any more for this tool, which ignored its cancellation.
            return
        weight = weight_of(answer)
        self._weighed = True
        self._memory.learn(self._kind, weight)
        expected, self._size = self._size, weight
        self._memory.budget.exchange(expected, weight)

    def release(self) -> None:
        self._ended = True
        if not self._weighed:
            self._memory.learn(self._kind, 0)
        size, self._size = self._size, 0
        if size:
            self._memory.budget.give_back(size)
