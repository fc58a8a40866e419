"""How endpoints are listed: method, path without `.json`, and the function that answers."""

from collections.abc import Callable
from typing import Any

from dogubako.sandbox.redmine.asking import Ask

Endpoint = Callable[[Ask], Any]
Place = tuple[str, str, Endpoint]
