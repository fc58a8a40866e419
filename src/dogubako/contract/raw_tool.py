"""`RawTool`: fetch first, then show either a small view or what the service really said."""

from abc import abstractmethod
from functools import cached_property
from typing import Any, Generic

from pydantic import BaseModel, Field, create_model
from typing_extensions import TypeVar

from dogubako.contract.context import ClientT
from dogubako.contract.offload import is_large
from dogubako.contract.output import Deferred
from dogubako.contract.tool import ArgsT, BaseTool

DataT = TypeVar("DataT", default=Any)

_RAW = Field(default=False, description="Return the service's own answer instead of the short view.")


class RawTool(BaseTool[ArgsT, ClientT], Generic[ArgsT, DataT, ClientT]):
    """A tool in two steps. It adds the argument `raw`."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        model = cls.args_model
        if model is not None and "raw" not in model.model_fields:
            cls.args_model = _WithRaw(model)  # type: ignore[assignment]

    @abstractmethod
    async def execute_core(self, args: ArgsT) -> DataT:
        """Fetch, and decide nothing about how it will look."""

    @abstractmethod
    def format_response(self, data: DataT, raw: bool) -> Any:
        """Show what was fetched: the minimal view, or all of it."""

    async def execute(self, args: ArgsT) -> Any:
        data, raw = await self.execute_core(args), getattr(args, "raw", False)
        if is_large(data):
            return Deferred(lambda: self.format_response(data, raw))
        return self.format_response(data, raw)


class _WithRaw:
    """Stands in for an argument model until somebody asks for it: a second model for each tool would slow the start."""

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model

    def __get__(self, tool: object, kind: type) -> type[BaseModel]:
        return self._extended

    @cached_property
    def _extended(self) -> type[BaseModel]:
        model = self._model
        return create_model(model.__name__, __base__=model, __module__=model.__module__, raw=(bool, _RAW))
