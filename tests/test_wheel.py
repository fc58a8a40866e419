"""The built wheel works outside of the checkout: commands, the sandbox, the console, and an entry of a client."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
PATIENCE: Final = 240
# What is no Python, and what would be missed only when somebody needs it.
DATA: Final = (
    "dogubako/transports/console/templates/",
    "dogubako/transports/console/static/",
    "dogubako/engine/search/table/",
    "dogubako_sandbox/n8n/recordings/",
    "dogubako_sandbox/redmine/world.json",
    "dogubako/py.typed",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "-w",
        str(folder),
    ]
    subprocess.run([*command, str(ROOT)], check=True, capture_output=True, timeout=PATIENCE)
    [built] = folder.glob("dogubako-*.whl")
    return built


@pytest.fixture(scope="module")
def program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`dogubako` of an environment that has the wheel, and everything else from the environment of the tests."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    [packages] = folder.glob("lib/python*/site-packages")
    target = ["--no-deps", "--no-index", "--target", str(packages)]
    command = [sys.executable, "-m", "pip", "install", "--quiet", *target, str(wheel)]
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
    ours = next(path for path in sys.path if path.endswith("site-packages"))
    # Read after the packages of the environment, so the wheel counts and not the checkout.
    (packages / "packages_of_the_tests.pth").write_text(f"{ours}\n")
    script = folder / "bin" / "dogubako"
    script.write_text(f"#!{folder}/bin/python\nfrom dogubako.__main__ import main\nmain()\n")
    script.chmod(0o755)
    return script


def _run(program: Path, *words: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    environment = {"HOME": str(folder), "PATH": os.environ["PATH"], "PYTHONUTF8": "1", "LANG": "C.UTF-8"}
    return subprocess.run(
        [program, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


@pytest.mark.slow
def test_the_wheel_holds_every_kind_of_data(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert [one for one in DATA if not any(name.startswith(one) for name in names)] == []
    assert not any(name.startswith(("tests/", "bench/", "scripts/")) for name in names)


@pytest.mark.slow
def test_the_installed_program_is_the_one_of_the_wheel_and_plays_the_tour(program: Path, tmp_path: Path) -> None:
    code = "import dogubako, sys; sys.stdout.write(dogubako.__file__)"
    where = subprocess.run(
        [program.with_name("python"), "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        timeout=PATIENCE,
    )
    tour = _run(program, "demo", "--play", folder=tmp_path)

    assert where.stdout.startswith(str(program.parents[1]))
    assert tour.returncode == 0 and "That was the tour" in tour.stdout, tour.stderr


@pytest.mark.slow
def test_a_client_that_is_connected_from_elsewhere_sees_the_tools(program: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "dogubako.toml").write_text('sandbox = true\ndiscovery = "full"\n')
    connected = _run(program, "connect", "cursor", "--write", folder=project)

    assert connected.returncode == 0, connected.stderr
    count = int(connected.stderr.partition("lists ")[2].split()[0])
    assert count > 100, "the tools of the services that the folder configures"
    assert (project / ".cursor" / "mcp.json").is_file()
