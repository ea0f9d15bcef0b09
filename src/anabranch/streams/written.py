"""Which micro-batch a sink's cluster has, and what follows for the batch that comes.

The batch is committed in the transaction that holds its records, so that the cluster has either both or neither.

Invariants
    B1  A batch is left out only where the cluster has exactly this batch of exactly this query.
    B2  A batch is written only where it is known that the cluster does not have it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from anabranch.errors import ProtocolError, RefusedError

_VERSION = 1


@dataclass(frozen=True, slots=True)
class WrittenBatch:
    """The newest micro-batch of a query (Spark's id of it) that the cluster has."""

    query: str
    batch: int

    def to_text(self) -> str:
        """The metadata of the commit."""
        return json.dumps({"v": _VERSION, "query": self.query, "batch": self.batch}, separators=(",", ":"))


@dataclass(eq=False)
class UnreadableCommitError(ProtocolError):
    """A group of the sink's own has commits that the sink has not made."""

    group: str
    text: str

    _message = "group {group} has a commit that is none of the sink's: {text!r}"
    _hint = "give the sink a transactional.id that is the name of no other group"


@dataclass(eq=False)
class UnknownBatchError(RefusedError):
    """The cluster has no batch of this query, and the query is beyond its first one."""

    query: str
    batch: int

    _message = (
        "whether batch {batch} of query {query} was written cannot be determined: "
        "the cluster has no commit of this query"
    )
    _hint = (
        "the group's commits have expired (offsets.retention.minutes), or the query wrote elsewhere before; "
        "look whether the batch is there, and if it is not, start with the option first.batch={batch}"
    )


@dataclass(eq=False)
class CheckpointBehindError(RefusedError):
    """The checkpoint is older than what the cluster has."""

    query: str
    batch: int
    written: int

    _message = "query {query} comes with batch {batch}, and the cluster has batch {written} of it already"
    _hint = (
        "the checkpoint was put back; its batches would be written a second time. To have that, give the sink another "
        "transactional.id and the option first.batch={batch}"
    )


def newest(group: str, texts: Iterable[str], query: str) -> WrittenBatch | None:
    """The newest batch of a query among the commits of a sink's group; raises UnreadableCommitError."""
    found: WrittenBatch | None = None
    for text in texts:
        try:
            fields = json.loads(text)
            if fields["v"] != _VERSION:
                raise ValueError(fields["v"])
            one = WrittenBatch(str(fields["query"]), int(fields["batch"]))
        except (ValueError, KeyError, TypeError) as error:
            raise UnreadableCommitError(group, text) from error
        if one.query == query and (found is None or one.batch > found.batch):
            found = one
    return found


def is_due(written: WrittenBatch | None, query: str, batch: int, first: int | None) -> bool:
    """Whether this batch is to be written; False where the cluster has it.

    ``first`` is the batch of which a person says that it was not written.  Raises UnknownBatchError and
    CheckpointBehindError.
    """
    if written is None or written.query != query:
        if batch not in (0, first):
            raise UnknownBatchError(query, batch)
        return True
    if batch < written.batch:
        raise CheckpointBehindError(query, batch, written.batch)
    return batch > written.batch
