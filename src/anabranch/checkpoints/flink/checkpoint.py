"""A savepoint or checkpoint of Flink: opened, shown, and rewritten as one file."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from anabranch.checkpoints.errors import DamagedCheckpointError, NoCheckpointError
from anabranch.checkpoints.flink import committables, old_consumer, page
from anabranch.checkpoints.flink.committables import TransactionalSink, find_sinks
from anabranch.checkpoints.flink.comparing import AsFound, absent_files, differences, has_relatives
from anabranch.checkpoints.flink.find import find_sources
from anabranch.checkpoints.flink.metadata import Operator, SavepointMetadata, read_metadata
from anabranch.checkpoints.flink.moving import MovedSource, drop, move
from anabranch.checkpoints.flink.selecting import SourceSelection, select
from anabranch.checkpoints.flink.source import Source, SourceKind, label
from anabranch.checkpoints.flink.stored import StateStore
from anabranch.checkpoints.job import CheckpointFormat, Page
from anabranch.checkpoints.plan import PendingTransactions, Rewrite, RewriteSpec
from anabranch.checkpoints.ports import FileEntry, Files
from anabranch.checkpoints.position import OffsetRole, Position
from anabranch.checkpoints.route import PositionRoute
from anabranch.errors import InvalidFieldError
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition

METADATA = "_metadata"
MAX_METADATA = 256 << 20

_Key = tuple[TopicPartition, object, OffsetRole]


class FlinkCheckpoint:
    """One that was read whole; ``open_checkpoint`` makes it. Only ``_metadata`` is ever written again."""

    format = CheckpointFormat.FLINK
    uncommitted = None

    def __init__(self, files: Files, data: bytes, written_at_ms: int) -> None:
        self._files = files
        self._metadata = read_metadata(data, files.root, METADATA)
        self._written_at_ms = written_at_ms
        self._store = StateStore(files)
        self._store.reads[METADATA] = hashlib.sha256(data).hexdigest()
        self.sources: tuple[Source, ...] = find_sources(self._metadata, self._store)
        self.sinks: tuple[TransactionalSink, ...] = find_sinks(self._metadata, self._store)

    @property
    def metadata(self) -> SavepointMetadata:
        """The file as values."""
        return self._metadata

    @property
    def number(self) -> int:
        """The checkpoint's id."""
        return self._metadata.checkpoint_id

    def positions(self) -> tuple[Position, ...]:
        """Every position of every Kafka source."""
        return tuple(position for source in self.sources for position in source.positions())

    def names(self) -> Mapping[str, str]:
        """Each source's uid or name by its id, as far as they are known."""
        return {source.id: source.label for source in self.sources if source.label != source.id}

    def page(self) -> Page:
        """All that is known of it."""
        written, beside = self._written_at_ms, self._checkpoints()
        return page.make(self._files.root, self._metadata, self.sources, self.sinks, written, beside)

    def newest_write_ms(self) -> int:
        """The newest of its files, and of the job's other checkpoints beside it."""
        beside = (entry.modified_ms for _, entry in self._checkpoints())
        return max((self._written_at_ms, *beside, *(entry.modified_ms for entry in self._files.list())))

    def interval_ms(self) -> int | None:
        """The longest time between the job's checkpoints that are there; a savepoint has none."""
        times = sorted(entry.modified_ms for _, entry in self._checkpoints() if entry.modified_ms)
        return max((later - one for one, later in pairwise(times)), default=None)

    def rewrite(self, rewrite_spec: RewriteSpec, route: PositionRoute) -> Rewrite:
        """The new ``_metadata``, or every reason against it. All state that changes is inlined in it."""
        selection = select(self.sources, rewrite_spec)
        moved = tuple(move(source, rewrite_spec, route) for source in selection.moved)
        refusals = [*selection.refusals, *(refusal for one in moved for refusal in one.refusals)]
        if rewrite_spec.sources is None:
            refusals += _ambiguous(moved)
        operators: dict[bytes, Operator | None] = {one.source.operator.id: one.operator for one in moved if one.moves}
        for source in selection.dropped:
            left = drop(source)
            if isinstance(left, Reason):
                refusals.append(left)
            else:
                operators[source.operator.id] = left
        if selection.dropped or any(one.moves or one.refusals for one in moved):
            refusals += committables.refuse(self.sinks, rewrite_spec.transactions)
        changes = tuple(change for one in moved for change in one.changes)
        if refusals:
            return Rewrite(changes, tuple(dict.fromkeys(refusals)), self._rewrite_notes(selection), reads=self._reads())
        notes = self._rewrite_notes(selection)
        if operators and rewrite_spec.transactions is PendingTransactions.DISCARD:
            for sink in self.sinks:
                if sink.pending:
                    operators[sink.operator.id] = committables.discard(sink.operator)
                    notes = (*notes, f"{sink.text}; they are taken out and must have been committed")
        new = self._replaced(operators)
        self._check(new, moved)
        writes: dict[str, bytes | None] = {METADATA: new.emit()} if operators else {}
        untouched = tuple(label(one) for one in self._metadata.operators if one.id not in operators)
        return Rewrite(changes, (), notes, writes, self._reads(), untouched)

    def relocated(self, data: bytes, root: str) -> bytes:
        """A ``_metadata`` for another directory: files that are relative to ``root`` are named by their whole path.

        ``root`` is where this checkpoint lies, an absolute path or URI. Raises InvalidFieldError for another one.
        """
        try:
            return read_metadata(data, self._files.root, METADATA).absolute(root).emit()
        except ValueError as error:
            raise InvalidFieldError("checkpoint", "place", str(error), "give an absolute path or a URI") from None

    def unlike(
        self, new: FlinkCheckpoint, rewrite_spec: RewriteSpec, route: PositionRoute, root: str | None = None
    ) -> tuple[str, ...]:
        """What of a result, beside the offsets of its positions, is not as this rewrite made again has it.

        ``root`` is where this checkpoint lies, an absolute path or URI, where the result lies elsewhere.
        """
        old, found = ({source.id: source for source in one.sources} for one in (self, new))
        again = self.rewrite(rewrite_spec, AsFound(route, old, found))
        if again.refusals:
            more = f" (and {len(again.refusals) - 1:,} more)" if len(again.refusals) > 1 else ""
            what = f"the rewrite is refused by now: {again.refusals[0].what}{more}"
            return (f"what is beside the positions could not be compared: {what}",)
        expected = self._metadata
        data = again.writes.get(METADATA)
        if data is not None:
            expected = read_metadata(data, self._files.root, METADATA)
        if root is not None and not has_relatives(new.metadata):  # else somebody has copied the whole directory
            expected = expected.absolute(root)
        return differences(expected, new.metadata) + absent_files(new.metadata, new._files)

    def _checkpoints(self) -> list[tuple[int, FileEntry]]:
        """The checkpoints of the job that lie beside this one, by number; none where this is a savepoint."""
        if not page.CHECKPOINT.fullmatch(self._files.root.rstrip("/").rpartition("/")[2]):
            return []
        matches = ((page.CHECKPOINT.fullmatch(one.name), one) for one in self._files.beside() if one.is_directory)
        return sorted(((int(match[1]), one) for match, one in matches if match), key=lambda one: one[0])

    def _reads(self) -> dict[str, str]:
        return dict(sorted(self._store.reads.items()))

    def _replaced(self, operators: dict[bytes, Operator | None]) -> SavepointMetadata:
        kept = (operators.get(one.id, one) for one in self._metadata.operators)
        return replace(self._metadata, operators=tuple(one for one in kept if one is not None))

    def _check(self, new: SavepointMetadata, moved: tuple[MovedSource, ...]) -> None:
        """Read the result again as if it were another's: it must say what the plan says, and nothing else."""
        again = read_metadata(new.emit(), self._files.root, METADATA)
        found = {source.id: source for source in find_sources(again, StateStore(self._files))}
        for one in moved:
            if not one.moves:
                continue
            source = found.get(one.source.id)
            if source is None or source.problems or Counter(map(_key, source.positions())) != _expected(one):
                what = f"{one.source.label} would not read back as it was planned"
                raise DamagedCheckpointError(self._files.root, METADATA, "result", what)

    def _rewrite_notes(self, selection: SourceSelection) -> tuple[str, ...]:
        if not selection.moved and not selection.dropped:
            return ()
        notes = ["start the job with claim mode NO_CLAIM, so that Flink deletes no file of the original"]
        kinds = {source.kind for source in selection.moved}
        if selection.moved:
            notes.append("give the sources the new bootstrap servers, and subscribe them to the new topics' names")
            notes.append(
                "keep auto.create.topics.enable off on the target: a wrong name would become an empty topic there"
            )
        if SourceKind.KAFKA in kinds or SourceKind.DYNAMIC in kinds:
            notes.append(
                "OffsetsInitializer.committedOffsets() as the starting offsets lets the job fail, "
                "and not begin elsewhere, should an offset be out of the log"
            )
        if SourceKind.OLD in kinds:
            notes.append(page.STOPPED)
            notes.append("auto.offset.reset=none lets the old consumer fail should an offset be out of the log")
        notes += [f"{source.label}: {old_consumer.STALE}" for source in selection.moved if source.stale is not None]
        if SourceKind.DYNAMIC in kinds:
            notes.append("the metadata service must give the new cluster, its servers and its topics at the start")
        return tuple(notes)


def open_checkpoint(files: Files) -> FlinkCheckpoint | None:
    """The checkpoint in this directory, None where no ``_metadata`` is.

    Reads ``_metadata`` and the operator state of what may be a Kafka source or a committer, nothing else. Raises
    DamagedCheckpointError, UnknownVersionError, FileTooLargeError, and NoCheckpointError for a job's directory.
    """
    entry = files.stat(METADATA)
    if entry is None or entry.is_directory:
        names = [one.name for one in files.list() if one.is_directory and page.CHECKPOINT.fullmatch(one.name)]
        if names:
            names.sort(key=lambda name: int(name.removeprefix("chk-")))
            raise NoCheckpointError(files.root, f"a job's checkpoints are below it: {', '.join(names[-8:])}; give one")
        return None
    return FlinkCheckpoint(files, files.read(METADATA, MAX_METADATA), entry.modified_ms)


def _ambiguous(moved: tuple[MovedSource, ...]) -> list[Reason]:
    readers: dict[str, list[Source]] = {}
    for one in moved:
        for topic in one.source.topics if one.moves else ():
            readers.setdefault(topic, []).append(one.source)
    return [
        Reason(
            ReasonKind.AMBIGUOUS,
            f"topic {topic} is read by {' and '.join(source.label for source in sources)}; which of them reads this "
            "cluster is not in the state",
            f"name those to move: {' '.join(f'--source {source.id}' for source in sources)}",
        )
        for topic, sources in sorted(readers.items())
        if len(sources) > 1
    ]


def _expected(one: MovedSource) -> Counter[_Key]:
    translation = {change.old for change in one.changes}
    expected = Counter(_key(position) for position in one.source.positions() if position not in translation)
    for change in one.changes:
        if change.moved is None:
            expected[_key(change.old)] += 1
        else:
            waited = change.old.role is OffsetRole.UNASSIGNED and change.moved.offset is not None
            role = OffsetRole.NEXT if waited else change.old.role
            expected[change.moved.partition, change.moved.offset, role] += 1
    return expected


def _key(position: Position) -> _Key:
    return position.partition, position.offset, position.role
