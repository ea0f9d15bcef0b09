"""Spark's Kafka connector on a machine that has nothing but this package."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from anabranch.jars import cache, central, connector, java, maven
from anabranch.jars.cache import Runtime, bring
from anabranch.jars.connector import LOCKED, locked, with_connector
from anabranch.jars.errors import (
    JarsNotResolvedError,
    JavaTooOldError,
    MissingProgramError,
    NoConnectorError,
    NoSuchJarError,
)

pytestmark = pytest.mark.unit

POM = b"""<project xmlns="http://maven.apache.org/POM/4.0.0"><dependencies><dependency>
<groupId>org.some</groupId><artifactId>thing</artifactId><version>1.2</version>
</dependency></dependencies></project>"""
JAR = b"the jar"
SUMS = {"thing-1.2.jar": hashlib.sha256(JAR).hexdigest()}


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an empty cache and no programs; returns the directory of its repository, which has one jar."""
    monkeypatch.setenv("ANABRANCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setattr(central, "_PAUSE_SECONDS", 0)
    repository = tmp_path / "repository"
    place = repository / "org" / "some" / "thing" / "1.2"
    place.mkdir(parents=True)
    (place / "thing-1.2.jar").write_bytes(JAR)
    monkeypatch.setenv(central.REPOSITORY, repository.as_uri())
    return repository


def test_locked_jars_come_without_maven(fresh: Path) -> None:
    """Once: what is in the cache is not asked for again."""
    made = bring(Runtime("thing", POM, SUMS))
    assert [jar.read_bytes() for jar in made.iterdir()] == [JAR]
    next(fresh.rglob("*.jar")).unlink()
    assert bring(Runtime("thing", POM, SUMS)) == made


def test_a_repository_that_serves_another_file_is_refused(fresh: Path) -> None:
    """Nothing of it is kept."""
    next(fresh.rglob("*.jar")).write_bytes(b"something else")
    with pytest.raises(JarsNotResolvedError, match=r"thing-1\.2\.jar: not the files that are locked"):
        bring(Runtime("thing", POM, SUMS))
    assert not list(cache.cache_directory().rglob("*.jar"))


def test_a_repository_that_is_away_is_named_with_the_ways_out(fresh: Path) -> None:
    """The address, what was said, and what else would do."""
    next(fresh.rglob("*.jar")).unlink()
    with pytest.raises(JarsNotResolvedError) as raised:
        bring(Runtime("thing", POM, SUMS))
    assert "org/some/thing/1.2/thing-1.2.jar" in raised.value.message
    assert "Maven" in raised.value.hint and central.REPOSITORY in raised.value.hint


def test_jars_without_sums_need_maven(fresh: Path) -> None:
    """What nobody has locked is not taken from anywhere."""
    with pytest.raises(MissingProgramError, match="mvn"):
        bring(Runtime("thing", POM))


def test_maven_comes_first_and_what_it_brings_is_checked(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It knows the mirrors of the machine."""

    def copy(_name: str, _pom: bytes, jars: Path) -> str:
        jars.mkdir()
        (jars / "thing-1.2.jar").write_bytes(JAR if jars.parent.name.startswith(".right") else b"other")
        return "with Maven"

    monkeypatch.setattr(maven, "is_here", lambda: True)
    monkeypatch.setattr(maven, "copy", copy)
    assert bring(Runtime("right", POM, SUMS)).is_dir()
    with pytest.raises(JarsNotResolvedError, match="with Maven"):
        bring(Runtime("wrong", POM, SUMS))


@pytest.mark.parametrize("name", LOCKED.values())
def test_each_jar_of_a_locked_pom_has_its_sum(name: str) -> None:
    """And there is no sum of another one."""
    runtime = locked(name)
    assert {place.rpartition("/")[2] for place in central._places(runtime.pom)} == set(runtime.sums)
    assert all(len(one) == 64 for one in runtime.sums.values())


def test_the_connector_is_that_of_sparks_version_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of any patch; of a line that nobody has tried there is none."""
    monkeypatch.setattr(connector, "bring", lambda runtime: tmp_path / runtime.name)
    (lake := tmp_path / "lake.jar").touch()
    for version, name in (("4.1.3", "4.1.3"), ("4.1.9", "4.1.3"), ("4.2.1", "4.2.0")):
        jar = tmp_path / f"spark-kafka-{name}" / "a.jar"
        jar.parent.mkdir(exist_ok=True)
        jar.touch()
        assert with_connector({"a": "b"}, version) == {"a": "b", "spark.jars": str(jar)}
        assert with_connector({"spark.jars": str(lake)}, version) == {"spark.jars": f"{lake},{jar}"}
    with pytest.raises(NoConnectorError, match=r"for Spark 4\.9\.0, only for 4\.1 and 4\.2"):
        with_connector({}, "4.9.0")


@pytest.mark.parametrize("setting", ["spark.jars", "spark.jars.packages"])
def test_who_brings_jars_is_left_alone(fresh: Path, tmp_path: Path, setting: str) -> None:
    """Nothing is looked for."""
    (lake := tmp_path / "lake.jar").touch()
    assert with_connector({setting: str(lake)}, "4.9.0") == {setting: str(lake)}
    own = {"spark.jars": f"{lake}, hdfs:///jars/spark-sql-kafka-0-10_2.13-4.1.0.jar"}
    assert with_connector(own, "4.1.3") == own


@pytest.mark.parametrize("jar", ["/nowhere/lake.jar", "file:///nowhere/lake.jar", "lake.jar"])
def test_a_jar_that_is_not_there_is_said(jar: str) -> None:
    """Spark would warn of it in its log, and go on; what is elsewhere, or a pattern, is looked for by Spark."""
    with pytest.raises(NoSuchJarError) as error:
        with_connector({"spark.jars": f"s3a://jars/a.jar, /nowhere/*.jar, {jar}"}, "4.9.0")
    assert error.value.message == f"spark.jars names {jar}, which is not there"


def test_a_spark_that_has_the_connector_is_left_alone(
    fresh: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Twice on the class path would be one too many."""
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-sql-kafka-0-10_2.13-4.1.3.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert with_connector({}, "4.9.0") == {}


@pytest.mark.parametrize(
    ("version", "fits"), [("1.8.0_402", False), ("11.0.2", False), ("17.0.15", True), ("21", True)]
)
def test_an_old_java_is_named(
    fresh: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, fits: bool
) -> None:
    """From the file ``release`` of the installation, without a process."""
    program = tmp_path / "jdk" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.touch(0o755)
    (tmp_path / "jdk" / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    if fits:
        java.check_java_of_spark()
    else:
        with pytest.raises(JavaTooOldError, match=version):
            java.check_java_of_spark()


def test_a_java_home_without_java_is_named(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is what Spark would use, whatever is on the path."""
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(MissingProgramError, match="JAVA_HOME is /nowhere"):
        java.check_java_of_spark()
