"""Jars straight from a Maven repository, for machines without Maven; who calls checks their sums."""

from __future__ import annotations

import os
import shutil
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from anabranch.jars.errors import JarsNotResolvedError

REPOSITORY = "ANABRANCH_MAVEN_REPOSITORY"
CENTRAL = "https://repo1.maven.org/maven2"
_ATTEMPTS = 3
_PAUSE_SECONDS = 2.0
_TIMEOUT_SECONDS = 60.0
_POM = "{http://maven.apache.org/POM/4.0.0}"


def copy(name: str, pom: bytes, jars: Path) -> str:
    """Put the jars that a pom names into a directory, and say how; raises ``JarsNotResolvedError``."""
    base = os.environ.get(REPOSITORY) or CENTRAL
    jars.mkdir(parents=True, exist_ok=True)
    for place in _places(pom):
        url = f"{base.rstrip('/')}/{place}"
        for attempt in range(_ATTEMPTS):
            try:
                _fetch(url, jars / place.rpartition("/")[2])
                break
            except OSError as error:
                if attempt + 1 == _ATTEMPTS:
                    fix = f"install Apache Maven, or set {REPOSITORY} to a repository that can be reached"
                    raise JarsNotResolvedError(name, "without Maven", f"{url}: {error}", fix) from error
                time.sleep(_PAUSE_SECONDS)
    return f"from {base}"


def _fetch(url: str, to: Path) -> None:
    with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as answer, to.open("wb") as file:
        shutil.copyfileobj(answer, file)


def _places(pom: bytes) -> Iterator[str]:
    """Where the jars lie in a repository; the poms here name each jar themselves."""
    for one in ElementTree.fromstring(pom).iter(f"{_POM}dependency"):
        group, artifact, version = (one.findtext(f"{_POM}{part}", "") for part in ("groupId", "artifactId", "version"))
        yield f"{group.replace('.', '/')}/{artifact}/{version}/{artifact}-{version}.jar"
