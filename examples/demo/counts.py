"""A Flink job that counts the payments of each desk in keyed state; it is moved by savepoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from examples.demo import desk
from examples.demo.ledger import Reading, number_of
from examples.demo.migration import Savepoint
from qa.flink.jobs import VERSIONS, Flink, Job

VERSION = "2.2.0"


class Counts:
    """The job on one cluster after the other, in one JVM; each life begins at the savepoint of the one before."""

    def __init__(self, directory: Path, clusters: dict[str, str]) -> None:
        self._directory = directory
        self._clusters = clusters
        self._flink = Flink(VERSIONS[VERSION], directory / "flink.log")
        self._jobs: list[Job] = []
        self._savepoint: Path | None = None

    def lead(self, **clusters: str) -> None:
        """Say where clusters are, once that is known."""
        self._clusters |= clusters

    def start(self, cluster: str) -> None:
        """Begin, or go on from the savepoint that a switch has put there."""
        source: dict[str, Any] = {
            "uid": "payments-source",
            "topics": [desk.TOPIC],
            "bootstrap": self._clusters[cluster],
            "group": "counts",
            "properties": {"commit.offsets.on.checkpoint": "false"},
        }
        conf = self._flink.version.conf(restore=self._savepoint)
        self._jobs.append(self._flink.start(f"counts-{len(self._jobs) + 1}", [source], conf))

    def stop(self, here: str) -> Savepoint:
        """Stop with a savepoint on ``here``; names where the other cluster's is to be put, where it goes on."""
        number = len(self._jobs)
        taken = self._flink.stop(self._jobs[-1], self._directory)
        self._savepoint = self._directory / f"rewritten-{number}"
        return Savepoint(taken, self._savepoint) if here == "old" else Savepoint(self._savepoint, taken)

    def await_records(self, count: int) -> None:
        """Wait until the job of now has counted so many."""
        self._flink.wait_records(self._jobs[-1], count)

    def await_all(self, written: int) -> None:
        """Wait until all of its lives together have counted so many."""
        self.await_records(written - sum(len(job.records) for job in self._jobs[:-1]))

    @property
    def reading(self) -> Reading:
        """Its lives as one reader: what it read, and whether its state counted each payment once."""
        found = Reading()
        for line in (line for job in self._jobs for line in job.records):
            key, value = str(line["key"]).encode(), str(line["text"]).encode()
            found.note(key, value)
            number = number_of(key, value)
            if number is not None and line["n"] != number + 1:
                found.wrong("miscounted", f"{line['key']} has {line['n']} at payment {number}")
        return found

    def close(self) -> None:
        """End Flink."""
        self._flink.close()
