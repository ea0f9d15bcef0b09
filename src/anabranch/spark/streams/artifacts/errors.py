"""Why a run has no environment."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import RefusedError


@dataclass(eq=False)
class ArtifactClashError(RefusedError):
    """Two files of one run bring the same module, and not the same of it."""

    first: str
    second: str
    path: str

    _message = "{first} and {second} both bring {path}, and they differ"
    _hint = "use one of them in a stream, or versions that need the same of it; two streams may have one each"


@dataclass(eq=False)
class NoEnvironmentError(RefusedError):
    """The files of a run cannot be laid out."""

    directory: str
    why: str

    _message = "the environment of this run cannot be laid out in {directory}: {why}"
    _hint = "see that there is room, that it may be written, and that nothing else has that name; then start it again"
