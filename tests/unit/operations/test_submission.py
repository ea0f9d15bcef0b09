"""How a link's job is handed to a cluster: the command, and what is sent along."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from anabranch.config.jobspec import LinkJob
from anabranch.errors import InvalidFieldError
from anabranch.model.cluster import (
    ClusterContext,
    PasswordLogin,
    SaslMechanism,
    Security,
    SecurityProtocol,
    Tls,
)
from anabranch.model.runevents import LogFormat
from anabranch.model.secrets import SecretKind, SecretRef
from anabranch.operations.jobs.launcher import job_spec
from anabranch.operations.jobs.submission import (
    JOB,
    NoFileToSendError,
    NoSparkSubmitError,
    NothingToImportError,
    Submission,
)

pytestmark = pytest.mark.unit


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A directory with what can be sent."""
    for name in ("env.tar.gz", "old.password", "ca.pem", "run.json"):
        (tmp_path / name).write_text(name)
    return tmp_path


def secured(here: Path) -> ClusterContext:
    """A cluster with a password and an authority of its own, both files."""
    password = SecretRef(SecretKind.FILE, str(here / "old.password"))
    login = PasswordLogin(SaslMechanism.PLAIN, "ann", password)
    tls = Tls(ca_file=str(here / "ca.pem"), cert_file="/mnt/cert.pem", key_file="/mnt/key.pem")
    return ClusterContext("old", ("o:1",), Security(SecurityProtocol.SASL_SSL, tls, login))


def conf(command: list[str]) -> dict[str, str]:
    """The settings in a command."""
    return dict(word.split("=", 1) for flag, word in pairwise(command) if flag == "--conf")  # type: ignore[misc]


def test_a_driver_here_and_its_executors_run_the_same_path(here: Path) -> None:
    """Spark has one path of Python for both: executors unpack the archive there, the driver finds its own Python."""
    how = Submission("yarn", {"spark.executor.cores": "2"}, here / "env.tar.gz", (here / "old.password",))
    command = how.command(here / "run.json")
    assert command[:6] == [sys.executable, "-m", JOB, str(here / "run.json"), "--master", "yarn"]
    assert conf(command) == {
        "spark.executor.cores": "2",
        "spark.files": (here / "old.password").as_uri(),
        "spark.archives": f"{(here / 'env.tar.gz').as_uri()}#environment",
    }
    python = how.variables()["PYSPARK_PYTHON"]
    place = here / "work"
    place.mkdir()
    how.lay_out(place)
    assert (place / "old.password").read_text() == "old.password"
    assert os.access(place / python, os.X_OK) and sys.executable in (place / python).read_text()


def test_a_driver_in_the_cluster_is_given_its_specification_and_the_archive(here: Path) -> None:
    """By spark-submit, with what the caller set left as it is."""
    how = Submission("yarn", {"spark.files": "hdfs:///x"}, here / "env.tar.gz", in_cluster=True)
    command = how.command(here / "run.json")
    assert command[0].endswith("bin/spark-submit") and command[1:5] == ["--master", "yarn", "--deploy-mode", "cluster"]
    assert command[-2].endswith("anabranch/spark/jobs/link.py") and command[-1] == "run.json"
    assert conf(command) == {
        "spark.files": f"hdfs:///x,{(here / 'run.json').as_uri()}",
        "spark.archives": f"{(here / 'env.tar.gz').as_uri()}#environment",
        "spark.pyspark.python": "./environment/bin/python",
        "spark.yarn.appMasterEnv.PYTHONSAFEPATH": "1",
    }
    assert how.variables() == {}


def test_a_driver_in_the_cluster_is_told_what_the_user_states_of_its_own_settings(here: Path) -> None:
    """It sets them over those of spark-submit; what spark-submit resolves, such as files, is not told again."""
    state = {"spark.dynamicAllocation.enabled": "true", "spark.files": "hdfs:///x", "spark.executor.cores": "2"}
    command = Submission("yarn", state, in_cluster=True).command(here / "run.json")
    assert command[command.index("run.json") + 1 :] == ["--conf", "spark.dynamicAllocation.enabled=true"]


def test_a_driver_in_the_cluster_imports_nothing_from_its_working_directory(here: Path) -> None:
    """As one here; a user who wants it otherwise can say so."""
    name = "spark.kubernetes.driverEnv.PYTHONSAFEPATH"
    for state, safe in (({}, "1"), ({name: ""}, "")):
        command = Submission("k8s://https://h:6443", state, in_cluster=True).command(here / "run.json")
        assert conf(command)[name] == safe


def test_a_spark_home_without_spark_is_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As any other variable that is wrong."""
    monkeypatch.setenv("SPARK_HOME", str(here))
    with pytest.raises(NoSparkSubmitError, match=r"there is no program .*bin/spark-submit") as raised:
        Submission("yarn", in_cluster=True).command(here / "run.json")
    assert raised.value.exit_code == 2 and "SPARK_HOME" in raised.value.hint


def test_a_stated_interpreter_is_what_executors_run(here: Path) -> None:
    """Without an archive: an installation that is on each machine."""
    how = Submission("spark://h:7077", {"spark.pyspark.python": "/opt/anabranch/bin/python"})
    assert how.variables() == {
        "PYSPARK_PYTHON": "/opt/anabranch/bin/python",
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    assert Submission("local[2]").variables()["PYSPARK_PYTHON"] == sys.executable


def test_files_that_are_sent_are_named_without_their_directory(here: Path) -> None:
    """They lie in the working directory of whoever reads them; other files stay where the context says."""
    how = Submission("yarn", files=(here / "old.password", here / "ca.pem"))
    sent = how.sent(secured(here))
    login, tls = sent.security.login, sent.security.tls
    assert isinstance(login, PasswordLogin) and login.password.name == "old.password"
    assert tls == Tls(ca_file="ca.pem", cert_file="/mnt/cert.pem", key_file="/mnt/key.pem")
    assert how.sent(ClusterContext("new", ("n:1",))) == ClusterContext("new", ("n:1",))
    read = LinkJob.from_json(job_spec(sent, sent, "l", 60.0))
    assert read.source == sent, "a specification keeps them as they are, in whatever directory it is read"


def test_a_file_is_known_by_whatever_path_names_it(here: Path) -> None:
    """A context's paths are as they were written: with `..`, or through a link."""
    (here / "base").mkdir()
    (here / "mounted").symlink_to(here)
    password = SecretRef(SecretKind.FILE, str(here / "base" / ".." / "old.password"))
    login = PasswordLogin(SaslMechanism.PLAIN, "ann", password)
    tls = Tls(ca_file=str(here / "mounted" / "ca.pem"))
    context = ClusterContext("old", ("o:1",), Security(SecurityProtocol.SASL_SSL, tls, login))
    how = Submission("yarn", files=(here / "old.password", here / "ca.pem"))
    security = how.sent(context).security
    assert isinstance(security.login, PasswordLogin) and security.login.password.name == "old.password"
    assert security.tls == Tls(ca_file="ca.pem")
    how.check_named(context)


def test_a_file_that_no_context_names_is_refused(here: Path) -> None:
    """It would be sent for nothing, and what was meant would be missing there."""
    contexts = secured(here), ClusterContext("new", ("n:1",))
    Submission("yarn", files=(here / "ca.pem",)).check_named(*contexts)
    with pytest.raises(InvalidFieldError, match=r"no context \(old and new\) names .*run\.json"):
        Submission("yarn", files=(here / "ca.pem", here / "run.json")).check_named(*contexts)


def test_what_cannot_be_sent_is_refused(here: Path) -> None:
    """Before anything is started."""
    with pytest.raises(NoFileToSendError, match="--archive: there is no file") as raised:
        Submission("yarn", archive=here / "none.tar.gz").check()
    assert raised.value.hint.startswith("anabranch link package --out ")
    with pytest.raises(NoFileToSendError, match="--file: there is no file"):
        Submission("yarn", files=(here / "none",)).check()
    (here / "b").mkdir()
    (here / "b" / "ca.pem").write_text("another")
    with pytest.raises(InvalidFieldError, match=r"two files are named ca\.pem"):
        Submission("yarn", files=(here / "ca.pem", here / "b" / "ca.pem")).check()
    with pytest.raises(InvalidFieldError, match="starts no Python driver"):
        Submission("spark://h:7077", in_cluster=True).check()
    Submission("k8s://https://h:6443", in_cluster=True).check()


def test_a_driver_on_yarn_is_refused_without_a_python_that_has_anabranch(here: Path) -> None:
    """It would end in a container, whose output alone says why."""
    with pytest.raises(NothingToImportError, match="a container of YARN has no Anabranch") as raised:
        Submission("yarn", {"spark.executor.memory": "2g"}, in_cluster=True).check()
    assert raised.value.exit_code == 2
    assert "anabranch link package --out anabranch-env.tar.gz" in raised.value.hint
    Submission("yarn", archive=here / "env.tar.gz", in_cluster=True).check()
    for name in ("spark.pyspark.python", "spark.yarn.dist.archives", "spark.archives"):
        Submission("yarn", {name: "x"}, in_cluster=True).check()
    Submission("yarn").check()


def test_each_start_of_one_specification_is_a_run_of_its_own() -> None:
    """A cluster starts a driver a second time with the same file, while workers of the first may still copy."""
    cluster = ClusterContext("old", ("o:1",))
    job = LinkJob.from_json(job_spec(cluster, cluster, "l", 60.0))
    first, second = job.named(), job.named()
    assert first.run and second.run and first.run != second.run
    assert first.named() == first, "a run that has a name keeps it"


def test_a_driver_is_started_where_its_files_are(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And in the caller's directory where nothing is sent: settings may have relative paths."""
    from anabranch.operations.jobs import launcher

    places = []
    commands = []

    def popen(command: list[str], *, cwd: Path | None, **_: object) -> None:
        places.append(cwd)
        commands.append(command)

    monkeypatch.setattr(subprocess, "Popen", popen)
    monkeypatch.setattr(launcher, "check", lambda _: None)
    cluster = secured(here)
    files = (here / "ca.pem",)
    hows = (Submission("yarn", files=files), Submission("yarn"), Submission("k8s://h:1", files=files, in_cluster=True))
    for name, how in zip("abc", hows, strict=True):
        (here / name).mkdir()
        launcher.start_link(cluster, cluster, "l", how, 60.0, here / name, LogFormat.JSON)
    sent = next((here / "a").glob("run-*.json"))
    assert places == [sent.with_suffix(""), None, None], "no driver is here that would read them"
    assert commands[2][-2:] == ["--log-format", "json"], "a driver in the cluster writes its events as here"
    assert '"ca_file": "ca.pem"' in sent.read_text()
