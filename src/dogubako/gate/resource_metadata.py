"""What we tell OAuth clients of ourselves (RFC 9728), and where."""

from typing import Any, Final
from urllib.parse import urlsplit

from dogubako.gate.scopes import LEVELS

_WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"


def metadata_url(audience: str) -> str:
    """The well-known part stands between the host and the path of the resource."""
    parts = urlsplit(audience)
    return f"{parts.scheme}://{parts.netloc}{_of(parts.path)}"


def metadata_paths(audience: str) -> tuple[str, ...]:
    """Where clients look: for the resource as it is called from outside, and for the server as a whole."""
    return tuple(dict.fromkeys((_WELL_KNOWN, _of("/mcp"), _of(urlsplit(audience).path))))


def metadata(audience: str, issuer: str, name: str) -> dict[str, Any]:
    return {
        "resource": audience,
        "authorization_servers": [issuer],
        "scopes_supported": list(LEVELS),
        "bearer_methods_supported": ["header"],
        "resource_name": name,
    }


def _of(path: str) -> str:
    return f"{_WELL_KNOWN}{path.rstrip('/')}"
