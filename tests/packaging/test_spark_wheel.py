"""The built wheel with Spark, in an environment of its own and with an empty cache: it brings its jars and compares."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
import yaml

from anabranch.config.verifyspec import ReaderKind
from anabranch.jars import central
from anabranch.jars.connector import LOCKED, connector, locked
from anabranch.jars.java import java_program
from anabranch.model.link import ModePolicy
from anabranch.sandbox import ClusterSpec, SandboxCluster, start_clusters
from qa.brokers import STEADY
from tests.integration.links.lab import link
from tests.integration.links.topics import create, fresh, numbered, produce
from tests.packaging.environments import with_extra
from tests.packaging.test_wheel import run, wheel

pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]
__all__ = ["wheel"]


@pytest.fixture(scope="module")
def sparked(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Path:
    """The ``bin`` directory of an environment with the wheel and its Spark, of the locked versions."""
    return with_extra(tmp_path_factory.mktemp("sparked"), wheel, "spark")


@pytest.fixture
def pair() -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """Two clusters, which nobody guards."""
    old, new = start_clusters([ClusterSpec(name, overrides=STEADY) for name in ("old", "new")])
    with old, new:
        yield old, new


@pytest.fixture
def repository(tmp_path: Path) -> str:
    """Where the connector's jars are fetched from: those of this work tree, laid out as Maven's repositories are."""
    have = {jar.name: jar for jar in connector(metadata.version("pyspark"))}
    for name in LOCKED.values():
        for place in central._places(locked(name).pom):
            if (jar := have.get(place.rpartition("/")[2])) is not None:
                (there := tmp_path / "repository" / place).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(jar, there)
    return (tmp_path / "repository").as_uri()


def test_it_compares_with_both_readers_from_an_empty_cache(
    sparked: Path, pair: tuple[SandboxCluster, SandboxCluster], repository: str, tmp_path: Path
) -> None:
    """The first of them brings the connector; both find a copy equal, and the record of a stranger in it."""
    old, new = pair
    topic = create(old, fresh("compared"))
    produce(old, topic, numbered(100), batch=7)
    (tmp_path / "contexts.yaml").write_text(yaml.safe_dump({"contexts": {"old": old.context(), "new": new.context()}}))
    jars = tmp_path / "cache"
    java = Path(java_program("a test")).resolve().parents[1]
    settings = [f"ANABRANCH_CACHE={jars}", f"{central.REPOSITORY}={repository}", f"JAVA_HOME={java}"]
    settings += [f"XDG_STATE_HOME={tmp_path / 'state'}", f"PATH={without_maven(tmp_path / 'bin')}"]
    verify = ["env", *settings, sparked / "anabranch", "--contexts", tmp_path / "contexts.yaml", "verify", "start"]

    def compare(link_id: str, reader: ReaderKind) -> subprocess.CompletedProcess[str]:
        flags = ["--target", "new", "--master", "local[1]", "--reader", reader.value, "--fresh", "--execute"]
        return run(*verify, link_id, *flags, cwd=tmp_path)

    with link(old, new, topic, mode=ModePolicy.MAPPED) as made:
        with made.running():
            made.await_position(topic, 100)
        for reader in ReaderKind:
            done = compare(made.id, reader)
            assert done.returncode == 0, done.stdout + done.stderr
            assert sorted(one.name for one in jars.rglob("*kafka*.jar")), "it brought none"
        produce(new, topic, numbered(1))
        for reader in ReaderKind:
            done = compare(made.id, reader)
            assert done.returncode == 1, done.stdout + done.stderr
            assert topic in done.stdout


def without_maven(directory: Path) -> Path:
    """This machine's programs, but for Maven, in a directory."""
    directory.mkdir()
    for place in os.get_exec_path():
        for program in Path(place).glob("*"):
            if program.name != "mvn" and not (directory / program.name).is_symlink():
                (directory / program.name).symlink_to(program)
    return directory
