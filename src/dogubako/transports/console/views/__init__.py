"""The pages of the console, one module per subject."""

from dogubako.contract.call import Caller
from dogubako.engine.registration import ToolRegistryEntry
from dogubako.transports.console.recorder import CallRecord, CallRecorder
from dogubako.transports.http.readiness import Readiness
from dogubako.transports.toolbox import ServedToolbox


class Views:
    """What all pages share."""

    def __init__(self, inside: ServedToolbox, recorder: CallRecorder, readiness: Readiness) -> None:
        self.inside = inside
        self.recorder = recorder
        self.readiness = readiness

    def visible_tools(self, caller: Caller) -> list[ToolRegistryEntry]:
        """The tools that this caller may see, disabled ones too, as in REST's list."""
        forbidden = self.inside.pipeline.policy.forbidden
        return [entry for entry in self.inside.registry.list() if forbidden(entry, caller) is None]

    def tool(self, name: str, caller: Caller) -> ToolRegistryEntry:
        """One tool, or the error that REST would answer."""
        forbidden = self.inside.pipeline.policy.forbidden
        entry = self.inside.registry.get(name, may_see=lambda one: forbidden(one, caller) is None)
        if (error := forbidden(entry, caller)) is not None:
            raise error
        return entry

    def visible_calls(self, caller: Caller, *, is_admin: bool) -> list[CallRecord]:
        """Administrators see all calls, everybody else their own. The oldest is first."""
        records = self.recorder.all()
        return records if is_admin else [one for one in records if one.caller_id == caller.identity]
