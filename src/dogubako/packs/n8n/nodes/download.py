"""Download n8n's node types from npm, for `dogubako n8n-nodes download`, and keep an index of them.

They are under the Sustainable Use License, so this runs only when a person asks for it. The packages themselves are
not kept.
"""

import base64
import hashlib
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import quote, urlsplit

from dogubako.outbound.http import trusted
from dogubako.packs.n8n.nodes.index import PACKAGES, NoNodeTypes, Package, downloaded, write_index

REGISTRY: Final = "https://registry.npmjs.org"
_LARGEST_ARCHIVE: Final = 300 * 1024 * 1024
_LARGEST_FILE: Final = 64 * 1024 * 1024
_WANTED: Final = "package/dist/types/nodes.json"
_SECONDS: Final = 60.0
_SHOWN_EVERY: Final = 1024 * 1024

# Called with the package, the bytes so far, and the bytes in all if they are known.
Progress = Callable[[str, int, int | None], None]


class DownloadError(Exception):
    """The download failed; the message says why."""


def download(version: str, data_dir: Path, progress: Progress, registry: str = REGISTRY) -> Path:
    """Fetch the node types of a version of n8n, and return the index of them."""
    # Slow to import, and needed only here.
    import httpx2  # noqa: PLC0415

    path = downloaded(data_dir / "n8n-nodes", version)
    try:
        with (
            httpx2.Client(verify=trusted(None), timeout=_SECONDS, follow_redirects=True) as client,
            TemporaryDirectory(prefix="dogubako-nodes-") as folder,
        ):
            source = _Registry(client, registry.rstrip("/"), Path(folder), progress)
            write_index(path, source.packages(version))
    except httpx2.HTTPError as error:
        raise DownloadError(f"npm could not be reached ({type(error).__name__}).") from error
    except (NoNodeTypes, OSError, tarfile.TarError) as error:
        raise DownloadError(f"the node types could not be kept ({error}).") from error
    return path


class _Registry:
    """Reads packages from an npm registry."""

    def __init__(self, client: Any, address: str, folder: Path, progress: Progress) -> None:
        self._client = client
        self._address = address
        self._folder = folder
        self._progress = progress

    def packages(self, version: str) -> list[Package]:
        needs = self._facts("n8n", version).get("dependencies") or {}
        return [self._package(name, str(needs.get(name) or version).lstrip("^~=")) for name in PACKAGES]

    def _package(self, name: str, version: str) -> Package:
        facts = self._facts(name, version)
        distribution: Mapping[str, Any] = facts.get("dist") or {}
        archive = self._folder / "package.tgz"
        self._fetch(name, str(distribution.get("tarball")), archive)
        _check(archive, str(distribution.get("integrity") or ""), name)
        types = self._folder / f"{name.rpartition('/')[2]}.json"
        _extract(archive, types, name)
        return Package(name=name, version=str(facts.get("version") or version), types=types)

    def _facts(self, name: str, version: str) -> dict[str, Any]:
        answer = self._client.get(f"{self._address}/{quote(name, safe='@')}/{quote(version, safe='')}")
        if answer.status_code != 200:
            raise DownloadError(f"npm has no {name} {version} (status {answer.status_code}).")
        try:
            found = answer.json()
        except ValueError as error:
            raise DownloadError(f"npm's answer about {name} cannot be read.") from error
        return found if isinstance(found, dict) else {}

    def _fetch(self, name: str, url: str, archive: Path) -> None:
        if urlsplit(url).scheme != "https" and urlsplit(url).netloc != urlsplit(self._address).netloc:
            raise DownloadError(f"npm names an address for {name} that is not secure.")
        with self._client.stream("GET", url) as response, archive.open("wb") as file:
            if response.status_code != 200:
                raise DownloadError(f"npm did not give {name} (status {response.status_code}).")
            announced = response.headers.get("content-length", "")
            total = int(announced) if announced.isdecimal() else None
            self._receive(name, response, file, total)

    def _receive(self, name: str, response: Any, file: Any, total: int | None) -> None:
        received = shown = 0
        for piece in response.iter_bytes():
            received += file.write(piece)
            if received > _LARGEST_ARCHIVE:
                raise DownloadError(f"{name} is larger than {_LARGEST_ARCHIVE:,} bytes.")
            if received - shown >= _SHOWN_EVERY:
                shown = received
                self._progress(name, received, total)
        self._progress(name, received, total)


def _check(archive: Path, integrity: str, name: str) -> None:
    """Compare the archive with the SHA-512 that npm announces for it."""
    algorithm, _, expected = integrity.partition("-")
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha512").digest()
    if algorithm != "sha512" or base64.b64encode(digest).decode() != expected:
        raise DownloadError(f"{name} is damaged: it is not what npm announces.")


def _extract(archive: Path, types: Path, name: str) -> None:
    with tarfile.open(archive, "r:gz") as packed:
        for member in packed:
            if member.name == _WANTED and member.isreg() and member.size <= _LARGEST_FILE:
                content = packed.extractfile(member)
                assert content is not None
                types.write_bytes(content.read(_LARGEST_FILE))
                return
    raise DownloadError(f"{name} holds no node types.")
