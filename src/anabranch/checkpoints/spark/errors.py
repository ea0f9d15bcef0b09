"""Why a checkpoint of Spark cannot be read, beside what every format knows."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.errors import RefusedError


class MalformedError(Exception):
    """Bytes that break a format, before it is known which file they are of; becomes DamagedCheckpointError."""

    def __init__(self, at: str, what: str) -> None:
        super().__init__(f"{at}: {what}")
        self.at = at
        self.what = what


class UnknownError(Exception):
    """A version that is not known, before it is known which file says it; becomes UnknownVersionError."""

    def __init__(self, what: str, known: str) -> None:
        super().__init__(what)
        self.what = what
        self.known = known


@dataclass(eq=False)
class DStreamsCheckpointError(RefusedError):
    """A checkpoint of the old DStreams API: one serialized Java object that only its own classes can read."""

    path: str
    name: str

    _message = "{path}: {name} is a checkpoint of DStreams, a serialized Java object that cannot be changed"
    _hint = (
        "move the job by the offsets that it commits to its consumer group (anabranch groups), or by the store "
        "of offsets that the application keeps itself; then start it with an empty checkpoint directory"
    )


@dataclass(eq=False)
class PipelineFlowError(RefusedError):
    """The directory of a declarative pipeline's flow: it holds one checkpoint for each full refresh, by number."""

    path: str
    newest: int

    _message = "{path}: holds checkpoints by number, and the one that lives is {newest}"

    @property
    def hint(self) -> str:
        return f"give {self.path.rstrip('/')}/{self.newest}"
