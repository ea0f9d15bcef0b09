"""What the service answers about artifacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anabranch.streams.artifacts.values import ArtifactVersion, StoredArtifact


@dataclass(frozen=True, slots=True)
class UploadAnswer:
    """What was uploaded: it is kept for a day, and for as long as a version has it."""

    artifact: str
    file: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class ArtifactVersionAnswer:
    """A version, and the versions of streams that run with it."""

    version: ArtifactVersion
    uses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ArtifactAnswer:
    """An artifact with its versions, the newest first."""

    artifact: StoredArtifact
    versions: tuple[ArtifactVersionAnswer, ...]


def artifact_answer(
    artifact: StoredArtifact, versions: Sequence[ArtifactVersion], uses: Mapping[int, Sequence[str]]
) -> ArtifactAnswer:
    """An artifact."""
    told = tuple(ArtifactVersionAnswer(one, tuple(uses.get(one.number, ()))) for one in versions)
    return ArtifactAnswer(artifact, told)
