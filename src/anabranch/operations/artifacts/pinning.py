"""Which versions of artifacts a script runs with: decided once, as it is saved or tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.streams.artifacts.references import one_of_each, references
from anabranch.streams.artifacts.values import ArtifactPin, PinnedFunction
from anabranch.streams.catalog.functions import CatalogTexts, called, of_artifact, of_artifacts

if TYPE_CHECKING:  # a program without the service has no database
    from anabranch.store.artifacts import StoredArtifacts


def pins_of(stored: StoredArtifacts, script: str, catalog: CatalogTexts | None = None) -> tuple[ArtifactPin, ...]:
    """The versions that a script names, or the newest where it names none; by name.

    ``catalog`` is what its author may use: what a function of it that is called comes from is pinned, and the function
    itself as it is now.  Raises ScriptError, InvalidFieldError, TwoArtifactVersionsError, NoArtifactError and
    NoArtifactVersionError.
    """
    brought = called(catalog or CatalogTexts(), script)
    named = [*references(script), *(one for function in brought for one in of_artifacts(function))]
    found: list[ArtifactPin] = []
    for one in sorted(one_of_each(named), key=lambda each: each.name):
        version, kind = stored.version(one.name, one.number), stored.get(one.name).kind
        pinned = tuple(PinnedFunction(each.name.short, each.statement) for each in of_artifact(brought, one.name))
        found.append(ArtifactPin(one.name, version.number, kind, version.content, version.dependencies, pinned))
    return tuple(found)
