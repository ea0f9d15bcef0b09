"""What a link's Spark job is told, as versioned JSON: no Spark session and no secret is in it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from anabranch.config.contexts import context_fields, read_context
from anabranch.errors import ProtocolError
from anabranch.model.cluster import ClusterContext

VERSION = 1


@dataclass(eq=False)
class JobSpecError(ProtocolError):
    """A job specification that this version cannot read."""

    problem: str

    @property
    def message(self) -> str:
        return f"the job specification cannot be read: {self.problem}"

    @property
    def hint(self) -> str:
        return "start the job with the same version of Anabranch that wrote it"


@dataclass(frozen=True, slots=True)
class LinkJob:
    """Run one link: its id, both clusters, the name of this run, and the length of a lease in seconds."""

    link: str
    run: str
    source: ClusterContext
    target: ClusterContext
    lease_seconds: float

    def to_json(self) -> str:
        """The versioned text."""
        return json.dumps(
            {
                "v": VERSION,
                "job": "link",
                "link": self.link,
                "run": self.run,
                "source": {"name": self.source.name, **context_fields(self.source)},
                "target": {"name": self.target.name, **context_fields(self.target)},
                "lease_seconds": self.lease_seconds,
            },
            sort_keys=True,
        )

    @classmethod
    def from_json(cls, text: str) -> LinkJob:
        """Read the text; raises JobSpecError."""
        try:
            fields = json.loads(text)
            if fields["v"] != VERSION or fields["job"] != "link":
                raise JobSpecError(f"version {fields['v']} of job {fields['job']!r}")
            return cls(
                fields["link"],
                fields["run"],
                _context(fields["source"]),
                _context(fields["target"]),
                float(fields["lease_seconds"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise JobSpecError(repr(error)) from error


def _context(fields: dict[str, object]) -> ClusterContext:
    rest = dict(fields)
    return read_context(str(rest.pop("name")), rest, "job specification")
