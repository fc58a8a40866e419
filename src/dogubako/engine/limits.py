"""How long, how often and how much: what the server allows, and what a call asked for."""

from dataclasses import dataclass

import msgspec

from dogubako.contract.call import NO_OPTIONS, ExecutionOptions
from dogubako.contract.errors import ValidationError, ValidationErrorContext
from dogubako.engine.entry import ToolRegistryEntry


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one call, in seconds and tokens."""

    timeout: float
    deadline: float
    retry: int
    retry_delay: float
    max_tokens: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ExecutionLimits:
    """Defaults and maxima, in milliseconds as callers write them."""

    timeout: int = 30_000
    deadline: int = 120_000
    retry_delay: int = 1_000
    max_timeout: int = 120_000
    max_deadline: int = 600_000
    max_retry: int = 5
    max_retry_delay: int = 60_000
    max_tokens: int = 25_000

    def plan(self, entry: ToolRegistryEntry, options: ExecutionOptions, pack_retry: int) -> Plan:
        """The caller's wish, else the tool's, else the pack's, else ours. Too large a wish is an error, not a guess."""
        if options is not NO_OPTIONS:
            self._check(options)
        tool = entry.implementation
        tool_retry = pack_retry if tool.retry is None else tool.retry
        timeout = options.timeout or tool.timeout or self.timeout
        deadline = options.deadline or max(self.deadline, timeout)
        return Plan(
            timeout=timeout / 1000,
            deadline=deadline / 1000,
            retry=tool_retry if options.retry is None else options.retry,
            retry_delay=(self.retry_delay if options.retry_delay is None else options.retry_delay) / 1000,
            max_tokens=options.max_tokens,
        )

    def _check(self, options: ExecutionOptions) -> None:
        maxima = {
            "timeout": (options.timeout, self.max_timeout),
            "deadline": (options.deadline, self.max_deadline),
            "retry": (options.retry, self.max_retry),
            "retryDelay": (options.retry_delay, self.max_retry_delay),
            "maxTokens": (options.max_tokens, self.max_tokens),
        }
        errors = [
            ValidationErrorContext(
                field=f"options.{name}",
                message=f"Invalid value for parameter options.{name}: must be at most {most}",
                constraint=f"at most {most}",
            )
            for name, (wish, most) in maxima.items()
            if wish is not None and wish > most
        ]
        if errors:
            raise ValidationError(errors)
