"""Functions from artifacts in real jobs: each has its own, what was pinned runs, and what is wrong is told before."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from anabranch.config.catalogspec import CatalogSpec
from anabranch.streams.artifacts.values import PinnedFunction
from anabranch.streams.inline import InlinePolicy, TableAccess
from qa.wheels import wheel
from tests.integration.streams.artifact_lab import ArtifactLab, ended, jar

SCRIPT = """
CREATE TEMPORARY FUNCTION greet AS 'acme.Greet' USING JAR 'artifact:acme';
CREATE TEMPORARY FUNCTION lib_version AS 'lib.version' USING FILE 'artifact:lib';
CREATE TEMPORARY FUNCTION inner_version AS 'user.inner RETURNS STRING' USING FILE 'artifact:user';
INSERT INTO out
SELECT name, greet(name) AS greeting, lib_version(name) AS version, inner_version() AS needed FROM STREAM src
"""
CALLS = "INSERT INTO out SELECT name, shop.greet(name) AS greeting, shop.version(name) AS version FROM STREAM src"
GREET = "CREATE FUNCTION shop.greet AS 'acme.Greet' USING JAR 'artifact:acme'"
VERSION = "CREATE FUNCTION shop.version AS 'lib.version' USING FILE 'artifact:lib@{}'"
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


@pytest.mark.full
@pytest.mark.skipif(shutil.which("javac") is None, reason="no compiler of Java")
def test_functions_of_the_catalog_are_what_was_pinned(lab: ArtifactLab, tmp_path: Path) -> None:
    """Of Python and Java, by their names in the catalog, whatever that names by now; what was not pinned is refused."""
    statements = GREET, VERSION.format(1)
    access = TableAccess("mei", {}, {}, {}, InlinePolicy(is_open=True))
    catalog = CatalogSpec(access, functions=(GREET, VERSION.format(2)))
    pinned = [
        replace(one, functions=(PinnedFunction(name, statement),))
        for one, name, statement in zip(
            (lab.pin("acme", 1, jar(tmp_path, "hello")), lab.pin("lib", 1, lib("1.0"))),
            ("shop.greet", "shop.version"),
            statements,
            strict=True,
        )
    ]
    job = lab.start("pinned", CALLS, pinned, catalog=catalog)
    assert ended(job) == {}, (lab.directory / "pinned" / "log").read_text(encoding="utf-8")[-3000:]
    assert lab.rows("pinned") == [
        {"name": name, "greeting": f"hello {name}", "version": f"{name} of 1.0"} for name in ("jo", "mei")
    ]
    job = lab.start("unpinned", CALLS, pinned[:1], catalog=catalog)
    assert "shop.version of the catalog has come to be of an artifact since" in str(ended(job))
    wrong = CALLS.replace("shop.version(name)", "shop.version(name, name)")
    job = lab.start("wrong", wrong, pinned, catalog=catalog)
    assert "function shop.version is called with 2 arguments, and lib.version takes 1" in str(ended(job))
