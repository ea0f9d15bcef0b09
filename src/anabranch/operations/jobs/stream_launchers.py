"""Where the job of a stream runs, by a name: what starts it, what is sent along, and where its checkpoints go.

The driver is a process of this machine, whichever the kind: so whoever watches it, ends it and reads its log does so as
for a job that runs here alone.  Executors are where the master has them.

Invariants
    L1  a launcher whose executors are on other machines names storage for checkpoints: they keep state there.
    L2  what a launcher states of Spark wins over what the service does, and that over what its kind does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path

from anabranch.errors import ConfigError, InvalidFieldError
from anabranch.operations.jobs.submission import NoFileToSendError, Submission
from anabranch.storage import paths

DEFAULT = "default"
"""The service's own master and settings."""
_IMAGES = ("spark.kubernetes.container.image", "spark.kubernetes.executor.container.image")
_TEMPLATE = "spark.kubernetes.executor.podTemplateFile"
_QUIET = {
    "spark.ui.enabled": "false",  # each driver would take a port of this machine, and the seventeenth finds none
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "WARN",
}


class LauncherKind(StrEnum):
    """What runs the executors."""

    LOCAL = "local"
    STANDALONE = "standalone"
    YARN = "yarn"
    KUBERNETES = "kubernetes"


@dataclass(frozen=True, slots=True)
class _Kind:
    """The masters of a kind, the one that is meant where none is named, and its settings."""

    masters: str
    example: str
    default: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)


_KINDS = {
    LauncherKind.LOCAL: _Kind(r"local(\[[\d*,\s]+\])?", "local[4]", "local[2]"),
    # Without a limit the first application takes every core, and the next one waits for ever.
    LauncherKind.STANDALONE: _Kind(r"spark://.+", "spark://HOST:7077", settings={"spark.cores.max": "2", **_QUIET}),
    # A driver whose application is gone ends, and does not wait for executors that never come.
    LauncherKind.YARN: _Kind("yarn", "yarn", "yarn", {"spark.yarn.am.clientModeExitOnError": "true", **_QUIET}),
    LauncherKind.KUBERNETES: _Kind(r"k8s://.+", "k8s://https://HOST:6443", settings=_QUIET),
}


@dataclass(eq=False)
class NoLauncherError(ConfigError):
    """The service's file has no launcher of that name."""

    name: str
    known: tuple[str, ...]

    @property
    def message(self) -> str:
        return f"the service has no launcher {self.name!r}; there is {', '.join(self.known)}"

    @property
    def hint(self) -> str:
        near = get_close_matches(self.name, self.known, 1) or [DEFAULT]
        return f"choose one: --launcher {near[0]}; or add it to `launchers` of the service's file, and start it again"


@dataclass(frozen=True, slots=True)
class StreamLauncher:
    """A named way to run streams; ``checkpoints`` is a directory or a URI, empty for beside the job's files.

    ``variables`` are more of the environment of the driver.
    """

    name: str
    kind: LauncherKind
    submission: Submission
    checkpoints: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)

    def place(self, stream: str, made: int, beside: Path) -> str:
        """Where the checkpoints of a stream are that was made then (ms), and whose job's files are there.

        A directory is a URI of its own: a path without a kind is Spark's default file system's, which may be another.
        """
        own = f"checkpoints-{made}"
        if not self.checkpoints:
            return str((beside / own).absolute())
        return f"{paths.uri(self.checkpoints)}/{stream}/{own}"


@dataclass(frozen=True, slots=True)
class LauncherFields:
    """A launcher as a person writes it; paths are absolute.

    ``hadoop`` is a directory with Hadoop's settings, ``pod_template`` a file with what every executor's pod has.
    """

    kind: LauncherKind
    master: str = ""
    in_cluster: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    archive: Path | None = None
    files: Sequence[Path] = ()
    checkpoints: str = ""
    hadoop: Path | None = None
    pod_template: Path | None = None


def default_launcher(master: str, settings: Mapping[str, str]) -> StreamLauncher:
    """The service's own, whose master is what it is: a cluster's, too."""
    return StreamLauncher(DEFAULT, LauncherKind.LOCAL, Submission(master, settings))


def launcher_of(name: str, given: LauncherFields, common: Mapping[str, str]) -> StreamLauncher:
    """A launcher with the service's settings of Spark in ``common`` (L1, L2); raises a ConfigError that names it."""
    kind = _KINDS[given.kind]
    master = given.master or kind.default
    if re.fullmatch(kind.masters, master) is None:
        problem = f"{master!r} is no master of kind {given.kind}" if master else "a master is needed"
        raise _wrong(name, "master", problem, f"write {kind.example}")
    if given.in_cluster:
        problem = "the driver of a stream runs on the service's machine; one in the cluster is not there yet"
        raise _wrong(name, "deploy_mode", problem, "leave it out; executors run in the cluster all the same")
    is_remote = given.kind is not LauncherKind.LOCAL
    if is_remote and not given.checkpoints:
        problem = "executors keep the state of queries with the checkpoints, and reach no directory of this machine"
        fix = "name storage that all machines reach: hdfs://..., s3a://..., or a directory that is mounted on each"
        raise _wrong(name, "checkpoints", problem, fix)
    if given.kind is LauncherKind.LOCAL and (given.archive or given.files):
        wrong = "archive" if given.archive else "files"
        raise _wrong(
            name, wrong, "tasks run in the driver's process on this machine, and read its files", "leave it out"
        )
    if given.hadoop is not None and not given.hadoop.is_dir():
        raise _wrong(name, "hadoop", f"there is no directory {given.hadoop}", "name the one with yarn-site.xml")
    settings = {**kind.settings, **common, **given.settings}
    if given.pod_template is not None:
        if given.kind is not LauncherKind.KUBERNETES:
            raise _wrong(name, "pod_template", f"kind {given.kind} has no pods", "leave it out")
        if not given.pod_template.is_file():
            raise _wrong(name, "pod_template", f"there is no file {given.pod_template}", "correct the path")
        settings[_TEMPLATE] = str(given.pod_template)
    if given.kind is LauncherKind.KUBERNETES and settings.keys().isdisjoint(_IMAGES):
        fix = f"name the image that executors run: {_IMAGES[0]}"
        raise _wrong(name, "spark", "executors have no image", fix)
    submission = Submission(master, settings, given.archive, tuple(given.files))
    try:
        submission.check()
    except NoFileToSendError as error:
        wrong = "archive" if error.flag == "--archive" else "files"
        raise _wrong(name, wrong, f"there is no file {error.path}", error.hint) from error
    variables = {} if given.hadoop is None else dict.fromkeys(("HADOOP_CONF_DIR", "YARN_CONF_DIR"), str(given.hadoop))
    return StreamLauncher(name, given.kind, submission, given.checkpoints, variables)


def _wrong(name: str, wrong: str, problem: str, fix: str) -> InvalidFieldError:
    return InvalidFieldError("serve", f"launchers.{name}.{wrong}", problem, fix)
