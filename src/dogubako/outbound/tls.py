"""Whom we trust: the authorities of this machine, and the operator's own."""

import ssl
from pathlib import Path


def trusted(ca_bundle: Path | None) -> ssl.SSLContext:
    """A context for clients: TLS 1.2 and newer, certificates and names verified."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if ca_bundle is not None:
        context.load_verify_locations(ca_bundle)
    return context
