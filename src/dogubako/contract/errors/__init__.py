"""All errors, and who can fix each of them.

```text
DogubakoError
├── ToolNotFoundError  ToolDisabledError          the caller picks another tool, or switches it on
├── ValidationError                               the caller corrects the arguments
├── ConfirmationRequiredError  ReadOnlyError      the caller confirms, or asks the operator
├── CapabilityRequiredError                       the caller uses a client that can talk to a person
├── AuthenticationError  AuthorizationError       the caller sends the right key
├── CredentialRequiredError                       the caller brings its own key for the service
├── RateLimitError  BusyError                     the caller waits
├── ToolTimeoutError  CancelledError              the caller tries again, or gives up
├── ApiError  NotFoundError                       a service refused, or has no such thing
├── ConflictError                                 the caller reads again what somebody else changed
├── WebSearchError                                HttpError HtmlParseError JsonParseError EmptyQuery
│                                                 Timeout NoResults Blocked UrlNotAllowed
├── RouteNotFoundError  MethodNotAllowedError  PayloadTooLargeError  UnsupportedMediaTypeError
├── GatewayLoopError                              the operator removes a server that is behind itself
├── AnswerTooLargeError                           the tool's author offers a smaller form
├── ToolExecutionError                            the tool's author reads the log
└── InternalError                                 we read the log
```
"""

from dogubako.contract.errors.base import (
    DogubakoError,
    GatewayLoopError,
    InternalError,
    LogLevel,
    MethodNotAllowedError,
    PayloadTooLargeError,
    RouteNotFoundError,
    UnsupportedMediaTypeError,
)
from dogubako.contract.errors.services import (
    ApiError,
    ApiErrorContext,
    Blocked,
    ConflictError,
    EmptyQuery,
    HtmlParseError,
    HttpError,
    JsonParseError,
    NoResults,
    NotFoundError,
    NotFoundErrorContext,
    Timeout,
    UrlNotAllowed,
    WebSearchError,
)
from dogubako.contract.errors.tools import (
    AnswerTooLargeError,
    AuthenticationError,
    AuthorizationError,
    BusyError,
    CancelledError,
    CapabilityRequiredError,
    ConfirmationRequiredError,
    CredentialRequiredError,
    RateLimitError,
    ReadOnlyError,
    ToolDisabledError,
    ToolExecutionError,
    ToolNotFoundError,
    ToolTimeoutError,
    ValidationError,
    ValidationErrorContext,
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
    "ConflictError",
    "CredentialRequiredError",
    "DogubakoError",
    "EmptyQuery",
    "GatewayLoopError",
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
