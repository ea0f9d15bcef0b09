"""How a job that reads both clusters of a link is started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from anabranch.model.cluster import ClusterContext
from anabranch.operations.jobs.sparkready import check_reader


@dataclass(frozen=True, slots=True)
class ReaderJob:
    """Where Spark runs a job, how the job reaches both clusters, and where what it writes goes.

    A job that is ``detached`` outlives this process, others end with it.
    """

    source: ClusterContext
    target: ClusterContext
    master: str
    directory: Path
    settings: Mapping[str, str] = field(default_factory=dict, hash=False)
    detached: bool = False

    def arguments(self) -> list[str]:
        """The master and the settings as the job's command line; fetches jars; raises what ``check_reader`` raises."""
        found = ["--master", self.master]
        for key, value in check_reader(self.master, self.settings).items():
            found += ["--conf", f"{key}={value}"]
        return found
