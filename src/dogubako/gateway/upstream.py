"""One MCP server behind ours: its tools, resources and prompts, called over the connection that is kept."""

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

from dogubako.contract.context import Context
from dogubako.contract.conversation import InputRequired
from dogubako.contract.errors import ApiError, DogubakoError
from dogubako.contract.output import Blocks
from dogubako.gateway.keeper import ConnectionKeeper, StateName, UpstreamState
from dogubako.gateway.link import Message, SignInRequired, UpstreamError, UpstreamLost, WrongConfiguration
from dogubako.gateway.questions import ParkedCalls, RunningCall, park_key
from dogubako.gateway.results import ToolFailure, blocks_of, failure_of, lost, tool_is_gone
from dogubako.gateway.session import REQUEST_SECONDS, UpstreamSession

__all__ = ["StateName", "Upstream", "UpstreamState"]


class Upstream(ConnectionKeeper):
    """One server. `run` keeps it connected; calls may come from any task."""

    @cached_property
    def _parked(self) -> ParkedCalls:
        return ParkedCalls()

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            self._parked.clear()

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], context: Context[Any], *, idempotent: bool
    ) -> Blocks:
        """Call a tool. A call that may have run is never repeated here."""
        try:
            return blocks_of(await self.answered("tools/call", {"name": name, "arguments": dict(arguments)}, context))
        except UpstreamError as error:
            raise await self._in_our_words(name, failure_of(error)) from error
        except ToolFailure as failure:
            raise await self._in_our_words(name, failure) from failure
        except UpstreamLost as error:
            raise lost(self.name, error, repeatable=idempotent) from error
        except SignInRequired as error:
            raise self.sign_in_needed() from error
        except WrongConfiguration as error:
            raise self._misconfigured(error) from error

    def _misconfigured(self, error: WrongConfiguration) -> DogubakoError:
        hint = f"The operator has to look at [servers.{self.name}]."
        return ApiError(f"The call was not made at the server '{self.name}': {error}", hint=hint)

    async def answered(self, method: str, params: Message, context: Context[Any] | None = None) -> Message:
        """The result of a request. With a context it may ask questions; the second call of a client continues it."""
        if context is None:
            seconds = self.settings.timeout or REQUEST_SECONDS
            return await self.on_a_connection(lambda session: session.request(method, params, seconds=seconds))
        key = park_key(context.caller.identity, method, params)
        call = await self._parked.continued(key, context)
        if call is not None:
            return await self._finish(call, key, context)

        async def work(session: UpstreamSession) -> Message:
            call = RunningCall(session, method, params, key[0])
            await call.start(context)
            return await self._finish(call, key, context)

        return await self.on_a_connection(work)

    async def _finish(self, call: RunningCall, key: tuple[str, str], context: Context[Any]) -> Message:
        is_over = False
        try:
            result = await call.result(context)
            is_over = True
        except InputRequired:
            self._parked.park(key, call)
            is_over = True
            raise
        finally:
            if not is_over:
                call.stop("the call was cancelled")
        return result

    async def _in_our_words(self, tool: str, failure: ToolFailure) -> DogubakoError:
        if failure.may_mean_unknown_tool and await self.lacks(tool):
            return tool_is_gone(self.name)
        return failure.in_our_words(self.name)

    async def lacks(self, tool: str) -> bool:
        """Whether the server certainly does not have this tool any more."""
        if self.connection is None:
            return False
        with suppress(UpstreamError, UpstreamLost, TimeoutError):
            return tool not in await self.connection.tool_names()
        return False

    async def read_resource(self, uri: str, context: Context[Any] | None = None) -> list[Message]:
        """The contents of a resource. With a context the server may ask its client."""
        return _objects((await self._request("resources/read", {"uri": uri}, context)).get("contents"))

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str], context: Context[Any] | None = None
    ) -> list[Message]:
        """The messages of a prompt. With a context the server may ask its client."""
        result = await self._request("prompts/get", {"name": name, "arguments": dict(arguments)}, context)
        return _objects(result.get("messages"))

    async def complete(
        self, ref: Message, argument: str, value: str, filled: Mapping[str, str] | None = None
    ) -> list[str]:
        """Suggestions for an argument. `ref` names a prompt or a resource template."""
        params: Message = {"ref": ref, "argument": {"name": argument, "value": value}}
        if filled:
            params["context"] = {"arguments": dict(filled)}
        completion = (await self._request("completion/complete", params)).get("completion")
        values = completion.get("values") if isinstance(completion, dict) else None
        return [one for one in values if isinstance(one, str)] if isinstance(values, list) else []

    async def subscribe(self, uri: str) -> None:
        """Report changes of a resource from now on, also after a reconnect."""
        self.subscribed.add(uri)
        await self.connection_ready()
        if self.connection is not None:
            await self.connection.subscribe(uri)

    async def unsubscribe(self, uri: str) -> None:
        self.subscribed.discard(uri)
        if self.connection is not None:
            await self.connection.unsubscribe(uri)

    async def _request(self, method: str, params: Message, context: Context[Any] | None = None) -> Message:
        try:
            return await self.answered(method, params, context)
        except UpstreamError as error:
            raise failure_of(error).in_our_words(self.name) from error
        except UpstreamLost as error:
            raise lost(self.name, error, repeatable=True) from error
        except SignInRequired as error:
            raise self.sign_in_needed() from error
        except WrongConfiguration as error:
            raise self._misconfigured(error) from error
        except TimeoutError as error:
            message = f"The server '{self.name}' did not answer in time."
            raise ApiError(message, unreachable=True, hint="Try again.") from error


def _objects(value: Any) -> list[Message]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
