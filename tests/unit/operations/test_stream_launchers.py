"""Launchers of streams: what each kind makes of what a person writes, and what it refuses before anything starts."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from anabranch.cli.serve import launchers_of
from anabranch.config.serve_file import ServeShape
from anabranch.config.streamspec import StreamRunSpec
from anabranch.errors import InvalidFieldError
from anabranch.model.cluster import ClusterContext, PasswordLogin, SaslMechanism, Security, SecurityProtocol
from anabranch.model.secrets import SecretKind, SecretRef
from anabranch.operations.jobs import streamjob
from anabranch.operations.jobs.stream_launchers import (
    LauncherFields,
    LauncherKind,
    NoLauncherError,
    StreamLauncher,
    default_launcher,
    launcher_of,
)
from anabranch.service.job_settings import JobSettings

pytestmark = pytest.mark.unit
KUBE = "k8s://https://h:6443"
QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "WARN"}
IMAGE = {"spark.kubernetes.container.image": "registry.example/anabranch:1"}
SHARED = "hdfs://names/anabranch"


def remote(kind: LauncherKind, master: str = "", **more: Any) -> LauncherFields:
    """Fields of a launcher with executors elsewhere."""
    return LauncherFields(kind, master, checkpoints=SHARED, **more)


@pytest.mark.parametrize(
    ("given", "master", "settings"),
    [
        (LauncherFields(LauncherKind.LOCAL), "local[2]", {}),
        (LauncherFields(LauncherKind.LOCAL, "local[4, 8]"), "local[4, 8]", {}),
        (remote(LauncherKind.STANDALONE, "spark://h:7077"), "spark://h:7077", {"spark.cores.max": "2", **QUIET}),
        (remote(LauncherKind.YARN), "yarn", {"spark.yarn.am.clientModeExitOnError": "true", **QUIET}),
        (
            remote(LauncherKind.KUBERNETES, "k8s://https://h:6443", settings=IMAGE),
            "k8s://https://h:6443",
            IMAGE | QUIET,
        ),
    ],
)
def test_each_kind_has_its_master_and_its_settings(given: LauncherFields, master: str, settings: object) -> None:
    """Where the person states none."""
    made = launcher_of("big", given, {})
    assert (made.submission.master, dict(made.submission.settings)) == (master, settings)


def test_what_a_launcher_states_wins_over_the_service_and_that_over_the_kind() -> None:
    """L2."""
    given = remote(LauncherKind.STANDALONE, "spark://h:7077", settings={"spark.executor.memory": "4g"})
    common = {"spark.executor.memory": "1g", "spark.cores.max": "6", "spark.x": "y"}
    found = launcher_of("big", given, common).submission.settings
    assert (found["spark.executor.memory"], found["spark.cores.max"], found["spark.x"]) == ("4g", "6", "y")


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        (LauncherFields(LauncherKind.LOCAL, "spark://h:7077"), "master", "no master of kind local"),
        (remote(LauncherKind.STANDALONE), "master", "a master is needed"),
        (remote(LauncherKind.YARN, "spark://h:7077"), "master", "no master of kind yarn"),
        (LauncherFields(LauncherKind.YARN), "checkpoints", "reach no directory of this machine"),
        (remote(LauncherKind.YARN, in_cluster=True), "deploy_mode", "the driver of a stream runs on the service's"),
        (remote(LauncherKind.KUBERNETES, KUBE), "spark", "executors have no image"),
        (remote(LauncherKind.YARN, archive=Path("/none.tar.gz")), "archive", "there is no file /none.tar.gz"),
        (remote(LauncherKind.YARN, files=(Path("/none"),)), "files", "there is no file /none"),
        (remote(LauncherKind.YARN, hadoop=Path("/none")), "hadoop", "there is no directory /none"),
        (remote(LauncherKind.YARN, pod_template=Path("/none")), "pod_template", "kind yarn has no pods"),
        (
            remote(LauncherKind.KUBERNETES, "k8s://h:1", settings=IMAGE, pod_template=Path("/none")),
            "pod_template",
            "there is no file /none",
        ),
        (LauncherFields(LauncherKind.LOCAL, archive=Path("/x.tar.gz")), "archive", "tasks run in the driver's process"),
    ],
)
def test_what_is_wrong_is_named_with_its_field_and_the_way_out(given: LauncherFields, field: str, words: str) -> None:
    """As the service reads its file: nothing starts with it."""
    with pytest.raises(InvalidFieldError) as raised:
        launcher_of("big", given, {})
    assert raised.value.field == f"launchers.big.{field}"
    assert words in raised.value.problem and raised.value.fix


def test_checkpoints_are_below_the_launchers_storage_or_beside_the_job(tmp_path: Path) -> None:
    """A directory is named as one of this file system, whatever Spark's default is."""
    here = tmp_path / "streams" / "s"
    assert default_launcher("local[2]", {}).place("s", 7, here) == f"{here}/checkpoints-7"
    for root, place in (
        ("/mnt/shared", "file:///mnt/shared/s/checkpoints-7"),
        ("file:///mnt/shared/", "file:///mnt/shared/s/checkpoints-7"),
        ("s3a://bucket/x", "s3a://bucket/x/s/checkpoints-7"),
        ("hdfs:///x", "hdfs:///x/s/checkpoints-7"),
    ):
        made = launcher_of("big", replace(remote(LauncherKind.YARN), checkpoints=root), {})
        assert made.place("s", 7, here) == place


def test_an_unknown_launcher_is_told_with_those_that_there_are() -> None:
    """The nearest is the one of the command."""
    big = launcher_of("big", remote(LauncherKind.YARN), {})
    jobs = JobSettings("local[*,8]", "local[3]", Path("/x"), {"spark.x": "y"}, {"big": big})
    assert jobs.launcher("big") is big
    assert jobs.launcher("default").submission.master == "local[3]"
    assert jobs.launcher("default").submission.settings == {"spark.x": "y"}
    with pytest.raises(NoLauncherError, match="no launcher 'bog'; there is default, big") as raised:
        jobs.launcher("bog")
    assert "--launcher big" in raised.value.hint and raised.value.exit_code == 2


def test_the_services_file_has_launchers_by_name(tmp_path: Path) -> None:
    """Paths are relative to it; its own is not defined again."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "env.tar.gz").touch()
    lake = {"kind": "yarn", "checkpoints": "ck", "hadoop": "conf", "archive": "env.tar.gz", "spark": {"spark.a": "1"}}
    shape = ServeShape.model_validate({"spark": {"spark.b": "2"}, "launchers": {"lake": lake}})
    made = launchers_of(shape, tmp_path)["lake"]
    assert made.checkpoints == str(tmp_path / "ck") and made.submission.archive == tmp_path / "env.tar.gz"
    assert made.variables == dict.fromkeys(("HADOOP_CONF_DIR", "YARN_CONF_DIR"), str(tmp_path / "conf"))
    assert {"spark.a": "1", "spark.b": "2"}.items() <= made.submission.settings.items()
    with pytest.raises(InvalidFieldError, match=r"launchers\.default"):
        launchers_of(ServeShape.model_validate({"launchers": {"default": {"kind": "local"}}}), tmp_path)


def test_a_job_is_started_with_what_its_launcher_sends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Archive and secrets by the same relative path on driver and executors; Hadoop's settings in the environment."""
    for name in ("env.tar.gz", "old.password"):
        (tmp_path / name).write_text("x")
    started: list[tuple[list[str], dict[str, Any]]] = []
    monkeypatch.setattr(streamjob, "check", lambda *_: None)
    monkeypatch.setattr(streamjob, "check_reader", lambda _, settings: {**settings, "spark.jars": "/k.jar"})
    monkeypatch.setattr(subprocess, "Popen", lambda command, **more: started.append((command, more)))
    given = remote(LauncherKind.YARN, archive=tmp_path / "env.tar.gz", files=(tmp_path / "old.password",))
    launcher = launcher_of("lake", replace(given, hadoop=tmp_path), {})
    password = SecretRef(SecretKind.FILE, str(tmp_path / "old.password"))
    login = PasswordLogin(SaslMechanism.PLAIN, "ann", password)
    secured = ClusterContext("old", ("o:1",), Security(SecurityProtocol.SASL_PLAINTEXT, None, login))
    spec = StreamRunSpec("s", 1, "run-1", 1, "SELECT 1", "hdfs:///x", {"old": secured})

    def start(one: StreamLauncher, directory: Path) -> tuple[list[str], dict[str, Any]]:
        streamjob.start_detached(spec, one, directory)
        return started[-1]

    command, more = start(launcher, tmp_path / "jobs")
    conf = dict(word.split("=", 1) for flag, word in pairwise(command) if flag == "--conf")
    assert command[:4] == [sys.executable, "-m", streamjob.MODULE, str(tmp_path / "jobs" / "run-1.json")]
    assert command[command.index("--master") + 1] == "yarn"
    assert conf["spark.files"] == (tmp_path / "old.password").as_uri()
    assert conf["spark.archives"].endswith("env.tar.gz#environment") and conf["spark.jars"] == "/k.jar"
    assert more["cwd"] == tmp_path / "jobs" / "run-1.work"
    assert (more["cwd"] / "old.password").read_text() == "x"
    assert more["env"]["PYSPARK_PYTHON"] == "./environment/bin/python"
    assert more["env"]["HADOOP_CONF_DIR"] == str(tmp_path)
    assert '"old.password"' in (tmp_path / "jobs" / "run-1.json").read_text()

    command, more = start(default_launcher("local[2]", {}), tmp_path / "others")
    assert more["cwd"] is None and more["env"]["PYSPARK_PYTHON"] == sys.executable
