"""What we ship with: a bill of materials, the licences of others, and lock files that two machines write alike."""

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from scripts.locked_packages import LockedPackage, locked_packages
from scripts.third_party_notices import NOTICES, notices_page

ROOT: Final = Path(__file__).parents[1]
LOCKS: Final = ("requirements.lock", "requirements-dev.lock", "requirements-tools.lock")
PATIENCE: Final = 120


def sbom(target: Path, environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    command = [sys.executable, "scripts/sbom.py", str(target)]
    subprocess.run(command, cwd=ROOT, env=dict(environ or {}), check=True, capture_output=True, timeout=PATIENCE)
    found: dict[str, Any] = json.loads(target.read_text(encoding="utf-8"))
    return found


def described(component: dict[str, Any]) -> LockedPackage:
    references = component["externalReferences"]
    hashes = (one["content"] for reference in references for one in reference["hashes"] if one["alg"] == "SHA-256")
    return LockedPackage(name=component["name"], version=component["version"], hashes=tuple(sorted(hashes)))


@pytest.mark.slow
def test_the_sbom_lists_every_locked_package_with_its_version_and_hashes(tmp_path: Path) -> None:
    bill = sbom(tmp_path / "sbom.json")

    expected = {
        LockedPackage(name=one.name, version=one.version, hashes=tuple(sorted(one.hashes)))
        for one in locked_packages(ROOT / "requirements.lock")
    }
    assert all(one.hashes for one in expected)
    assert len(expected) > 50
    assert {described(component) for component in bill["components"]} == expected
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "dogubako")


@pytest.mark.slow
def test_the_same_lock_gives_the_same_sbom_and_a_time_only_on_request(tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"

    bill = sbom(first)
    sbom(second)
    dated = sbom(tmp_path / "dated.json", {"SOURCE_DATE_EPOCH": "1700000000"})

    assert first.read_bytes() == second.read_bytes()
    assert "serialNumber" not in bill and "timestamp" not in bill["metadata"]
    assert dated["metadata"]["timestamp"].startswith("2023-11-14")


def test_the_wheel_holds_our_licence_and_those_of_others(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=PATIENCE)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        licences = {
            name.rpartition("/licenses/")[2]: files.read(name) for name in files.namelist() if "/licenses/" in name
        }

    assert licences["LICENSE"] == (ROOT / "LICENSE").read_bytes()
    assert licences[NOTICES].decode() == notices_page()


def test_every_dependency_of_ours_is_named_with_a_licence() -> None:
    rows = [line.split(" | ") for line in notices_page().splitlines() if re.match(r"\| [a-z0-9-]+ \| \d", line)]
    named = {row[0].removeprefix("| ") for row in rows}

    assert {"mcp", "lxml", "protego", "cryptography", "pywin32"} <= named
    assert "hatchling" not in named
    assert all(row[2].strip() for row in rows)


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_has_hashes_and_names_no_host(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")

    assert all(one.hashes for one in locked_packages(ROOT / lock))
    assert not re.search(r"://|^-|^#", text, re.MULTILINE)


def test_locks_are_written_by_one_version_of_uv() -> None:
    (uv,) = [one.version for one in locked_packages(ROOT / "requirements-tools.lock") if one.name == "uv"]

    assert f'"uv=={uv}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_tools_change_no_version_that_tests_run_with() -> None:
    tested: dict[str, set[str]] = {}
    for one in locked_packages(ROOT / "requirements-dev.lock"):
        tested.setdefault(one.name, set()).add(one.version)

    for one in locked_packages(ROOT / "requirements-tools.lock"):
        assert one.version in tested.get(one.name, {one.version})
