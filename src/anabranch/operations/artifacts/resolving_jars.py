"""The jars that an uploaded jar needs, brought by Maven from a pom that is written here.

Nothing of an upload is built or run: of its pom only the names of what it needs are taken over, so no plugin,
extension, profile or repository that stands in it is heard of.  What Spark has is left out: it would be loaded from
there anyway.

Source: https://maven.apache.org/guides/introduction/introduction-to-dependency-mechanism.html
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from anabranch.jars.spark_home import spark_home
from anabranch.operations.artifacts.limited import SECONDS, limited
from anabranch.streams.artifacts.errors import UnresolvedDependencyError
from anabranch.streams.artifacts.poms import JarName, JarNeed, JarNeeds, artifact_of

_NAMESPACE = "http://maven.apache.org/POM/4.0.0"
_GROUPS = ("org.apache.spark", "org.scala-lang")
"""What of these a job has, it has from Spark."""
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_VERSION = re.compile(r"[A-Za-z0-9\[(][A-Za-z0-9._+,\[\]() -]*")
_MISSING = re.compile(r"Could not find artifact (?P<what>\S+)")
_ERROR = re.compile(r"\[ERROR\] (?P<told>.*\S)")
_BRINGS_ITSELF = "upload a jar that brings what it needs itself"


def resolve(file: str, needs: JarNeeds, *, reaches_index: bool, most: int) -> Mapping[str, bytes]:
    """The jars that are needed, by their names; none that Spark has.  Raises UnresolvedDependencyError."""
    has = {artifact_of(one.name) for one in (spark_home() / "jars").glob("*.jar")}
    direct = [one for one in needs.direct if one.name.group not in _GROUPS and one.name.artifact not in has]
    if not direct:
        return {}
    for one in direct:
        _check(file, one)
    if not reaches_index:
        problem = f"it needs {', '.join(map(str, direct))}, and the service is set to bring none"
        raise UnresolvedDependencyError(file, f"{problem} (artifacts.dependencies: false)", _BRINGS_ITSELF)
    maven = shutil.which("mvn")
    if maven is None:
        problem = f"it needs {', '.join(map(str, direct))}, and the service has no Maven"
        fix = f"install Apache Maven where the service runs, or {_BRINGS_ITSELF}"
        raise UnresolvedDependencyError(file, problem, fix)
    with tempfile.TemporaryDirectory(prefix="anabranch-artifact-") as made:
        directory = Path(made)
        brought = directory / "jars"
        (directory / "pom.xml").write_bytes(written(direct, needs))
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={brought}", "-DincludeScope=runtime"]
        _run(file, [maven, "-B", "-q", "-f", str(directory / "pom.xml"), *goal], most)
        found = [one for one in sorted(brought.glob("*.jar")) if artifact_of(one.name) not in has]
        if (total := sum(one.stat().st_size for one in found)) > most:
            problem = f"what it needs has {total:,} bytes, more than {most:,}"
            raise UnresolvedDependencyError(file, problem, "need less, or raise the service's artifacts.most")
        return {one.name: one.read_bytes() for one in found}


def _check(file: str, need: JarNeed) -> None:
    """Refuse what Maven would read as something else than a name; a version may stand elsewhere."""
    name = need.name
    words = (name.group, name.artifact, *filter(None, (need.type, need.classifier)))
    if unknown := next((one for one in (*words, name.version) if "${" in one), None):
        problem = f"{name} has {unknown} in it, which its pom does not say"
        raise UnresolvedDependencyError(file, problem, f"write the version into the pom, or {_BRINGS_ITSELF}")
    if not all(map(_WORD.fullmatch, words)) or not (name.version == "" or _VERSION.fullmatch(name.version)):
        raise UnresolvedDependencyError(file, f"{str(name)!r} is no name of a jar", "correct its pom")


def written(direct: Sequence[JarNeed], needs: JarNeeds) -> bytes:
    """A pom of nothing but what is needed, and of what says the versions of that."""
    root = ElementTree.Element("project", {"xmlns": _NAMESPACE})
    for part, text in (
        ("modelVersion", "4.0.0"),
        ("groupId", "anabranch"),
        ("artifactId", "needs"),
        ("version", "1"),
        ("packaging", "pom"),
    ):
        ElementTree.SubElement(root, part).text = text
    is_managed = any(not one.name.version for one in direct)
    if is_managed:
        managed = ElementTree.SubElement(ElementTree.SubElement(root, "dependencyManagement"), "dependencies")
        for one in needs.managed:
            if _is_told(one):
                _add(managed, one)
        if needs.parent is not None and _is_told(parent := JarNeed(needs.parent, "pom", scope="import")):
            _add(managed, parent)
    listed = ElementTree.SubElement(root, "dependencies")
    for one in direct:
        _add(listed, one, [JarName(group, "*") for group in _GROUPS])
    pom: bytes = ElementTree.tostring(root, "utf-8", xml_declaration=True)
    return pom


def _is_told(need: JarNeed) -> bool:
    words = (need.name.group, need.name.artifact, *filter(None, (need.type, need.classifier)))
    return all(map(_WORD.fullmatch, words)) and _VERSION.fullmatch(need.name.version) is not None


def _add(to: ElementTree.Element, need: JarNeed, excluded: Sequence[JarName] = ()) -> None:
    made = ElementTree.SubElement(to, "dependency")
    name = need.name
    parts = {"groupId": name.group, "artifactId": name.artifact, "version": name.version}
    for part, text in (parts | {"type": need.type, "classifier": need.classifier, "scope": need.scope}).items():
        if text:
            ElementTree.SubElement(made, part).text = text
    told = [one for one in need.excluded if all(_is_word_or_all(each) for each in (one.group, one.artifact))]
    if need.scope != "import" and (every := [*told, *excluded]):
        listed = ElementTree.SubElement(made, "exclusions")
        for one in every:
            exclusion = ElementTree.SubElement(listed, "exclusion")
            ElementTree.SubElement(exclusion, "groupId").text = one.group
            ElementTree.SubElement(exclusion, "artifactId").text = one.artifact


def _is_word_or_all(text: str) -> bool:
    return text == "*" or _WORD.fullmatch(text) is not None


def _run(file: str, command: Sequence[str], most: int) -> None:
    try:
        code, told = limited(command, most)
    except TimeoutError:
        raise UnresolvedDependencyError(file, f"Maven has not found it within {SECONDS:g} s") from None
    if code:
        raise UnresolvedDependencyError(file, _problem(told))


def _problem(told: str) -> str:
    """What Maven said, in a sentence: the jar that is missing, else its first error."""
    if found := _MISSING.search(told):
        return f"there is no {found['what']}"
    errors = [found["told"] for line in told.splitlines() if (found := _ERROR.match(line))]
    return (errors or [line for line in told.splitlines() if line.strip()] or ["Maven has failed"])[0].rstrip(".")
