"""Recognise host names, origins, loopback addresses and unencrypted connections."""

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

LOOPBACK_NAMES: Final = frozenset({"localhost"})
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)
_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]+)?", re.ASCII)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that is bound to `host`."""
    if host.lower() in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def crosses_a_network_unencrypted(url: str) -> bool:
    """Whether others on the network could read and change the traffic to this URL."""
    parts = urlsplit(url)
    return parts.scheme != "https" and not is_loopback(parts.hostname or "")


def is_host_name(text: str) -> bool:
    """Whether a text is a host name or an address, without scheme and port."""
    if _NAME.fullmatch(text):
        return True
    try:
        ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return False
    return True


def is_origin(text: str) -> bool:
    """Whether browsers could send this text as `Origin`: scheme, host and perhaps a port."""
    return _ORIGIN.fullmatch(text) is not None
