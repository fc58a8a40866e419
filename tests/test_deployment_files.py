"""The files for containers, services and registries agree with the code that they start."""

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any, Final

import click
import pytest
import yaml
from pydantic import BaseModel

from dogubako._version import __version__
from dogubako.cli import app
from dogubako.contract.pack import env_name, has_tables
from dogubako.packs import PACKS
from dogubako.settings import Settings

ROOT: Final = Path(__file__).parents[1]
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _variables() -> set[str]:
    models: list[type[BaseModel]] = [Settings, *(pack.settings for pack in PACKS)]
    return {env_name(one, name) for one in models for name in one.model_fields if not has_tables(one, name)}


def _dockerfile() -> str:
    return (ROOT / "Dockerfile").read_text()


def _compose() -> Any:
    return yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())


def test_the_image_runs_without_rights_and_knows_its_health() -> None:
    last_stage = _dockerfile().rpartition("\nFROM ")[2]

    assert re.search(r"^USER dogubako$", last_stage, re.MULTILINE) and "HEALTHCHECK" in last_stage
    assert "/healthz" in last_stage and 'CMD ["serve"]' in last_stage
    assert "DOGUBAKO_AUTH=keys" in last_stage, "others can reach a container, so it requires keys"


def test_everything_that_the_image_copies_exists_and_is_not_ignored() -> None:
    copied = [
        word for line in re.findall(r"^COPY (?!--from)(.*)$", _dockerfile(), re.MULTILINE) for word in line.split()[:-1]
    ]
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}

    assert copied and all((ROOT / one).exists() for one in copied)
    assert set(copied) == allowed


@pytest.mark.parametrize(
    "file",
    [
        "Dockerfile",
        "deploy/compose.yaml",
        "deploy/dogubako.service",
        "deploy/kubernetes/dogubako.yaml",
        "deploy/kubernetes/secret.example.yaml",
        "deploy/replicas/compose.yaml",
        "server.json",
    ],
)
def test_every_setting_that_a_file_names_exists(file: str) -> None:
    named = set(re.findall(r"\b(?:DOGUBAKO|N8N|REDMINE|LOG|SEARXNG|BRAVE)_[A-Z0-9_]+\b", (ROOT / file).read_text()))
    assert named and named <= _variables()


def test_the_proxy_of_compose_has_tls_and_nothing_else_is_published() -> None:
    services = _compose()["services"]

    assert services["proxy"]["ports"] == ["80:80", "443:443"]
    assert not any("ports" in service for name, service in services.items() if name != "proxy")
    assert "flush_interval -1" in (ROOT / "deploy" / "Caddyfile").read_text(), "streams must not be buffered"
    assert services["dogubako"]["cap_drop"] == ["ALL"] and services["dogubako"]["read_only"] is True


def test_the_unit_is_valid_for_systemd(tmp_path: Path) -> None:
    unit = (ROOT / "deploy" / "dogubako.service").read_text()
    assert "ExecStart=/opt/dogubako/bin/dogubako serve" in unit and "DynamicUser=yes" in unit
    if shutil.which("systemd-analyze") is None:
        return
    # It looks for the program, which is not installed there.
    copy = tmp_path / "dogubako.service"
    copy.write_text(unit.replace("/opt/dogubako/bin/dogubako", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, check=False)
    assert "dogubako.service" not in done.stderr, done.stderr


def test_the_registry_entry_names_this_version_and_the_readme_names_the_entry() -> None:
    entry = json.loads((ROOT / "server.json").read_text())

    assert PROJECT["version"] == __version__ == entry["version"] == entry["packages"][0]["version"]
    assert entry["packages"][0]["identifier"] == PROJECT["name"]
    assert len(entry["description"]) <= 100, "the registry takes no more"
    for readme in ("README.md", "README.ja.md"):
        assert f"mcp-name: {entry['name']}" in (ROOT / readme).read_text(encoding="utf-8")


def test_forks_test_every_python_that_we_name() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    named = {one.rpartition(" :: ")[2] for one in PROJECT["classifiers"] if "Python :: 3." in one}

    assert set(workflow["jobs"]["test"]["strategy"]["matrix"]["python"]) == named


def test_the_commands_of_the_files_exist() -> None:
    assert {"serve", "stdio", "demo", "connect", "disconnect", "doctor"} <= set(app.list_commands(click.Context(app)))
