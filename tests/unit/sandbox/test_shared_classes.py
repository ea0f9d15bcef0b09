"""Archives of classes are used where they are there, and by no one else's jars or Java."""

from pathlib import Path

import pytest

from anabranch.jars import shared_classes

pytestmark = pytest.mark.unit


@pytest.fixture
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime with one jar, in a cache of its own, for a Java that is not run."""
    monkeypatch.setenv("ANABRANCH_CACHE", str(tmp_path / "cache"))
    java(tmp_path / "java", "17.0.1", monkeypatch)
    jars = tmp_path / "jars"
    jars.mkdir()
    (jars / "a.jar").write_bytes(b"")
    return jars


def java(home: Path, release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this the Java in use."""
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text("")
    (home / "bin" / "java").chmod(0o755)
    (home / "release").write_text(release)
    monkeypatch.setenv("JAVA_HOME", str(home))
    shared_classes.archive.cache_clear()


def test_an_archive_is_used_only_where_it_is_there(jars: Path) -> None:
    """Until then a JVM starts without."""
    assert shared_classes.using("kafka-1", jars) == []
    path = shared_classes.archive("kafka-1", jars)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    assert shared_classes.using("kafka-1", jars)[0] == f"-XX:SharedArchiveFile={path}"


def test_other_jars_and_another_java_have_another_archive(
    jars: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was made for one fits no other."""
    found = {shared_classes.archive("kafka-1", jars)}
    (jars / "b.jar").write_bytes(b"")
    shared_classes.archive.cache_clear()
    found.add(shared_classes.archive("kafka-1", jars))
    java(tmp_path / "newer", "21.0.0", monkeypatch)
    found.add(shared_classes.archive("kafka-1", jars))
    assert len(found) == 3
