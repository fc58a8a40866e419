"""Where a request carries who makes it, from the gate to whoever answers."""

from typing import Final, cast

from starlette.types import Scope

from dogubako.contract.call import Caller

_KEY: Final = "dogubako.caller"


def put_caller(scope: Scope, caller: Caller) -> None:
    scope[_KEY] = caller


def caller_in(scope: Scope) -> Caller:
    """Who makes this request. Only paths that are open to everybody have nobody in it, and they do not ask."""
    return cast("Caller", scope[_KEY])
