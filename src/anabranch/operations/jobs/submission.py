"""How a job reaches a cluster: the command, and what is sent along for the machines that copy.

In client mode the driver is a process here and only tasks run on executors; in cluster mode ``spark-submit`` has the
cluster start the driver too.  What is sent has the same relative path everywhere, since Spark runs one path of
Python on driver and executors, and a job's specification names one path of a file: Spark puts it into the working
directory of each executor, and ``lay_out`` into that of a driver here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from anabranch.config.jobsettings import ALWAYS, SAFE_PATH, STATED_PYTHON
from anabranch.errors import ConfigError, InvalidFieldError
from anabranch.jars.spark_home import package_directory, spark_home
from anabranch.model.cluster import ClusterContext
from anabranch.operations.jobs import environment
from anabranch.operations.jobs.contextpaths import paths, with_paths

JOB = "anabranch.spark.jobs.link"
ENVIRONMENT = "environment"
_PYTHON = f"./{ENVIRONMENT}/{environment.PYTHON}"
_FILES, _ARCHIVES = "spark.files", "spark.archives"
_DRIVERS_YARN, _DRIVERS_KUBERNETES = "spark.yarn.appMasterEnv", "spark.kubernetes.driverEnv"
"""What the environment of a driver in the cluster is set by."""
_SENT_TO_YARN = (
    STATED_PYTHON,
    _ARCHIVES,
    "spark.pyspark.driver.python",
    "spark.submit.pyFiles",
    "spark.yarn.dist.archives",
    "spark.yarn.dist.pyFiles",
    f"{_DRIVERS_YARN}.PYSPARK_PYTHON",
    f"{_DRIVERS_YARN}.YARN_CONTAINER_RUNTIME_TYPE",
)
"""Settings that may give a container of YARN a Python with Anabranch; what they give it is not looked at."""


@dataclass(eq=False)
class NothingToImportError(ConfigError):
    """A driver in a container of YARN would find no Anabranch there, and say so in the container's output alone."""

    _message = "--deploy-mode cluster: a container of YARN has no Anabranch; neither an archive nor a Python is given"

    @property
    def hint(self) -> str:
        out = "anabranch-env.tar.gz"
        return (
            f"anabranch link package --out {out}, then --archive {out}; "
            f"or name a Python that has it on each node: --conf {STATED_PYTHON}=PATH"
        )


@dataclass(eq=False)
class NoFileToSendError(ConfigError):
    """A file that is to be sent to the cluster is not there."""

    path: str
    flag: str

    _message = "{flag}: there is no file {path}"

    @property
    def hint(self) -> str:
        return f"anabranch link package --out {self.path}" if self.flag == "--archive" else "correct the path"


@dataclass(eq=False)
class NoSparkSubmitError(ConfigError):
    """The program that has a cluster start the driver is not there, or may not be run."""

    path: str

    _message = "there is no program {path}"
    _hint = "name Spark's directory, or have PySpark's own: unset SPARK_HOME"


@dataclass(frozen=True, slots=True)
class Submission:
    """Spark's master and settings, an archive of ``anabranch link package``, and files that driver and executors read.

    ``files`` replace, by their names, the paths that contexts give for them.
    """

    master: str
    settings: Mapping[str, str] = field(default_factory=dict)
    archive: Path | None = None
    files: tuple[Path, ...] = ()
    in_cluster: bool = False

    def check(self) -> None:
        """Raise a ConfigError: a file is not there, two have one name, or the cluster could not start the driver."""
        for flag, path in (("--archive", self.archive), *(("--file", path) for path in self.files)):
            if path is not None and not path.is_file():
                raise NoFileToSendError(str(path), flag)
        names = [path.name for path in self.files]
        for name in names:
            if names.count(name) > 1:
                raise InvalidFieldError("Spark", "--file", f"two files are named {name}", "give them other names")
        if self.in_cluster and self.master != "yarn" and not self.master.startswith("k8s://"):
            fix = "leave --deploy-mode out: the driver runs here"
            raise InvalidFieldError("Spark", "--deploy-mode", f"{self.master} starts no Python driver", fix)
        has_python = self.archive is not None or not self.settings.keys().isdisjoint(_SENT_TO_YARN)
        if self.in_cluster and self.master == "yarn" and not has_python:
            raise NothingToImportError

    def command(self, spec: Path) -> list[str]:
        """What starts the job whose specification this file has, to which the job's own options can be appended.

        Raises NoSparkSubmitError.
        """
        if not self.in_cluster:
            return [sys.executable, "-m", JOB, str(spec), "--master", self.master, *_flags(self.sent_settings)]
        program = spark_home() / "bin" / "spark-submit"
        if not os.access(program, os.X_OK):
            raise NoSparkSubmitError(str(program))
        settings = _flags(self._all((spec,)))
        job = package_directory("anabranch") / "spark" / "jobs" / "link.py"
        # The driver sets these itself, over the settings of spark-submit: so it gets what the user has set.
        stated = _flags({name: value for name, value in self.settings.items() if name in ALWAYS})
        submit = [str(program), "--master", self.master, "--deploy-mode", "cluster", *settings]
        return [*submit, str(job), spec.name, *stated]

    @property
    def sent_settings(self) -> dict[str, str]:
        """The settings with what sends archive and files to executors, for a driver here."""
        return self._all(())

    def variables(self) -> dict[str, str]:
        """The environment that the command needs."""
        if self.in_cluster:
            return {}
        python = self.settings.get(STATED_PYTHON, sys.executable) if self.archive is None else _PYTHON
        return {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": sys.executable}

    def lay_out(self, directory: Path) -> None:
        """Have a driver that is started in this directory find there what executors find in theirs."""
        for file in self.files:
            (directory / file.name).symlink_to(file.absolute())
        if self.archive is not None:
            python = directory / _PYTHON
            python.parent.mkdir(parents=True)
            python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
            python.chmod(0o700)

    def sent(self, context: ClusterContext) -> ClusterContext:
        """The context as driver and executors read it: files that are sent by their names alone."""
        names = {os.path.realpath(path): path.name for path in self.files}
        return with_paths(context, lambda path: names.get(os.path.realpath(path), path))

    def check_named(self, *contexts: ClusterContext) -> None:
        """Raise InvalidFieldError where a file is to be sent that no context reads."""
        named = {os.path.realpath(path) for context in contexts for path in paths(context)}
        for path in self.files:
            if os.path.realpath(path) not in named:
                fix = f"name it there (password_file, ...), or leave it out: anabranch context show {contexts[0].name}"
                names = " and ".join(context.name for context in contexts)
                raise InvalidFieldError("Spark", "--file", f"no context ({names}) names {path}", fix)

    def _all(self, more: tuple[Path, ...]) -> dict[str, str]:
        settings = dict(self.settings)
        if files := [path.absolute().as_uri() for path in (*self.files, *more)]:
            settings[_FILES] = ",".join(filter(None, [settings.get(_FILES, ""), *files]))
        if self.archive is not None:
            archive = f"{self.archive.absolute().as_uri()}#{ENVIRONMENT}"
            settings[_ARCHIVES] = ",".join(filter(None, [settings.get(_ARCHIVES, ""), archive]))
            if self.in_cluster:
                settings.setdefault(STATED_PYTHON, _PYTHON)
        if self.in_cluster:
            settings.setdefault(f"{_DRIVERS_YARN if self.master == 'yarn' else _DRIVERS_KUBERNETES}.{SAFE_PATH}", "1")
        return settings


def _flags(settings: Mapping[str, str]) -> list[str]:
    return [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
