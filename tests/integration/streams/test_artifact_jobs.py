"""Functions from artifacts in real jobs: each has its own, what was pinned runs, and what is wrong is told before."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from qa.wheels import wheel
from tests.integration.streams.artifact_lab import ArtifactLab, ended, jar

SCRIPT = """
CREATE TEMPORARY FUNCTION greet AS 'acme.Greet' USING JAR 'artifact:acme';
CREATE TEMPORARY FUNCTION lib_version AS 'lib.version' USING FILE 'artifact:lib';
CREATE TEMPORARY FUNCTION inner_version AS 'user.inner RETURNS STRING' USING FILE 'artifact:user';
INSERT INTO out
SELECT name, greet(name) AS greeting, lib_version(name) AS version, inner_version() AS needed FROM STREAM src
"""
USER = ("user.py", b"import base\n\ndef inner():\n    return base.VERSION\n")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[ArtifactLab]:
    """Jobs that are ended with the test."""
    made = ArtifactLab(tmp_path)
    yield made
    made.close()


def lib(number: str) -> tuple[str, bytes]:
    """The library of two versions that cannot be in one process."""
    source = f'VERSION = "{number}"\n\ndef version(name: str) -> str:\n    return f"{{name}} of {{VERSION}}"\n'
    return wheel("lib", number, {"lib.py": source})


@pytest.mark.test
@pytest.mark.skipif(shutil.which("javac") is None, reason="no compiler of Java")
def test_two_jobs_at_once_have_each_its_own_version_of_a_library(lab: ArtifactLab, tmp_path: Path) -> None:
    """V2: of a wheel, of what a file needs, and of a jar, by the same names; their directories are gone afterwards."""
    jobs = {}
    for stream, number, word in (("first", "1.0", "hello"), ("second", "2.0", "salut")):
        base = wheel("base", number, {"base/__init__.py": f'VERSION = "base {number}"\n'})
        pins = lab.pin("acme", 1, jar(tmp_path, word)), lab.pin("lib", 1, lib(number)), lab.pin("user", 1, USER, base)
        jobs[stream] = lab.start(stream, SCRIPT, pins)
    for stream, number, word in (("first", "1.0", "hello"), ("second", "2.0", "salut")):
        assert ended(jobs[stream]) == {}, (lab.directory / stream / "log").read_text(encoding="utf-8")[-3000:]
        assert lab.rows(stream) == [
            {"name": name, "greeting": f"{word} {name}", "version": f"{name} of {number}", "needed": f"base {number}"}
            for name in ("jo", "mei")
        ]
        assert not (lab.directory / stream / "run-1").exists()
