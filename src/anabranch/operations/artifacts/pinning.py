"""Which versions of artifacts a script runs with: decided once, as it is saved or tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.streams.artifacts.references import references
from anabranch.streams.artifacts.values import ArtifactPin

if TYPE_CHECKING:  # a program without the service has no database
    from anabranch.store.artifacts import StoredArtifacts


def pins_of(stored: StoredArtifacts, script: str) -> tuple[ArtifactPin, ...]:
    """The versions that a script names, or the newest where it names none; by name.

    Raises ScriptError, InvalidFieldError, TwoArtifactVersionsError, NoArtifactError, NoArtifactVersionError.
    """
    found: list[ArtifactPin] = []
    for one in sorted(references(script), key=lambda named: named.name):
        version, kind = stored.version(one.name, one.number), stored.get(one.name).kind
        found.append(ArtifactPin(one.name, version.number, kind, version.content, version.dependencies))
    return tuple(found)
