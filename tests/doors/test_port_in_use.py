"""A place where somebody listens already is named before anything is started, with what to do."""

import socket
from pathlib import Path

import pytest

from .processes import run


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_port_that_is_taken_is_one_sentence(tmp_path: Path, workers: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = run("serve", "--port", port, "--workers", workers, folder=tmp_path)

    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1] == (
        f"dogubako: Nothing can listen on 127.0.0.1:{port}: Address already in use. "
        "Another server may be running there; choose another port with --port or PORT."
    )


@pytest.mark.slow
def test_a_name_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    ended = run("serve", "--host", "no.such.host.invalid", "--allow-unauthenticated", folder=tmp_path)

    assert ended.returncode == 2
    assert "HOST is no.such.host.invalid, which cannot be bound to" in ended.stderr
