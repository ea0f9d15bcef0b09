"""Rows into a table of Iceberg, of which one that was held up adds none beside the start that took over from it.

Iceberg's own streaming writer looks whether the table has the batch, and then appends it: whoever is held up between
the two appends what another has appended meanwhile.  So a batch is appended to a branch of the start's own, and its
snapshot is published by Iceberg's write-audit-publish: each attempt to do so looks again, and the catalog takes it
only over the snapshot that was looked at.

Invariants
    I1  a batch that the table has is not published: its name is in the snapshot that has it, or had it first.
    I2  only the start itself writes to its branch, and what is there and not published is seen by no reader.
    I3  rows of a batch that is there are computed all the same: a query with state keeps its state so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # comes with pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit
from pyspark.sql.types import StructType

from anabranch.spark.streams.lake_tables import LAKES
from anabranch.spark.streams.sinks.errors import BatchBehindError, BranchGoneError
from anabranch.spark.streams.sinks.lake import LakeTable
from anabranch.spark.streams.sinks.port import QueryIdentity, SinkCounts, SinkKind
from anabranch.spark.streams.sinks.state import NONE_YET, checkpoint_of
from anabranch.streams.tables import TableDeclaration

_MAIN = "main"
_STAGED, _PUBLISHED = "wap.id", "published-wap-id"
_OWN_QUERY, _OWN_EPOCH = "spark.sql.streaming.queryId", "spark.sql.streaming.epochId"
"""How Iceberg's streaming writer names a batch, by which earlier releases wrote."""
_DUPLICATE = "DuplicateWAPCommitException"


class IcebergSink:
    """A ``BatchSink`` on a table that its catalog finds."""

    def __init__(self, table: TableDeclaration, identity: QueryIdentity) -> None:
        self.counts = SinkCounts(bytes=0)
        self._table = LakeTable("iceberg", "table", table, identity)
        self._query, self._fence = f"{identity.job}/{identity.query}", identity.fence
        self._prefix = f"anabranch_{hashlib.sha256(self._query.encode()).hexdigest()[:12]}_"
        self._known: tuple[int, int] | None = None
        """A snapshot of the table, and the last batch that it and those before it have."""
        self._opened: Any = None

    def check(self, schema: StructType) -> None:
        self._session = SparkSession.active()  # that of a batch has catalogs of its own, with other tables cached
        self._table.check(schema)

    def write(self, batch: DataFrame, batch_id: int) -> None:
        query, table = checkpoint_of(batch), self._loaded()
        table.refresh()
        head = table.currentSnapshot()
        last = self._last(table, head, query)
        if last > batch_id:
            raise BatchBehindError(self._table.sink, self._query, batch_id, last)
        if last == batch_id:
            batch.write.format("noop").mode("overwrite").save()  # I3
        else:
            self._move_branch(table, head)
            self._append(batch, f"{_name(query)}{batch_id}")
            self._publish(table)
            self._session.catalog.refreshTable(self._table.place)  # the queries' session reads it, too
        self.counts.last_batch = batch_id

    def close(self) -> None:
        """Take the branch away, which keeps files that the table itself may have given up."""
        if self._opened is not None:
            table, self._opened = self._opened, None
            try:
                self._remove(table, self._branch)
            except Py4JJavaError:  # the next start takes it away
                return

    @property
    def _branch(self) -> str:
        return f"{self._prefix}{self._fence}"

    def _loaded(self) -> Any:
        """The table; branches of earlier starts are gone, whose drivers may have been killed."""
        if self._opened is None:
            jvm: Any = self._session._jvm
            loading = jvm.org.apache.iceberg.spark.Spark3Util
            table = loading.loadIcebergTable(self._session._jsparkSession, self._table.place)
            for name in list(table.refs().keySet()):
                number = str(name).removeprefix(self._prefix)
                if name != number and number.isdigit() and int(number) < self._fence:
                    self._remove(table, str(name))
            self._opened = table
        return self._opened

    def _remove(self, table: Any, branch: str) -> None:
        table.refresh()
        if table.refs().containsKey(branch):
            table.manageSnapshots().removeBranch(branch).commit()

    def _move_branch(self, table: Any, head: Any) -> None:
        """Have the branch where the table is, so that what is appended to it comes next in the table, too (I2)."""
        there = table.refs().get(self._branch)
        if head is None:
            if there is not None:
                self._remove(table, self._branch)
            table.manageSnapshots().createBranch(self._branch).commit()
        elif there is None:
            table.manageSnapshots().createBranch(self._branch, head.snapshotId()).commit()
        elif there.snapshotId() != head.snapshotId():
            table.manageSnapshots().replaceBranch(self._branch, head.snapshotId()).commit()

    def _append(self, batch: DataFrame, name: str) -> None:
        has = self._table.columns()
        assert has is not None
        given = {column.lower(): column for column in batch.columns}
        rows = batch.select(
            *(
                batch[given[field.name.lower()]].alias(field.name)
                if field.name.lower() in given
                else lit(None).cast(field.dataType).alias(field.name)
                for field in has.fields
            )
        )
        writer = rows.write.format("iceberg").mode("append").option("branch", self._branch)
        writer.option(f"snapshot-property.{_STAGED}", name).save(self._table.place)

    def _publish(self, table: Any) -> None:
        """Have the branch's last snapshot in the table, unless the table has the batch by now (I1)."""
        table.refresh()
        staged = table.snapshot(self._branch)
        if staged is None:
            raise BranchGoneError(self._table.sink, self._branch, self._fence)
        try:
            table.manageSnapshots().cherrypick(staged.snapshotId()).commit()
        except Py4JJavaError as error:
            if _DUPLICATE not in str(error.java_exception.getClass().getName()):
                raise
            return
        summary = staged.summary()
        self.counts.records += int(summary.get("added-records") or 0)
        self.counts.bytes = (self.counts.bytes or 0) + int(summary.get("added-files-size") or 0)

    def _last(self, table: Any, head: Any, query: str) -> int:
        """The last batch of a query that the table has; further back than it is known nothing is looked at."""
        last = NONE_YET
        for snapshot in _back_from(table, head):
            if self._known is not None and snapshot.snapshotId() == self._known[0]:
                last = self._known[1]
                break
            if (found := _batch_of(snapshot.summary(), query)) is not None:
                last = found
                break
        if head is not None:
            self._known = head.snapshotId(), last
        return last


def _back_from(table: Any, snapshot: Any) -> Iterator[Any]:
    while snapshot is not None:
        yield snapshot
        parent = snapshot.parentId()
        snapshot = None if parent is None else table.snapshot(parent)


def _batch_of(summary: Any, query: str) -> int | None:
    """The batch of a query that a snapshot has; None where it has none."""
    for key in (_STAGED, _PUBLISHED):
        name = summary.get(key)
        if name is not None and str(name).startswith(_name(query)):
            return int(str(name).removeprefix(_name(query)))
    return int(summary.get(_OWN_EPOCH)) if summary.get(_OWN_QUERY) == query else None


def _name(query: str) -> str:
    """What the name of each batch of a query begins with; ``query`` is Spark's id, kept in its checkpoint."""
    return f"anabranch:{query}:"


KIND = SinkKind("iceberg", IcebergSink, dict(LAKES["iceberg"].required), exact=True)
