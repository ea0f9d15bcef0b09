"""One source on its way: its readers' and its enumerator's state again, both or none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from anabranch.checkpoints.flink.coordinator import Coordinator
from anabranch.checkpoints.flink.dynamic import DynamicCluster, DynamicState
from anabranch.checkpoints.flink.enumerator import ASSIGNED, Assignment, EnumeratorState
from anabranch.checkpoints.flink.metadata import Operator
from anabranch.checkpoints.flink.operator_state import rebuild
from anabranch.checkpoints.flink.source import Source, SourceKind
from anabranch.checkpoints.flink.split import NOTHING, KafkaSplit
from anabranch.checkpoints.flink.translating import Translator
from anabranch.checkpoints.plan import PositionChange, RewriteSpec, StopSavepoint
from anabranch.checkpoints.position import OffsetRole
from anabranch.checkpoints.route import PositionRoute
from anabranch.model.reasons import Reason, ReasonKind
from anabranch.model.topics import TopicPartition


@dataclass(frozen=True, slots=True)
class MovedSource:
    """The operator's new state; ``operator`` is the old one where nothing is to move, or if it is refused."""

    source: Source
    operator: Operator
    changes: tuple[PositionChange, ...]
    refusals: tuple[Reason, ...]

    @property
    def moves(self) -> bool:
        """Whether anything of it leaves the old cluster."""
        return any(change.moved is not None for change in self.changes)


def move(source: Source, rewrite_spec: RewriteSpec, route: PositionRoute) -> MovedSource:
    """Translate all of a source. Pure; asks the route for every position even where one was refused already."""
    problems = source.problems
    if source.stale is not None and rewrite_spec.stop_savepoint is StopSavepoint.REFUSE:
        problems = (*problems, source.stale)
    if problems:
        return MovedSource(source, source.operator, (), problems)
    clusters = [""]
    if source.kind is SourceKind.DYNAMIC:
        clusters = [name for name in source.enumerators if name in rewrite_spec.renamed_clusters]
        refusals = _clusters(source, clusters, rewrite_spec)
        if refusals:
            return MovedSource(source, source.operator, (), refusals)
    mover = _Mover(source, rewrite_spec, {cluster: Translator(source, cluster, route) for cluster in clusters})
    operator = mover.run()
    changes = tuple(change for one in mover.translators.values() for change in one.changes)
    refusals = tuple(refusal for one in mover.translators.values() for refusal in one.refusals)
    return MovedSource(source, source.operator if refusals else operator, changes, refusals)


def drop(source: Source) -> Operator | Reason | None:
    """The operator without the source's entries, None where nothing of it is left.

    A job that starts from it begins this source as its program says, while all other state goes on. Not so the old
    consumer: in a restored job it takes missing partitions for new ones and reads them from their beginning.
    """
    if source.kind is SourceKind.OLD:
        return Reason(
            ReasonKind.UNSUPPORTED,
            f"{source.label}: without its entries, and with another uid too, a FlinkKafkaConsumer takes each "
            "partition of a restored job for a new one and reads it from its beginning",
            "rewrite its positions instead; or make it a KafkaSource with another uid, which begins as the program "
            "says: at OffsetsInitializer.committedOffsets(), with its group begun on the target as "
            "`anabranch checkpoint advise` shows",
            source.label,
        )
    operator = source.operator
    subtasks = operator.subtasks or ()
    # Flink wants the operators of a chain to have finished together, so what tells that one has is kept.
    alone = all(
        not subtask.finished
        and subtask.only_operator_state
        and (subtask.managed is None or {state.name for state in subtask.managed.states} <= {source.state_name})
        for subtask in subtasks
    )
    if alone:
        return None
    emptied = tuple(
        replace(subtask, managed=subtask.managed.emptied(source.state_name)) if subtask.managed is not None else subtask
        for subtask in subtasks
    )
    return replace(operator, coordinator=None, subtasks=emptied)


def _clusters(source: Source, clusters: list[str], rewrite_spec: RewriteSpec) -> tuple[Reason, ...]:
    location = source.label
    if not clusters:
        what = "a dynamic source stores its clusters by name; which of them is moved was not said"
        fix = f"say --dynamic-cluster OLD=NEW@BOOTSTRAP; there are: {', '.join(source.enumerators)}"
        return (Reason(ReasonKind.AMBIGUOUS, what, fix, location),)
    refusals = []
    names = [rewrite_spec.renamed_clusters.get(name, (name, ""))[0] for name in source.enumerators]
    for name in sorted({name for name in names if names.count(name) > 1}):
        refusals.append(Reason(ReasonKind.COLLISION, f"two clusters of the source would be named {name}", "", location))
    topics: dict[str, str] = {}
    for cluster in clusters:
        for topic in sorted({one.partition.topic for one in source.enumerators[cluster].assignments}):
            if topics.setdefault(topic, cluster) != cluster:
                what = (
                    f"topic {topic} is on the clusters {topics[topic]} and {cluster}, one route cannot tell them apart"
                )
                refusals.append(Reason(ReasonKind.AMBIGUOUS, what, "move one cluster after the other", location))
    return tuple(refusals)


class _Mover:
    def __init__(self, source: Source, rewrite_spec: RewriteSpec, translators: Mapping[str, Translator]) -> None:
        self.source = source
        self.rewrite_spec = rewrite_spec
        self.translators = translators
        self.splits: dict[tuple[str, TopicPartition], KafkaSplit] = {}

    def run(self) -> Operator:
        changed: dict[int, dict[int, bytes]] = defaultdict(dict)
        source = self.source
        for one in source.stored:
            cluster, split = one.element.cluster, one.element.split
            if cluster in self.translators:
                new = self.translators[cluster].split(split, source.location_of(one))
                self.splits[cluster, split.partition] = new
                element = one.element.moved(new, self._cluster(cluster))
                changed[one.subtask][one.offset] = element.emit()
        assignments = {
            cluster: self._assignments(cluster) for cluster in source.enumerators if cluster in self.translators
        }
        for cluster, translator in self.translators.items():
            translator.settle(self._no_room(cluster))
            assignments[cluster] = (*assignments.get(cluster, ()), *self._found(cluster))
        coordinator = self._coordinator(assignments)
        if any(translator.refusals for translator in self.translators.values()):
            return source.operator
        if all(translator.stays for translator in self.translators.values()):
            return source.operator
        return self._operator(changed, coordinator)

    def _cluster(self, cluster: str) -> str:
        if self.translators[cluster].stays:
            return cluster
        return self.rewrite_spec.renamed_clusters.get(cluster, (cluster, ""))[0]

    def _assignments(self, cluster: str) -> tuple[Assignment, ...]:
        return tuple(self._assignment(cluster, one) for one in self.source.enumerators[cluster].assignments)

    def _assignment(self, cluster: str, one: Assignment) -> Assignment:
        translator, location = self.translators[cluster], self.source.enumerator_location(cluster)
        if one.status != ASSIGNED:
            return self._waiting(translator, one, location)
        read = self.splits.get((cluster, one.partition))
        partition = read.partition if read is not None else translator.name(one.partition, location)
        split = one.split
        if split is not None:
            # Flink uses the offsets of a partition that was handed out no more: its reader stores where it is.
            start = translator.idle(
                split.start,
                one.partition,
                OffsetRole.INITIAL,
                location,
                read.start if read is not None else split.start,
            )
            stop = translator.idle(
                split.stop, one.partition, OffsetRole.STOP, location, read.stop if read is not None else split.stop
            )
            split = split.moved(partition, start, stop)
        return Assignment(partition, one.status, split)

    def _waiting(self, translator: Translator, one: Assignment, location: str) -> Assignment:
        """A partition that was found and not handed out: version 3 alone stores from where it will be read.

        Where nothing is stored the route may give an offset.
        """
        if one.split is not None and one.split.start != NOTHING:
            split = translator.split(one.split, location)
            return Assignment(split.partition, one.status, split)
        target, start = translator.given(one.partition, location)
        if translator.stays:
            return one
        if start is None:
            translator.refuse(
                ReasonKind.MARKER,
                f"{one.partition} was found and not yet read; the program chooses where it begins, on the new cluster",
                "take the savepoint again once all partitions are read; or give the positions of all, this one's too: "
                "--offsets FILE",
                location,
            )
            return one
        if one.split is not None and one.split.stop == NOTHING:
            return Assignment(target, one.status, one.split.moved(target, start, NOTHING))
        room = "the source is bounded" if one.split is not None else self._no_room(translator.cluster)
        if room:
            what = f"{one.partition} was found and not yet read, and its offset cannot be put in ({room})"
            translator.refuse(
                ReasonKind.MARKER, what, "take the savepoint again once all partitions are read", location
            )
            return one
        # Its own state has no place for an offset in this version: a reader takes it, and has it in its state.
        translator.handed[target] = start
        return Assignment(target, ASSIGNED)

    def _no_room(self, cluster: str) -> str:
        """Why a partition cannot be put in; empty where it can."""
        stored = [one for one in self.source.stored if one.element.cluster == cluster]
        if not stored:
            return "no reader stores a partition"
        if any(one.element.split.stop != NOTHING for one in stored):
            return "the source is bounded"
        return ""

    def _found(self, cluster: str) -> tuple[Assignment, ...]:
        return tuple(
            Assignment(partition, ASSIGNED, KafkaSplit(partition, offset))
            for partition, offset in self.translators[cluster].added.items()
        )

    def _coordinator(self, assignments: Mapping[str, tuple[Assignment, ...]]) -> Coordinator | None:
        source, state = self.source, self.source.enumerator
        if source.coordinator is None or state is None:
            return None
        for cluster, translator in self.translators.items():
            if source.enumerators[cluster].version == 0:
                what = "an enumerator's state of Flink 1.12"
                translator.refuse(ReasonKind.UNSUPPORTED, what, "restore it with Flink 1.13 and take a savepoint")
                return source.coordinator
        if isinstance(state, EnumeratorState):
            return replace(source.coordinator, state=state.with_assignments(assignments[""]).emit())
        return replace(source.coordinator, state=self._dynamic(state, assignments).emit())

    def _dynamic(self, state: DynamicState, assignments: Mapping[str, tuple[Assignment, ...]]) -> DynamicState:
        streams = tuple(
            replace(stream, clusters=tuple(self._stream_cluster(cluster, stream.id) for cluster in stream.clusters))
            for stream in state.streams
        )
        enumerators = {}
        for name, found in state.enumerators.items():
            if name in self.translators:
                enumerators[self._cluster(name)] = found.with_assignments(assignments[name])
            else:
                enumerators[name] = found
        return replace(state, streams=streams, enumerators=enumerators)

    def _stream_cluster(self, cluster: DynamicCluster, stream: str) -> DynamicCluster:
        translator = self.translators.get(cluster.id)
        if translator is None or translator.stays:
            return cluster
        name, bootstrap = self.rewrite_spec.renamed_clusters[cluster.id]
        topics = translator.topics(f"{self.source.label}, stream {stream}", cluster.topics)
        return replace(cluster, id=name, bootstrap=bootstrap, topics=topics)

    def _operator(self, changed: Mapping[int, Mapping[int, bytes]], coordinator: Coordinator | None) -> Operator:
        source = self.source
        operator, subtasks = source.operator, list(source.operator.subtasks or ())
        added = self._added()
        for at, elements in changed.items():
            handle = subtasks[at].managed
            if handle is not None:
                new = {source.state_name: added.pop(at)} if at in added else None
                subtasks[at] = replace(subtasks[at], managed=rebuild(handle, source.states[at], elements, new))
        inline = operator.coordinator
        if inline is not None and coordinator is not None:
            inline = replace(inline, data=coordinator.emit())
        new_subtasks = tuple(subtasks) if operator.subtasks is not None else None
        return replace(operator, coordinator=inline, subtasks=new_subtasks)

    def _added(self) -> dict[int, tuple[bytes, ...]]:
        """Elements for partitions that no reader has yet, by subtask: the first that reads of their cluster."""
        out: dict[int, tuple[bytes, ...]] = {}
        for cluster, translator in self.translators.items():
            first = next((one for one in self.source.stored if one.element.cluster == cluster), None)
            if first is None:
                continue
            for partition, offset in (*translator.handed.items(), *translator.added.items()):
                element = first.element.moved(KafkaSplit(partition, offset), self._cluster(cluster))
                out[first.subtask] = (*out.get(first.subtask, ()), element.emit())
        return out
