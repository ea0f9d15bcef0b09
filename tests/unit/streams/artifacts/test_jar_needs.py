"""What a jar declares that it needs, and the pom that Maven is given for it: without what could be run."""

from __future__ import annotations

import io
import shutil
import zipfile
from collections.abc import Mapping
from xml.etree import ElementTree

import pytest

from anabranch.operations.artifacts import resolving_jars
from anabranch.streams.artifacts.errors import NotAnArtifactError, UnresolvedDependencyError
from anabranch.streams.artifacts.poms import JarName, JarNeeds, artifact_of, needs

pytestmark = pytest.mark.unit

OWN = "META-INF/maven/acme/text/pom.xml"
POM = """<?xml version="1.0"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <parent><groupId>acme</groupId><artifactId>all</artifactId><version>7</version></parent>
  <artifactId>text</artifactId><version>1.2</version>
  <repositories><repository><id>evil</id><url>http://127.0.0.1/</url></repository></repositories>
  <build><extensions><extension><groupId>acme</groupId><artifactId>run</artifactId></extension></extensions></build>
  <properties><html>1.21.1</html><more>${html}</more></properties>
  <dependencyManagement><dependencies>
    <dependency><groupId>acme</groupId><artifactId>bom</artifactId><version>3</version><type>pom</type><scope>import</scope></dependency>
    <dependency><groupId>acme</groupId><artifactId>odd</artifactId><version>${of.another}</version></dependency>
  </dependencies></dependencyManagement>
  <dependencies>%s</dependencies>
</project>
"""
NEEDED = """
<dependency><groupId>org.jsoup</groupId><artifactId>jsoup</artifactId><version>${more}</version>
  <exclusions><exclusion><groupId>*</groupId><artifactId>jspecify</artifactId></exclusion></exclusions></dependency>
<dependency><groupId>${project.groupId}</groupId><artifactId>words</artifactId><version>${project.version}</version></dependency>
<dependency><groupId>acme</groupId><artifactId>managed</artifactId></dependency>
"""
NOT_NEEDED = """
<dependency><groupId>a</groupId><artifactId>a</artifactId><version>1</version><scope>test</scope></dependency>
<dependency><groupId>a</groupId><artifactId>b</artifactId><version>1</version><scope>provided</scope></dependency>
<dependency><groupId>a</groupId><artifactId>c</artifactId><version>1</version><optional>true</optional></dependency>
<dependency><groupId>a</groupId><artifactId>d</artifactId><version>1</version><scope>system</scope>
  <systemPath>/etc/passwd</systemPath></dependency>
"""


def of(file: str, members: Mapping[str, str]) -> JarNeeds:
    """What a jar with these files declares."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    with zipfile.ZipFile(made) as archive:
        return needs(file, archive)


def depends(group: str, artifact: str, version: str) -> str:
    """A dependency, as a pom writes it."""
    parts = {"groupId": group, "artifactId": artifact, "version": version}
    return f"<dependency>{''.join(f'<{tag}>{text}</{tag}>' for tag, text in parts.items() if text)}</dependency>"


def test_what_is_needed_to_run_is_told_with_the_poms_own_properties() -> None:
    """And nothing of what is for tests, provided, optional, or a file of the machine."""
    found = of("text-1.2.jar", {OWN: POM % (NEEDED + NOT_NEEDED)})
    assert [str(one) for one in found.direct] == ["org.jsoup:jsoup:1.21.1", "acme:words:1.2", "acme:managed"]
    assert found.parent == JarName("acme", "all", "7")
    assert of("text-1.2.jar", {OWN: POM % NOT_NEEDED}) == of("text.jar", {}) == JarNeeds()


def test_what_a_jar_brings_it_does_not_need() -> None:
    """The poms of what was shaded into it lie beside its own, which its name tells."""
    words = {"META-INF/maven/acme/words/pom.xml": (POM % "").replace("<artifactId>text", "<artifactId>words")}
    found = of("text-1.2.jar", {OWN: POM % NEEDED, **words})
    assert [str(one) for one in found.direct] == ["org.jsoup:jsoup:1.21.1", "acme:managed"]
    with pytest.raises(NotAnArtifactError, match=r"2 files pom\.xml, and its name does not say which"):
        of("other.jar", {OWN: POM % NEEDED, **words})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('<!DOCTYPE p [<!ENTITY a "b">]><project/>', "declares entities"),
        ("<project", "is no XML"),
        ("<project>" + " " * (1 << 20) + "</project>", r"has 1,048,\d+ bytes"),
    ],
)
def test_a_pom_that_cannot_be_read_is_refused(text: str, problem: str) -> None:
    """With the file inside of the jar."""
    with pytest.raises(NotAnArtifactError, match=problem) as refused:
        of("text-1.2.jar", {OWN: text})
    assert OWN in str(refused.value)


def test_the_pom_for_maven_has_names_alone() -> None:
    """No repository, no build, no property; versions that the pom leaves to others come from those poms."""
    found = of("text-1.2.jar", {OWN: POM % NEEDED})
    root = ElementTree.fromstring(resolving_jars.written(found.direct, found))
    tags = {one.tag.rpartition("}")[2] for one in root}
    assert tags == {
        *("modelVersion", "groupId", "artifactId", "version", "packaging"),
        *("dependencies", "dependencyManagement"),
    }
    text = ElementTree.tostring(root, "unicode")
    assert "${" not in text and "127.0.0.1" not in text and "acme" in text
    scopes = [one.text for one in root.iter() if one.tag.endswith("scope")]
    assert scopes == ["import", "import"]
    bare = of("text-1.2.jar", {OWN: POM % depends("org.jsoup", "jsoup", "1.21.1")})
    assert b"dependencyManagement" not in resolving_jars.written(bare.direct, bare)


@pytest.mark.parametrize(
    ("needed", "problem"),
    [
        (depends("acme", "other", "${env.SECRET}"), r"acme:other:\$\{env\.SECRET\} has \$\{env\.SECRET\} in it"),
        (depends("acme", "a", "1").replace("</d", "<scope>${env.SECRET}</scope></d"), r"\$\{env\.SECRET\} in it"),
        (depends("../..", "etc", "1"), "is no name of a jar"),
        (depends("acme", "other", "1\n</version>x"), "is no XML"),
        (depends("acme", "other", "1;rm"), "is no name of a jar"),
    ],
)
def test_what_is_no_name_is_refused_before_maven_is_asked(needed: str, problem: str) -> None:
    """A version that stands in an environment, too: it would be told to whoever serves the index."""
    with pytest.raises((UnresolvedDependencyError, NotAnArtifactError), match=problem):
        resolving_jars.resolve("t.jar", of("text-1.jar", {OWN: POM % needed}), reaches_index=True, most=1 << 20)


def test_what_spark_has_is_not_asked_for() -> None:
    """Jars say that they need Spark, and forget to say that it is provided."""
    needed = depends("org.apache.spark", "spark-sql_2.13", "4.0.0") + depends("com.google.code.gson", "gson", "2.0")
    found = of("text-1.jar", {OWN: POM % needed})
    assert len(found.direct) == 2
    assert resolving_jars.resolve("text-1.jar", found, reaches_index=False, most=1) == {}


def test_without_maven_or_where_none_is_to_be_brought_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what is needed, and what to do."""
    found = of("text-1.jar", {OWN: POM % depends("org.jsoup", "jsoup", "1.21.1")})
    with pytest.raises(
        UnresolvedDependencyError, match=r"it needs org\.jsoup:jsoup:1\.21\.1, and the service is set to"
    ):
        resolving_jars.resolve("text-1.jar", found, reaches_index=False, most=1)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(UnresolvedDependencyError, match="the service has no Maven"):
        resolving_jars.resolve("text-1.jar", found, reaches_index=True, most=1)


def test_the_artifact_of_a_jar_is_its_name_without_the_version() -> None:
    """Two versions of one are told apart from two jars."""
    names = {"jsoup-1.21.1.jar": "jsoup", "spark-sql_2.13-4.0.1.jar": "spark-sql_2.13", "acme.jar": "acme"}
    assert {file: artifact_of(file) for file in names} == names
