"""Who could reach a server that asks nobody for a key."""

from dogubako.contract.loopback import is_loopback
from dogubako.settings import Settings, SettingsError


def check_strangers(settings: Settings) -> None:
    """Nobody has to prove anything: then nobody but this machine may be able to call."""
    if settings.auth != "off":
        return
    if not is_loopback(settings.host):
        raise SettingsError(
            f"HOST is {settings.host}, which others can reach, and authentication is off. "
            "Use HOST=127.0.0.1, set DOGUBAKO_AUTH=keys, or say --allow-unauthenticated if that is what you want."
        )
    if settings.cors_enabled and "*" in settings.cors_origin:
        raise SettingsError(
            "CORS_ORIGIN is *, so every web page that somebody here opens could call tools, and authentication is off. "
            "Name the sites in CORS_ORIGIN, set DOGUBAKO_AUTH=keys, or say --allow-unauthenticated if that is meant."
        )
