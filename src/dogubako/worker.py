"""The app of one worker process, built from the same settings as its siblings."""

from dogubako import logs
from dogubako.app import build
from dogubako.contract.secrets import Redactor
from dogubako.transports.http import HttpDoor
from dogubako.worker_sharing import shared_sources


def app() -> HttpDoor:
    """Made anew in every worker. Clients of the handshake era get no session: it would live in one worker only."""
    redactor, sources = Redactor(), shared_sources()
    settings = sources.load()
    # First the logs: whoever is built before them keeps the loggers of a process without any.
    logs.configure(settings.log_level, settings.log_dir, redactor)
    box = build(sources, redactor=redactor)
    box.switchboard.alone = False
    return HttpDoor(box, stateless=True)
