"""What a jar needs is brought by Maven as it is uploaded, and is there for the job that uses it."""

from __future__ import annotations

import io
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch.operations.artifacts import resolving_jars
from anabranch.streams.artifacts.errors import UnresolvedDependencyError
from anabranch.streams.artifacts.poms import JarName, JarNeed, JarNeeds
from anabranch.streams.artifacts.reading import read
from tests.integration.streams.artifact_lab import ArtifactLab, compiled, ended

pytestmark = [pytest.mark.full, pytest.mark.skipif(shutil.which("javac") is None, reason="no compiler of Java")]

JAVA = """
package acme;
public class Plain implements org.apache.spark.sql.api.java.UDF1<String, String> {
    public String call(String name) { return org.jsoup.Jsoup.parse("<p>dear <b>" + name + "</b></p>").text(); }
}
"""
POM = """<project>
  <groupId>acme</groupId><artifactId>plain</artifactId><version>1</version>
  <build><extensions><extension>
    <groupId>acme</groupId><artifactId>is-run-by-nobody</artifactId><version>1</version>
  </extension></extensions></build>
  <dependencies>%s</dependencies>
</project>
"""
SCRIPT = """
CREATE TEMPORARY FUNCTION plain AS 'acme.Plain' USING JAR 'artifact:plain';
INSERT INTO out SELECT name, plain(name) AS said FROM STREAM src
"""
MOST = 50 << 20
JSOUP, CSV = JarName("org.jsoup", "jsoup", "1.21.1"), JarName("org.apache.commons", "commons-csv", "1.14.1")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[ArtifactLab]:
    """Of one test."""
    made = ArtifactLab(tmp_path / "lab")
    yield made
    made.close()


def depends(name: JarName, *more: str) -> str:
    """A dependency, as a pom writes it."""
    parts = {"groupId": name.group, "artifactId": name.artifact, "version": name.version}
    return f"<dependency>{''.join(f'<{tag}>{text}</{tag}>' for tag, text in parts.items())}{''.join(more)}</dependency>"


def test_a_job_uses_a_jar_with_what_that_needs(lab: ArtifactLab, tmp_path: Path) -> None:
    """The jar itself does not bring it, and says so in its pom; Spark, which it needs too, is not brought."""
    needed = resolving_jars.resolve("any.jar", JarNeeds((JarNeed(JSOUP),)), reaches_index=True, most=MOST)
    library = tmp_path / "jsoup.jar"
    library.write_bytes(needed["jsoup-1.21.1.jar"])
    spark = depends(JarName("org.apache.spark", "spark-sql_2.13", "4.0.0"))
    data = compiled(tmp_path / "plain", "Plain", JAVA, [library], POM % (depends(JSOUP) + spark))
    content = read("plain-1.jar", data)
    brought = resolving_jars.resolve("plain-1.jar", content.needs, reaches_index=True, most=MOST)
    assert list(brought) == ["jsoup-1.21.1.jar"]
    job = lab.start("told", SCRIPT, [lab.pin("plain", 1, ("plain-1.jar", data), *brought.items())])
    assert ended(job) == {}, (lab.directory / "told" / "log").read_text(encoding="utf-8")[-3000:]
    assert lab.rows("told") == [{"name": name, "said": f"dear {name}"} for name in ("jo", "mei")]
    job = lab.start("alone", SCRIPT, [lab.pin("plain", 2, ("plain-1.jar", data))])
    assert ended(job) != {}, "it must not work without what it needs"
    other = lab.pin("other", 1, ("other-1.jar", _archive("acme/Other.class")), ("jsoup-1.20.1.jar", _archive("a")))
    clashing = SCRIPT + "; CREATE TEMPORARY FUNCTION other AS 'acme.Other' USING JAR 'artifact:other'"
    job = lab.start("both", clashing, [lab.pin("plain", 3, ("plain-1.jar", data), *brought.items()), other])
    told = str(ended(job))
    assert "both bring jsoup (jsoup-1.21.1.jar, jsoup-1.20.1.jar), and they differ" in told, told


def test_what_is_needed_of_what_is_needed_comes_too_but_for_what_spark_has() -> None:
    """The version of one comes from a pom that is imported, as a parent's would."""
    managed = JarNeed(JarName("com.fasterxml.jackson", "jackson-bom", "2.18.2"), "pom", scope="import")
    yaml = JarNeed(JarName("com.fasterxml.jackson.dataformat", "jackson-dataformat-properties"))
    needs = JarNeeds((JarNeed(CSV), yaml), (managed,))
    found = resolving_jars.resolve("any.jar", needs, reaches_index=True, most=MOST)
    assert list(found) == ["commons-csv-1.14.1.jar", "jackson-dataformat-properties-2.18.2.jar"]


def test_what_is_not_to_be_had_or_too_large_is_named() -> None:
    """Nothing is kept of it."""
    missing = JarNeeds((JarNeed(JarName("org.jsoup", "jsoup", "0.0.1-none")),))
    for _ in range(2):  # Maven remembers what it did not find
        with pytest.raises(UnresolvedDependencyError, match=r"there is no org\.jsoup:jsoup:jar:0\.0\.1-none"):
            resolving_jars.resolve("any.jar", missing, reaches_index=True, most=MOST)
    with pytest.raises(UnresolvedDependencyError, match=r"has [0-9,]+ bytes, more than 1,000"):
        resolving_jars.resolve("any.jar", JarNeeds((JarNeed(JSOUP),)), reaches_index=True, most=1_000)
    unmanaged = JarNeeds((JarNeed(JarName("org.jsoup", "jsoup")),))
    with pytest.raises(UnresolvedDependencyError, match="version"):
        resolving_jars.resolve("any.jar", unmanaged, reaches_index=True, most=MOST)


def _archive(member: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(member, b"")
    return made.getvalue()
