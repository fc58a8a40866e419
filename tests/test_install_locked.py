"""`make run` shows how far the installation is, and what pip said if it fails."""

import hashlib
import io
import subprocess
import sys
import zipfile
from pathlib import Path

from scripts.install_locked import shown

SCRIPT = Path(__file__).parents[1] / "scripts" / "install_locked.py"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _lines(count: int) -> list[str]:
    return [
        *(f"Collecting package{number}==1.0 (from -r x)\n" for number in range(count)),
        "Installing collected packages: a\n",
    ]


def test_a_terminal_sees_each_package_and_a_log_every_tenth() -> None:
    terminal, log = Terminal(), io.StringIO()

    said = shown(_lines(25), 25, terminal)
    shown(_lines(25), 25, log)

    assert said == _lines(25)
    assert "  7/25 package6" in terminal.getvalue()
    assert log.getvalue() == "  10/25\n  20/25\n  unpacking\n"


def test_a_failure_shows_what_pip_said_and_fails(tmp_path: Path) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text(f"nothing-of-this-name==1.0 --hash=sha256:{'0' * 64}\n")

    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(lock)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={"PATH": "", "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null"},
    )

    assert done.returncode != 0
    assert "nothing-of-this-name" in done.stderr


def _wheel(folder: Path, name: str, version: str, *metadata: str) -> str:
    """A package without a module; a line of a lock file that names it."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    head = "\n".join(["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *metadata])
    files = {f"{info}/METADATA": head, f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any"}
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in files.items():
            wheel.writestr(file, text + "\n")
        wheel.writestr(f"{info}/RECORD", "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"]))
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def test_a_newer_version_of_a_package_whose_extra_is_needed_does_not_matter(tmp_path: Path) -> None:
    needs_extra = _wheel(tmp_path, "outer", "1.0", "Requires-Dist: inner[more]>=1.0")
    locked = _wheel(tmp_path, "inner", "1.0", "Provides-Extra: more")
    _wheel(tmp_path, "inner", "1.1", "Provides-Extra: more")
    lock = tmp_path / "requirements.lock"
    lock.write_text(locked + needs_extra)
    target = tmp_path / "installed"

    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(lock)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={
            "PATH": "",
            "PIP_NO_INDEX": "1",
            "PIP_CONFIG_FILE": "/dev/null",
            "PIP_FIND_LINKS": str(tmp_path),
            "PIP_TARGET": str(target),
        },
    )

    assert done.returncode == 0, done.stderr
    assert (target / "inner-1.0.dist-info").is_dir()
