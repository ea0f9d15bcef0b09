"""What a jar declares that it needs: the pom that Maven leaves inside of it, read as text and never built.

A jar has its own pom under ``META-INF/maven/GROUP/ARTIFACT/pom.xml``; one that brings other jars' classes has theirs,
too, and does not need those any more.  A jar without a pom declares nothing.

Source: https://maven.apache.org/ref/3.9.9/maven-model/maven.html
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from xml.etree import ElementTree

from anabranch.streams.artifacts.errors import NotAnArtifactError

_POM = re.compile(r"META-INF/maven/[^/]+/[^/]+/pom\.xml")
_MOST_BYTES = 1 << 20
_STEM = re.compile(r"(?P<artifact>.+?)-\d[^/]*\.jar")
_PROPERTY = re.compile(r"\$\{([^{}]*)\}")
_DEEPEST = 10
_LEFT_OUT = frozenset({"test", "provided", "system", "import"})
_NAME = ("groupId", "artifactId", "version")


@dataclass(frozen=True, slots=True)
class JarName:
    """A jar, or a pom, in a repository of Maven; ``version`` is empty where another pom says it."""

    group: str
    artifact: str
    version: str = ""

    def __str__(self) -> str:
        return ":".join(filter(None, (self.group, self.artifact, self.version)))


@dataclass(frozen=True, slots=True)
class JarNeed:
    """A dependency as a pom declares it."""

    name: JarName
    type: str = ""
    classifier: str = ""
    scope: str = ""
    excluded: tuple[JarName, ...] = ()

    def __str__(self) -> str:
        return str(self.name)


@dataclass(frozen=True, slots=True)
class JarNeeds:
    """What a jar needs to run, and by what the versions of that are told where it does not say them.

    ``managed`` are its own dependencyManagement, ``parent`` the pom that it inherits from.
    """

    direct: tuple[JarNeed, ...] = ()
    managed: tuple[JarNeed, ...] = ()
    parent: JarName | None = None


@dataclass(frozen=True, slots=True)
class _Pom:
    name: JarName
    parent: JarName | None
    direct: tuple[JarNeed, ...]
    managed: tuple[JarNeed, ...]


def artifact_of(file: str) -> str:
    """The artifact that a jar is, as its file's name says."""
    found = _STEM.fullmatch(file)
    return found["artifact"] if found else file.removesuffix(".jar")


def needs(file: str, archive: zipfile.ZipFile) -> JarNeeds:
    """What the jar ``file`` declares; nothing where it has no pom.  Raises NotAnArtifactError."""
    found = [_pom(file, archive, one) for one in archive.infolist() if _POM.fullmatch(one.filename)]
    stem = PurePosixPath(file).stem
    own = [one for one in found if stem == one.name.artifact or stem.startswith(f"{one.name.artifact}-")]
    if not found:
        return JarNeeds()
    if len(found) > 1 and len(own) != 1:
        problem = f"it has {len(found)} files pom.xml, and its name does not say which of them is its own"
        raise NotAnArtifactError(file, problem, "name it ARTIFACT-VERSION.jar, as its own pom does")
    pom = own[0] if own else found[0]
    brought = {(one.name.group, one.name.artifact) for one in found}
    direct = tuple(one for one in pom.direct if (one.name.group, one.name.artifact) not in brought)
    return JarNeeds(direct, pom.managed, pom.parent) if direct else JarNeeds()


def _pom(file: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> _Pom:
    if member.file_size > _MOST_BYTES:
        raise NotAnArtifactError(file, f"{member.filename} in it has {member.file_size:,} bytes")
    text = archive.read(member)
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:  # a pom has none, and entities may grow without an end
        raise NotAnArtifactError(file, f"{member.filename} in it declares entities", "leave them out of the pom")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise NotAnArtifactError(file, f"{member.filename} in it is no XML: {error}", "build the jar again") from error
    for one in root.iter():
        one.tag = one.tag.rpartition("}")[2]  # poms of old have no namespace
    parent = root.find("parent")
    inherited = None if parent is None else _name(parent, {})
    name = _name(root, {})
    group = name.group or (inherited.group if inherited else "")
    version = name.version or (inherited.version if inherited else "")
    known = {one.tag: (one.text or "").strip() for one in root.iterfind("properties/*")}
    for prefix in ("project.", "pom.", ""):
        known |= {f"{prefix}groupId": group, f"{prefix}artifactId": name.artifact, f"{prefix}version": version}
        if inherited:
            known |= {f"{prefix}parent.groupId": inherited.group, f"{prefix}parent.version": inherited.version}
    named = JarName(*(_told(one, known) for one in (group, name.artifact, version)))
    direct = tuple(
        need
        for need, is_optional in _declared(root, "dependencies/dependency", known)
        if not is_optional and need.scope not in _LEFT_OUT
    )
    managed = tuple(need for need, _ in _declared(root, "dependencyManagement/dependencies/dependency", known))
    return _Pom(named, inherited, direct, managed)


def _declared(root: ElementTree.Element, path: str, known: Mapping[str, str]) -> Iterator[tuple[JarNeed, bool]]:
    for one in root.iterfind(path):
        excluded = tuple(_name(each, known) for each in one.iterfind("exclusions/exclusion"))
        type_, classifier, scope, optional = (
            _part(one, part, known) for part in ("type", "classifier", "scope", "optional")
        )
        yield JarNeed(_name(one, known), type_, classifier, scope, excluded), optional == "true"


def _name(element: ElementTree.Element, known: Mapping[str, str]) -> JarName:
    return JarName(*(_part(element, part, known) for part in _NAME))


def _part(element: ElementTree.Element, part: str, known: Mapping[str, str]) -> str:
    return _told(element.findtext(part, "").strip(), known)


def _told(text: str, known: Mapping[str, str]) -> str:
    """A text with the pom's own properties in it; what another pom says stays as it is written."""
    for _ in range(_DEEPEST):
        told = _PROPERTY.sub(lambda found: known.get(found[1], found[0]), text)
        if told == text:
            break
        text = told
    return text
