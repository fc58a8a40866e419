"""The wheel carries the pages: templates, texts, styles and scripts."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("transports/console/templates", "transports/console/static", "transports/rest/static")


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_pages(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300)
    names = set(ZipFile(next(tmp_path.glob("*.whl"))).namelist())

    files = [path for folder in FOLDERS for path in (ROOT / "src" / "dogubako" / folder).iterdir()]
    wanted = {str(path.relative_to(ROOT / "src")) for path in files} | {"dogubako/transports/console/texts.toml"}
    assert len(wanted) > 15
    assert wanted - names == set()
