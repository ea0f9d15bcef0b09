"""The jars that an uploaded jar needs, brought by Maven from a pom that is written here.

Nothing of an upload is built or run: of its pom only the names of what it needs are taken over, and no plugin,
extension, profile or repository.  What Spark has is left out: it would be loaded from there anyway.

Source: https://maven.apache.org/guides/introduction/introduction-to-dependency-mechanism.html
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from anabranch.jars.maven import copying
from anabranch.jars.spark_home import spark_home
from anabranch.operations.artifacts.limited import limited, read_all
from anabranch.streams.artifacts.errors import UnresolvedDependencyError
from anabranch.streams.artifacts.poms import JarName, JarNeed, JarNeeds, artifact_of

_NAMESPACE = "http://maven.apache.org/POM/4.0.0"
_GROUPS = ("org.apache.spark", "org.scala-lang")
"""What of these a job has, it has from Spark."""
_ALL = "*"
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_VERSION = re.compile(r"[A-Za-z0-9\[(][A-Za-z0-9._+,\[\]() -]*")
_MISSING = re.compile(r"Could not find artifact (?P<what>\S+)|(?P<known>\S+) was not found in ")
_ERROR = re.compile(r"(?:\x1b\[[\d;]*m)*(?:\[ERROR\] )+(?P<told>.*[^\s:])\s*")
"""A line that says something: one with a colon at its end only announces others."""
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
        # What could not be had is remembered by Maven, and not asked for again but with -U.
        code, told = limited("Maven", file, [maven, "-U", *copying(directory / "pom.xml", brought)], most)
        if code:
            raise UnresolvedDependencyError(file, _problem(told))
        return read_all(file, (one for one in brought.glob("*.jar") if artifact_of(one.name) not in has), most)


def _check(file: str, need: JarNeed) -> None:
    """Refuse what Maven would read as something else than a name; a version may stand elsewhere."""
    name = need.name
    if unknown := next((one for one in (*_words(need), name.version) if "${" in one), None):
        problem = f"{name} has {unknown} in it, which its pom does not say"
        raise UnresolvedDependencyError(file, problem, f"write the version into the pom, or {_BRINGS_ITSELF}")
    if not _is_named(need):
        raise UnresolvedDependencyError(file, f"{str(name)!r} is no name of a jar", "correct its pom")


def _words(need: JarNeed) -> tuple[str, ...]:
    return (need.name.group, need.name.artifact, *filter(None, (need.type, need.classifier, need.scope)))


def _is_named(need: JarNeed) -> bool:
    """Whether all of it is what may stand in a pom; the version may be left out."""
    version = need.name.version
    return all(map(_WORD.fullmatch, _words(need))) and (not version or _VERSION.fullmatch(version) is not None)


def written(direct: Sequence[JarNeed], needs: JarNeeds) -> bytes:
    """A pom of nothing but what is needed, and of what says the versions of that."""
    root = ElementTree.Element("project", {"xmlns": _NAMESPACE})
    _put(root, modelVersion="4.0.0", groupId="anabranch", artifactId="needs", version="1", packaging="pom")
    if any(not one.name.version for one in direct):
        parents = () if needs.parent is None else (JarNeed(needs.parent, "pom", scope="import"),)
        managed = ElementTree.SubElement(ElementTree.SubElement(root, "dependencyManagement"), "dependencies")
        for one in (*needs.managed, *parents):
            if one.name.version and _is_named(one):
                _add(managed, one)
    listed = ElementTree.SubElement(root, "dependencies")
    for one in direct:
        _add(listed, one, [JarName(group, _ALL) for group in _GROUPS])
    pom: bytes = ElementTree.tostring(root, "utf-8", xml_declaration=True)
    return pom


def _add(to: ElementTree.Element, need: JarNeed, excluded: Sequence[JarName] = ()) -> None:
    made, name = ElementTree.SubElement(to, "dependency"), need.name
    _put(made, groupId=name.group, artifactId=name.artifact, version=name.version)
    _put(made, type=need.type, classifier=need.classifier, scope=need.scope)
    told = [one for one in need.excluded if _is_pattern(one.group) and _is_pattern(one.artifact)]
    if need.scope != "import" and (every := [*told, *excluded]):
        listed = ElementTree.SubElement(made, "exclusions")
        for one in every:
            _put(ElementTree.SubElement(listed, "exclusion"), groupId=one.group, artifactId=one.artifact)


def _is_pattern(text: str) -> bool:
    return text == _ALL or _WORD.fullmatch(text) is not None


def _put(to: ElementTree.Element, **parts: str) -> None:
    """These parts, but for empty ones."""
    for part, text in parts.items():
        if text:
            ElementTree.SubElement(to, part).text = text


def _problem(told: str) -> str:
    """What Maven said, in a sentence: the jar that is missing, else its first error."""
    if found := _MISSING.search(told):
        return f"there is no {found['what'] or found['known']}"
    errors = [found["told"] for line in told.splitlines() if (found := _ERROR.fullmatch(line))]
    return (errors or [line for line in told.splitlines() if line.strip()] or ["Maven has failed"])[0].rstrip(".")
