"""The files for several servers, with compose and on Kubernetes, fit each other, their schemas and the code."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import kubernetes_validate
import pytest
import yaml

from dogubako._version import __version__
from dogubako.settings import Settings, Sources
from dogubako.transports.metrics import Metrics
from tests.certificates import CertificateAuthority

ROOT: Final = Path(__file__).parents[1]
REPLICAS: Final = ROOT / "deploy" / "replicas"
KUBERNETES: Final = ROOT / "deploy" / "kubernetes"
NGINX: Final = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
MANIFESTS: Final = ("dogubako.yaml", "secret.example.yaml", "valkey.yaml")
SERVERS: Final = ["dogubako-1", "dogubako-2", "dogubako-3"]


def _compose() -> Any:
    return yaml.safe_load((REPLICAS / "compose.yaml").read_text())["services"]


def _resources() -> list[Any]:
    return [one for name in MANIFESTS for one in yaml.safe_load_all((KUBERNETES / name).read_text())]


def _named(kind: str, name: str = "dogubako") -> Any:
    (found,) = [one for one in _resources() if (one["kind"], one["metadata"]["name"]) == (kind, name)]
    return found


def _settings() -> Settings:
    """The settings of a pod: those of a file for the server itself are checked by loading them."""
    environ = {**_named("ConfigMap")["data"], **_named("Secret")["stringData"]}
    return Sources(environ=environ, env_file=None).load()


@pytest.mark.parametrize("one", _resources(), ids=lambda one: f"{one['kind']} {one['metadata']['name']}")
@pytest.mark.parametrize("version", ["1.29", "1.34"])
def test_every_resource_has_the_form_that_kubernetes_expects(one: Any, version: str) -> None:
    kubernetes_validate.validate(one, version, strict=True)


def test_a_wrong_resource_would_be_noticed() -> None:
    wrong = _named("PodDisruptionBudget")
    wrong["spec"]["minAvailabel"] = wrong["spec"].pop("minAvailable")

    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, "1.34", strict=True)


def test_the_settings_of_a_pod_are_valid_and_it_has_the_time_to_end() -> None:
    settings, pod = _settings(), _named("Deployment")["spec"]["template"]["spec"]

    assert settings.shared is not None and settings.drain > 0
    assert pod["terminationGracePeriodSeconds"] >= settings.drain + settings.shutdown_grace + 15


def test_probes_ask_for_what_the_server_has() -> None:
    (container,) = _named("Deployment")["spec"]["template"]["spec"]["containers"]
    asked = {name: container[name]["httpGet"]["path"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}

    assert asked == {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
    assert container["ports"] == [{"name": "http", "containerPort": Settings().port}]
    assert container["image"].endswith(f":{__version__}")


def test_all_parts_of_the_deployment_select_the_same_pods() -> None:
    labels = {"app.kubernetes.io/name": "dogubako"}
    deployment, service, budget = _named("Deployment"), _named("Service"), _named("PodDisruptionBudget")

    assert deployment["spec"]["template"]["metadata"]["labels"] == labels
    assert deployment["spec"]["selector"]["matchLabels"] == service["spec"]["selector"] == labels
    assert budget["spec"]["selector"]["matchLabels"] == labels
    assert "replicas" not in deployment["spec"], "the autoscaler decides"
    assert budget["spec"]["minAvailable"] < _named("HorizontalPodAutoscaler")["spec"]["minReplicas"]


def test_the_autoscaler_reads_a_number_that_the_server_counts() -> None:
    (metric,) = _named("HorizontalPodAutoscaler")["spec"]["metrics"]
    (rule,) = yaml.safe_load((KUBERNETES / "prometheus-adapter.yaml").read_text())["rules"]["custom"]
    series = rule["seriesQuery"].partition("{")[0]
    text = Metrics(lambda name: True).text(enabled=1, disabled=0, checks=[])

    assert metric["pods"]["metric"]["name"] == rule["name"]["as"]
    assert f"# TYPE {series} counter" in text.decode()


def test_secrets_are_examples() -> None:
    values = [value for name in ("dogubako", "valkey") for value in _named("Secret", name)["stringData"].values()]

    assert values and all("CHANGE-ME" in value for value in values)


def test_compose_has_three_equal_servers_behind_a_proxy_and_a_lasting_valkey() -> None:
    services = _compose()
    first, second, third = (services[name] for name in SERVERS)
    environment = first["environment"]

    assert first == second == third and first["read_only"] is True and first["cap_drop"] == ["ALL"]
    assert not any("ports" in service for name, service in services.items() if name != "proxy")
    assert int(first["stop_grace_period"].removesuffix("s")) >= int(environment["DOGUBAKO_SHUTDOWN_GRACE"]) + 15
    assert services["proxy"]["depends_on"] == SERVERS
    assert {"--appendonly", "noeviction"} <= set(services["valkey"]["command"])


def test_the_image_can_use_redis() -> None:
    assert re.search(r"^redis==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)


def test_nginx_knows_all_servers_and_takes_the_file(tmp_path: Path) -> None:
    text = (REPLICAS / "nginx.conf").read_text()
    named = re.findall(r"server (dogubako-\d):3000 ", text)
    assert named == SERVERS and "proxy_buffering off" in text
    if NGINX is None:
        return
    # One file with the certificate and its key.
    CertificateAuthority(tmp_path).tls_for("localhost")
    pair = str(tmp_path / "localhost.pem")
    text = re.sub(r"dogubako-\d:3000", "127.0.0.1:3000", text)
    text = re.sub(r"/etc/nginx/certificates/\w+\.pem", pair, text)
    (tmp_path / "nginx.conf").write_text(f"pid {tmp_path}/pid; error_log stderr;\n{text}")
    command = [NGINX, "-t", "-p", str(tmp_path), "-e", "stderr", "-c", str(tmp_path / "nginx.conf")]
    tested = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert tested.returncode == 0, tested.stderr
