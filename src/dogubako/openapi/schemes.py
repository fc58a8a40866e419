"""Security schemes of a description that have addresses: OAuth 2 and OpenID Connect, in OpenAPI 3 and Swagger 2."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urljoin

CODE_FLOWS: Final = ("authorizationCode", "accessCode")
CLIENT_FLOWS: Final = ("clientCredentials", "application")
_ADDRESSES: Final = ("authorizationUrl", "tokenUrl", "refreshUrl", "openIdConnectUrl")


def with_whole_addresses(scheme: Any, base: str) -> Any:
    """The scheme with addresses that are relative to nothing."""
    if not isinstance(scheme, Mapping):
        return scheme
    found = {
        key: urljoin(base, value) if key in _ADDRESSES and isinstance(value, str) else value
        for key, value in scheme.items()
    }
    if isinstance(flows := scheme.get("flows"), Mapping):
        found["flows"] = {name: with_whole_addresses(flow, base) for name, flow in flows.items()}
    return found


def with_scopes_in_use(schemes: Mapping[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    """The schemes, those of OpenID Connect with the scopes that operations ask for: the scheme itself names none."""
    paths = root.get("paths")
    items = [one for one in paths.values() if isinstance(one, Mapping)] if isinstance(paths, Mapping) else []
    users = [root, *(one for item in items for one in item.values() if isinstance(one, Mapping))]
    groups = [group for one in users for group in _list(one.get("security")) if isinstance(group, Mapping)]
    return {
        name: {**scheme, "scopes": sorted({str(one) for group in groups for one in _list(group.get(name))})}
        if is_open_id(scheme)
        else scheme
        for name, scheme in schemes.items()
    }


def flow_of(scheme: Any, names: tuple[str, ...]) -> Mapping[str, Any]:
    """The flow of one of these names; empty if the scheme has none."""
    if not isinstance(scheme, Mapping) or scheme.get("type") != "oauth2":
        return {}
    flows = scheme.get("flows")
    found = [flows.get(name) for name in names] if isinstance(flows, Mapping) else []
    known = [one for one in found if isinstance(one, Mapping)]
    return known[0] if known else scheme if scheme.get("flow") in names else {}


def token_address(scheme: Any) -> str | None:
    """Where client credentials get a token."""
    address = flow_of(scheme, CLIENT_FLOWS).get("tokenUrl")
    return address if isinstance(address, str) else None


def wants_sign_in(scheme: Any) -> bool:
    """Whether a person can sign in for this scheme."""
    return is_open_id(scheme) or bool(flow_of(scheme, CODE_FLOWS))


def is_open_id(scheme: Any) -> bool:
    """Whether the addresses of the scheme are in a document of OpenID Connect."""
    return isinstance(scheme, Mapping) and scheme.get("type") == "openIdConnect"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
