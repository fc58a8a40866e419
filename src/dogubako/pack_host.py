"""`PackHost`: the server, as a connected pack sees it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dogubako._lazy import load
from dogubako.contract.owners import Owners
from dogubako.contract.redaction import Redactor
from dogubako.contract.resources import Prompt, Resource, ResourceTemplate, Skill
from dogubako.contract.storage import Cache, SharedStore
from dogubako.contract.tool import BaseTool
from dogubako.engine.catalog import Catalog, CatalogChange
from dogubako.engine.registration import RegisterOptions
from dogubako.engine.registry import ToolRegistry
from dogubako.pack_state import PackState
from dogubako.settings import Settings


class PackHost:
    """The server, as a connected pack sees it."""

    def __init__(
        self,
        state: PackState,
        settings: Settings,
        registry: ToolRegistry,
        catalog: Catalog,
        cache: Cache,
        redactor: Redactor,
        shared: SharedStore | None,
        owners: Owners | None,
    ) -> None:
        self.cache: Cache = cache
        self.data_dir = settings.data_dir
        self.files: Sequence[Path] = settings.files
        self.transport = _sandbox(state, owners) if state.sandbox else None
        self.mask: Callable[[str], str] = redactor.mask_configured
        self.shared: SharedStore | None = shared
        self.owners: Owners | None = owners
        self._registry = registry
        self._catalog = catalog
        self._pack = state.pack.name
        self._state = state

    def add(self, tool: BaseTool[Any, Any]) -> None:
        pack = self._state.pack
        words, everyday_words = pack.search_words, pack.everyday_words
        self._registry.register(tool, RegisterOptions(pack=pack.name, words=words, everyday_words=everyday_words))

    def remove(self, name: str, version: str | None = None) -> None:
        self._registry.unregister(name, version)

    def add_resource(self, resource: Resource | ResourceTemplate) -> None:
        if isinstance(resource, Resource):
            self._catalog.add(self._pack, resources=[resource])
        else:
            self._catalog.add(self._pack, templates=[resource])
        self.resources_changed()

    def remove_resource(self, uri: str) -> None:
        self._catalog.remove_resource(self._pack, uri)
        self.resources_changed()

    def add_skill(self, skill: Skill) -> None:
        self._catalog.add(self._pack, skills=[skill])

    def remove_skill(self, uri: str) -> None:
        self._catalog.remove_skill(self._pack, uri)

    def add_prompt(self, prompt: Prompt) -> None:
        self._catalog.add(self._pack, prompts=[prompt])
        self.prompts_changed()

    def remove_prompt(self, name: str) -> None:
        self._catalog.remove_prompt(self._pack, name)
        self.prompts_changed()

    def resources_changed(self) -> None:
        self._catalog.changed(CatalogChange(kind="resources"))

    def prompts_changed(self) -> None:
        self._catalog.changed(CatalogChange(kind="prompts"))

    def resource_updated(self, uri: str) -> None:
        self._catalog.changed(CatalogChange(kind="updated", uri=uri))


def _sandbox(state: PackState, owners: Owners | None) -> Any:
    """The transport of the sandbox: one copy of the service for all processes."""
    assert state.sandbox is not None
    if owners is None:
        return state.sandbox.transport()
    return load("dogubako.outbound.owned_transport").OwnedTransport(state.pack.name, state.sandbox.transport, owners)
