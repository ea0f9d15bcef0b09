"""What the Spark job of a stream is told, as versioned JSON: no Spark session and no secret is in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from anabranch.config.jobspec import Context, JobFormat

VERSION = 1


@dataclass(frozen=True, slots=True)
class StreamRunSpec:
    """Run one version of a stream: its script, and where its checkpoints are.

    ``fence`` rises with each start of the stream.  ``checkpoints`` is a directory; each query has one of its own
    below it.  ``clusters`` are cluster contexts by code, for where no route service is asked (``routes`` is empty);
    else ``routes`` is the address of the service.  ``trigger`` is as Spark has it: ``5 seconds``, or ``availableNow``.
    """

    stream: str
    version: int
    run: str
    fence: int
    script: str
    checkpoints: str
    clusters: Mapping[str, Context] = field(default_factory=dict)
    routes: str = ""
    trigger: str = "1 second"

    def to_json(self) -> str:
        """The versioned text."""
        return _FORMAT.dump(self)

    @classmethod
    def from_json(cls, text: str) -> StreamRunSpec:
        """Read the text; raises JobSpecError."""
        return _FORMAT.load(text)


_FORMAT = JobFormat("stream", VERSION, TypeAdapter(StreamRunSpec))
