"""What the Spark job of a stream is told, as versioned JSON: no Spark session and no secret is in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from anabranch.config.catalogspec import CatalogSpec
from anabranch.config.jobspec import Context, JobFormat
from anabranch.streams.artifacts.values import ArtifactPin
from anabranch.streams.kinds import StreamKind
from anabranch.streams.state.results import StateChoice

VERSION = 1


@dataclass(frozen=True, slots=True)
class StreamBegin:
    """How a start goes on from the checkpoints that there are.

    ``number`` is that of the request: what is begun anew for it is begun once, however often the run is started.
    ``start`` is a position (``earliest``, a time, offsets): every query begins there, with an empty state.
    ``checkpoint`` is the name of a saved one: every query goes back to it.
    """

    number: int = 0
    state: StateChoice = StateChoice.REFUSE
    start: str = ""
    checkpoint: str = ""


@dataclass(frozen=True, slots=True)
class StreamRunSpec:
    """Run one version of a stream: its script, and where its checkpoints are.

    ``fence`` rises with each start of the stream.  ``checkpoints`` is a directory; each query has one of its own
    below it.  ``clusters`` are cluster contexts by code, for where no route service is asked (``routes`` is empty);
    else ``routes`` is the address of the service.  ``trigger`` is as Spark has it: ``5 seconds``, or ``availableNow``.
    ``made`` is when a service's stream was made (ms): what it writes is told apart from what one of its name wrote.
    ``catalog`` is what the script may use and what it is judged by; without one it is judged by nobody, as where a
    person runs a script as himself.

    ``artifacts`` are what functions of the script come from, in the directory or store ``artifact_place``.  ``files``
    is the directory that paths in the script are relative to; empty where a script may name no file.  A file of PySpark
    (``kind``) is the text ``script``, too; it is judged by nobody.

    ``former`` are the places where earlier runs had their checkpoints, that of the newest run first; with another one
    among them than ``checkpoints`` the job looks where they are now, and brings them.  ``has_run`` is whether
    queries of an earlier run have run, which have left some.
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
    begin: StreamBegin = StreamBegin()
    made: int = 0
    catalog: CatalogSpec | None = None
    artifacts: tuple[ArtifactPin, ...] = ()
    artifact_place: str = ""
    files: str = ""
    former: tuple[str, ...] = ()
    has_run: bool = False
    kind: StreamKind = StreamKind.SQL

    def to_json(self) -> str:
        """The versioned text."""
        return _FORMAT.dump(self)

    @classmethod
    def from_json(cls, text: str) -> StreamRunSpec:
        """Read the text; raises JobSpecError."""
        return _FORMAT.load(text)


_FORMAT = JobFormat("stream", VERSION, TypeAdapter(StreamRunSpec))
