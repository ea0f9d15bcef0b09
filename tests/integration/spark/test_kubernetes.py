"""The manifests for Kubernetes against fabric8's types, which are made from its OpenAPI and come with PySpark."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from anabranch.cli.serve import launchers_of
from anabranch.config.context_file import parse
from anabranch.config.serve_file import ServeShape
from anabranch.model.cluster import ClusterContext
from anabranch.sandbox.jars import java_program
from tests.integration.spark.standalone import SPARK_HOME

pytestmark = pytest.mark.full
ROOT = Path(__file__).parents[3]
MANIFEST = ROOT / "deploy" / "kubernetes" / "link.yaml"
_MAIN = ROOT / "tests" / "java" / "Manifests.java"


def read(path: Path) -> list[str]:
    """What the types make of a manifest: its objects, and what they do not know."""
    command = [java_program(), "-XX:TieredStopAtLevel=1", "-cp", f"{SPARK_HOME}/jars/*", str(_MAIN), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_kubernetes_knows_each_kind_and_each_field() -> None:
    """None is misspelt, or of another version."""
    assert read(MANIFEST) == [
        "ServiceAccount anabranch",
        "Role anabranch",
        "RoleBinding anabranch",
        "ConfigMap anabranch-contexts",
        "Service anabranch-old-new",
        "Deployment anabranch-old-new",
    ]


def test_a_field_that_is_not_there_would_be_noticed(tmp_path: Path) -> None:
    """However deep it lies; and a kind of another version."""
    text = MANIFEST.read_text().replace("mountPath: /etc/anabranch/secrets", "mountpath: /etc/anabranch/secrets")
    other = tmp_path / "other.yaml"
    other.write_text(text.replace("apiVersion: apps/v1\n", "apiVersion: apps/v1beta9\n"))
    assert 'unknown kind "apps/v1beta9" "Deployment"' in read(other)
    other.write_text(text)
    assert any(line.endswith("/mountpath") for line in read(other))


def test_the_parts_of_the_manifest_fit_each_other() -> None:
    """Ports, names, the secret's files and the contexts; the driver's command is one that the program has."""
    objects: dict[str, Any] = {one["kind"]: one for one in yaml.safe_load_all(MANIFEST.read_text())}
    pod = objects["Deployment"]["spec"]["template"]
    (driver,) = pod["spec"]["containers"]
    conf = dict(one.removeprefix("--conf=").split("=", 1) for one in driver["args"] if one.startswith("--conf="))
    ports = {port["name"]: str(port["port"]) for port in objects["Service"]["spec"]["ports"]}
    assert (conf["spark.driver.port"], conf["spark.driver.blockManager.port"]) == (ports["driver"], ports["blocks"])
    assert conf["spark.driver.host"] == objects["Service"]["metadata"]["name"]
    assert pod["metadata"]["labels"].items() >= objects["Service"]["spec"]["selector"].items()
    assert conf["spark.kubernetes.container.image"] == driver["image"]
    assert pod["spec"]["serviceAccountName"] == objects["ServiceAccount"]["metadata"]["name"]
    (place,) = [one["mountPath"] for one in driver["volumeMounts"] if one["name"] == "secrets"]
    assert conf["spark.kubernetes.executor.secrets.anabranch-secrets"] == place
    _, contexts = parse(yaml.safe_load(objects["ConfigMap"]["data"]["contexts.yaml"]), Path("/etc/anabranch/c.yaml"))
    for context in contexts.values():
        login = context.security.login
        assert login is not None and Path(login.password.name).parent == Path(place)  # type: ignore[union-attr]


def test_the_images_user_has_a_home() -> None:
    """A number alone has the root directory for one, where Spark's log cannot be written."""
    lines = (MANIFEST.parent / "Dockerfile").read_text().splitlines()
    user = next(line.split()[1] for line in lines if line.startswith("USER "))
    made = next((line for line in lines if line.startswith("RUN useradd ")), "")
    assert f"--uid {user} " in made and "--create-home" in made
    assert lines.index(made) < lines.index(f"USER {user}")


def test_the_program_takes_the_drivers_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each option by its name."""
    from typer.testing import CliRunner

    from anabranch.cli.app import app

    objects = {one["kind"]: one for one in yaml.safe_load_all(MANIFEST.read_text())}
    contexts = tmp_path / "contexts.yaml"
    contexts.write_text(objects["ConfigMap"]["data"]["contexts.yaml"])
    (driver,) = objects["Deployment"]["spec"]["template"]["spec"]["containers"]
    asked: list[str] = []

    @asynccontextmanager
    async def opened(context: ClusterContext) -> AsyncIterator[ClusterContext]:
        yield context

    async def show(target: ClusterContext, link: str) -> Any:
        asked.append(f"{target.name} {link}")
        raise KeyError(link)

    monkeypatch.setattr("anabranch.kafka.security.open_cluster", opened)
    monkeypatch.setattr("anabranch.operations.links.show.show", show)
    arguments = [one.replace("/etc/anabranch/contexts.yaml", str(contexts)) for one in driver["args"]]
    done = CliRunner().invoke(app, arguments)
    assert asked == ["new old-new"], done.output


def test_the_template_of_executors_of_streams_fits_its_type_and_the_launcher(tmp_path: Path) -> None:
    """Each field is one of a pod; the driver's command names the template, and the container is Spark's own."""
    template = MANIFEST.parent / "stream-executor.yaml"
    assert read(template) == ["Pod null"]
    pod = yaml.safe_load(template.read_text())["spec"]
    (container,) = pod["containers"]
    assert container["name"] == "spark-kubernetes-executor", "another one is Spark's to find by a setting"
    assert {one["name"] for one in container["volumeMounts"]} == {one["name"] for one in pod["volumes"]}
    guide = (ROOT / "docs" / "how-to" / "run-streams-on-a-cluster.md").read_text()
    (entry,) = [one for one in yaml_blocks(guide) if "kubernetes" in str(one)]
    (tmp_path / "stream-executor.yaml").write_text(template.read_text())
    launcher = launchers_of(ServeShape.model_validate(entry), tmp_path)["pods"]
    settings = launcher.submission.sent_settings
    assert settings["spark.kubernetes.executor.podTemplateFile"] == str(tmp_path / "stream-executor.yaml")
    assert launcher.submission.master.startswith("k8s://https://")
    (place,) = [one["mountPath"] for one in container["volumeMounts"] if one["name"] == "checkpoints"]
    assert launcher.place("s", 1, tmp_path).startswith(f"file://{place}/")


def yaml_blocks(text: str) -> list[Any]:
    """What the blocks of YAML in a page say."""
    return [yaml.safe_load(block.partition("```")[0]) for block in text.split("```yaml\n")[1:]]
