"""What can go wrong, and who can fix it.

```text
DogubakoError
├── ToolNotFoundError  ToolDisabledError          the caller picks another tool, or switches it on
├── ValidationError                               the caller corrects the arguments
├── ConfirmationRequiredError  ReadOnlyError      the caller confirms, or asks the operator
├── CapabilityRequiredError                       the caller uses a client that can talk to a person
├── AuthenticationError  AuthorizationError       the caller brings the right key
├── RateLimitError  BusyError                     the caller waits
├── ToolTimeoutError  CancelledError              the caller tries again, or lets it be
├── ApiError  NotFoundError                       a service refused, or has no such thing
├── WebSearchError                                HttpError HtmlParseError JsonParseError EmptyQuery
│                                                 Timeout NoResults Blocked UrlNotAllowed
├── RouteNotFoundError  MethodNotAllowedError  PayloadTooLargeError  UnsupportedMediaTypeError
├── AnswerTooLargeError                           the tool's author offers a smaller form
├── ToolExecutionError                            the tool's author reads the log
└── InternalError                                 we read the log
```
"""

from dogubako.contract.errors.base import DogubakoError, LogLevel
from dogubako.contract.errors.callers import AuthenticationError, AuthorizationError, RateLimitError
from dogubako.contract.errors.http import (
    InternalError,
    MethodNotAllowedError,
    PayloadTooLargeError,
    RouteNotFoundError,
    UnsupportedMediaTypeError,
)
from dogubako.contract.errors.services import ApiError, ApiErrorContext, NotFoundError, NotFoundErrorContext
from dogubako.contract.errors.tools import (
    AnswerTooLargeError,
    BusyError,
    CancelledError,
    CapabilityRequiredError,
    ConfirmationRequiredError,
    ReadOnlyError,
    ToolDisabledError,
    ToolExecutionError,
    ToolNotFoundError,
    ToolTimeoutError,
    ValidationError,
    ValidationErrorContext,
)
from dogubako.contract.errors.web import (
    Blocked,
    EmptyQuery,
    HtmlParseError,
    HttpError,
    JsonParseError,
    NoResults,
    Timeout,
    UrlNotAllowed,
    WebSearchError,
)

__all__ = [
    "AnswerTooLargeError",
    "ApiError",
    "ApiErrorContext",
    "AuthenticationError",
    "AuthorizationError",
    "Blocked",
    "BusyError",
    "CancelledError",
    "CapabilityRequiredError",
    "ConfirmationRequiredError",
    "DogubakoError",
    "EmptyQuery",
    "HtmlParseError",
    "HttpError",
    "InternalError",
    "JsonParseError",
    "LogLevel",
    "MethodNotAllowedError",
    "NoResults",
    "NotFoundError",
    "NotFoundErrorContext",
    "PayloadTooLargeError",
    "RateLimitError",
    "ReadOnlyError",
    "RouteNotFoundError",
    "Timeout",
    "ToolDisabledError",
    "ToolExecutionError",
    "ToolNotFoundError",
    "ToolTimeoutError",
    "UnsupportedMediaTypeError",
    "UrlNotAllowed",
    "ValidationError",
    "ValidationErrorContext",
    "WebSearchError",
]
