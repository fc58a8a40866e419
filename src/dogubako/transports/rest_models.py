"""What the REST API takes and gives. The OpenAPI description is made from these models."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from dogubako.contract.call import ExecutionOptions
from dogubako.contract.whole_number import WholeNumber


class Body(BaseModel):
    """Base of request bodies: exact, and no unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel, populate_by_name=True)


class CallRequest(Body):
    """Which tool to run, with what."""

    name: str = Field(min_length=1, description="The tool's name.")
    parameters: dict[str, Any] = Field(default_factory=dict, description="The tool's arguments.")
    options: ExecutionOptions | None = Field(None, description="Time, retries and response budget of this call.")
    version: str | None = Field(None, description="A version other than the newest.")


class SearchFilters(Body):
    """Where to search."""

    category: str | None = None
    tags: list[str] = Field(default_factory=list, description="Several tags mean all of them.")


class SearchRequest(Body):
    """What a tool should be able to do, in plain words."""

    # Whether it is blank is asked by the route, which has a sentence of its own for that.
    query: str = Field(max_length=2_000, json_schema_extra={"minLength": 1, "pattern": r"\S"})
    filters: SearchFilters = Field(default_factory=SearchFilters)
    limit: WholeNumber = Field(20, ge=1, le=100)


class SwitchRequest(Body):
    """Switch a tool on or off."""

    enabled: bool


# `tag=a&tag=b` and `tag=a,b` say the same.
_Tags = Annotated[
    list[str], WithJsonSchema({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]})
]


class ListQuery(BaseModel):
    """Filters and page of a list; values arrive as text."""

    model_config = ConfigDict(extra="forbid")

    category: str | None = None
    tag: _Tags = Field(default_factory=list, description="May be given several times; all must match.")
    enabled: bool | None = None
    page: int = Field(1, ge=1, le=1_000_000)
    limit: int = Field(50, ge=1, le=100)


class Answer(BaseModel):
    """Base of answers."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Parameter(Answer):
    name: str
    type: str
    description: str
    required: bool
    default: Any = None
    enum: list[Any] | None = None
    pattern: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    examples: list[Any] | None = None


class Example(Answer):
    description: str
    parameters: dict[str, Any]
    expected_result: Any = None


class ToolInfo(Answer):
    """A tool in a list."""

    name: str
    title: str
    description: str
    parameters: list[Parameter]
    version: str
    category: str
    tags: list[str]
    author: str | None = None
    examples: list[Example]
    enabled: bool
    reason: str | None = Field(None, description="Why the tool is disabled.")
    effect: str


class ToolDetail(ToolInfo):
    """Everything about one tool."""

    registered_at: str
    dependencies: list[str]
    versions: list[str]
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None


class FoundTool(ToolInfo):
    """A tool that a search found."""

    score: float


class Pagination(Answer):
    page: int
    limit: int
    total: int
    total_pages: int


class ToolList(Answer):
    tools: list[ToolInfo]
    pagination: Pagination


class SearchAnswer(Answer):
    query: str
    results: list[FoundTool]
    total: int


class CallAnswer(Answer):
    """A call that worked. `result` is the envelope of a JSON tool, the text of a text tool, or content blocks."""

    success: bool
    result: Any
    execution_time: int = Field(description="Milliseconds.")
    timestamp: str


class ErrorDetail(Answer):
    field: str
    message: str


class ErrorAnswer(Answer):
    """A call that failed: what happened, what to do, and whether trying again makes sense."""

    success: bool
    error: str
    code: str
    hint: str | None = None
    retryable: bool
    retry_after: float | None = None
    error_id: str | None = None
    details: list[ErrorDetail]
    execution_time: int
    timestamp: str


class ServerInfo(Answer):
    status: str
    message: str
    version: str
    uptime: float
    timestamp: str


class Health(Answer):
    status: str


class ReadinessCheck(Answer):
    ok: bool
    subject: str
    message: str
    advice: str | None = None


class Readiness(Answer):
    ready: bool
    checks: list[ReadinessCheck] | None = Field(None, description="Only where nobody has to prove who they are.")
