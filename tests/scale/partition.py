"""A wire between a process and its Redis that can be cut, and joined again."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

_CHUNK: Final = 65_536


class Wire:
    """Forwards connections to an address while it is whole. Cut, it passes nothing on and lets everybody wait."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._target = (str(parts.hostname), int(parts.port or 0))
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = address.replace(f":{parts.port}", f":{self._listening.getsockname()[1]}")
        self._whole = threading.Event()
        self._whole.set()
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self._whole.clear()

    def join(self) -> None:
        self._whole.set()

    def close(self) -> None:
        self._whole.set()
        for one in (self._listening, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self._target)
            except OSError:
                near.close()
                continue
            self._open += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK):
                self._whole.wait()
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def wire(address: str) -> Iterator[Wire]:
    made = Wire(address)
    try:
        yield made
    finally:
        made.close()
