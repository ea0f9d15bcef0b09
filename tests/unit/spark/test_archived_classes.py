"""An archive of classes for jobs' JVMs: used where it is there, made by one that ends in order, left to the user."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark import SparkContext

from anabranch.jars import shared_classes
from anabranch.spark.archived_classes import OPTIONS, PORT, ArchivedClasses

pytestmark = pytest.mark.unit


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it would be; nothing is said to a JVM yet."""
    path = tmp_path / "classes" / "spark.jsa"
    monkeypatch.setattr(shared_classes, "archive", lambda _runtime, _jars: path)
    monkeypatch.setenv(OPTIONS, "-Dmine=1")
    monkeypatch.delenv(PORT, raising=False)
    return path


def test_an_archive_that_is_there_is_used(archive: Path) -> None:
    """Also by a job that makes none; the user's options stay."""
    archive.parent.mkdir()
    archive.touch()
    ArchivedClasses("x").begin(makes=False)
    assert f"-XX:SharedArchiveFile={archive}" in os.environ[OPTIONS]
    assert os.environ[OPTIONS].endswith(" -Dmine=1")


def test_what_the_user_chose_stays(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive of theirs, and a JVM that runs already; and a job that is to make none changes nothing."""
    ArchivedClasses("x").begin(makes=False)
    assert os.environ[OPTIONS] == "-Dmine=1"
    monkeypatch.setenv(PORT, "1")
    ArchivedClasses("x").begin(makes=True)
    assert os.environ[OPTIONS] == "-Dmine=1"
    monkeypatch.delenv(PORT)
    monkeypatch.setenv(OPTIONS, "-XX:SharedArchiveFile=/mine")
    ArchivedClasses("x").begin(makes=True)
    assert os.environ[OPTIONS] == "-XX:SharedArchiveFile=/mine"
    assert not archive.parent.exists()


@pytest.mark.test
def test_a_job_that_ends_in_order_leaves_the_archive(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once its JVM has written it; what killed jobs left is removed, and what a living one writes stays."""
    archive.parent.mkdir()
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left, living = (archive.with_suffix(f".{pid}.part") for pid in (dead.pid, os.getppid()))
    left.touch()
    living.touch()
    classes = ArchivedClasses("x")
    classes.begin(makes=True)
    made = archive.with_suffix(f".{os.getpid()}.part")
    assert f"-XX:ArchiveClassesAtExit={made}" in os.environ[OPTIONS]
    assert not left.exists() and living.exists()
    writes = f"import sys; sys.stdin.read(); open({str(made)!r}, 'w').close()"
    with subprocess.Popen([sys.executable, "-c", writes], stdin=subprocess.PIPE) as jvm:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=jvm))
        classes.end()
        classes.end()  # a second time changes nothing
    assert archive.exists() and not made.exists()
