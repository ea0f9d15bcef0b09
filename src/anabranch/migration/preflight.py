"""What stands in a migration's way, or is worth a look before it begins: every reason at once, in words with numbers.

It looks at what both clusters were seen to hold.  What a link's own probe says (permissions, partition counts, configs,
sizes of messages, loops) is found there and comes beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from anabranch.migration.estimate import USUAL_RATE, Estimate
from anabranch.migration.inventory import BatchSample, GroupInventory, Inventory, TopicInventory
from anabranch.migration.spec import FenceKind, Migration, Wave, WaveOrder
from anabranch.migration.suggest import is_moved
from anabranch.migration.words import named, rate, verb, volume
from anabranch.model.clock import DAY_MS
from anabranch.model.counted import counted
from anabranch.model.reasons import Reason, Severity
from anabranch.model.transactions import span

_CLOCK_WARNS_MS, _CLOCK_FORBIDS_MS = 10_000, 300_000
"""From when on clocks are too far apart: what is judged by them is judged with an hour to spare."""
_MOST_FULL = 0.8
"""Of what is left on disks: with more than this to copy there is little room for what is written meanwhile."""
_SET_CLOCKS = "have both keep time (NTP): the machine that the service runs on, those of its workers, and the brokers"


def preflight(
    migration: Migration,
    source: Inventory,
    target: Inventory,
    estimates: Mapping[str, Estimate],
    others: Sequence[Wave] = (),
) -> dict[str, tuple[Reason, ...]]:
    """The reasons of each wave, by its name; those of the whole migration are at the empty one.

    ``others`` are waves of the file that are not planned now: what is theirs is in a wave.
    """
    found = {"": tuple(_whole(migration, source, target, others))}
    homes = {group: wave.name for wave in (*migration.waves, *others) for group in wave.groups}
    for wave in migration.waves:
        found[wave.name] = tuple(_wave(wave, source, estimates[wave.name], homes))
    return found


def _error(what: str, fix: str = "") -> Reason:
    return Reason.found(Severity.ERROR, what, fix)


def _warning(what: str, fix: str = "") -> Reason:
    return Reason.found(Severity.WARNING, what, fix)


def _info(what: str) -> Reason:
    return Reason.found(Severity.INFO, what)


def _whole(migration: Migration, source: Inventory, target: Inventory, others: Sequence[Wave]) -> Iterator[Reason]:
    for name, wanted, seen in (
        ("source", migration.source_id, source),
        ("target", migration.target_id, target),
    ):
        if wanted and wanted != seen.cluster_id:
            yield _error(
                f"{name}: context {seen.context} leads to cluster {seen.cluster_id}, not to {wanted}",
                f"correct the context, or {name}_id in the file",
            )
    if source.cluster_id == target.cluster_id:
        yield _error(
            f"contexts {source.context} and {target.context} lead to one cluster, {source.cluster_id}",
            "name two clusters",
        )
    yield from (*source.unavailable, *target.unavailable)
    for seen in (source, target):
        yield from _clock(seen)
    yield from _space(migration, source, target)
    taken = {topic for wave in (*migration.waves, *others) for topic in wave.topics}
    if left := sorted(topic for topic in source.topics if topic not in taken and is_moved(topic)):
        yield _info(f"{named(left, 'topic')} of {source.context} {verb(left, 'is', 'are')} in no wave")


def _space(migration: Migration, source: Inventory, target: Inventory) -> Iterator[Reason]:
    """Whether what is copied fits on the target's disks: batches keep their size, and each replica has them."""
    if target.free is None:
        return
    brokers, needed = max(1, target.brokers), 0
    for name in (topic for wave in migration.waves for topic in wave.topics):
        if (topic := source.topics.get(name)) is None:
            continue
        if topic.size is None:
            return
        copies = migration.copy.replication_factor or topic.replication_factor
        needed += topic.size * min(brokers, max(1, copies))
    free, least = sum(target.free.values()), min(target.free.values(), default=0)
    told = f"the copies take about {volume(needed)} with all their replicas, and brokers of {target.context} have "
    fix = "give them more disk, or move fewer waves at once: `anabranch migrate start --wave`"
    if needed > free:
        yield _error(f"{told}{volume(free)} left", fix)
    elif needed > _MOST_FULL * free:
        yield _warning(f"{told}{volume(free)} left", fix)
    elif needed / brokers > least:
        yield _warning(f"{told}{volume(free)} left, but one of them {volume(least)}: it has less than its part", fix)


def _clock(seen: Inventory) -> Iterator[Reason]:
    """A clock that is off by minutes.

    Whether a broker still knows a producer id is judged by the clock here, with an hour to spare, and brokers of 4.0
    and later refuse control records that are an hour ahead of theirs.
    """
    off = seen.clock
    if off is None or off.at_least_ms < _CLOCK_WARNS_MS:
        return
    side = "ahead of" if off.is_ahead else "behind"
    told = f"the clock of the machine that plans this is {off.at_least_ms / 1000:,.1f} s {side} that of {seen.context}"
    told += f" at the least, known within {off.within_ms / 1000:,.1f} s"
    if off.at_least_ms < _CLOCK_FORBIDS_MS:
        yield _warning(f"{told}: ages and lags that are shown are off by that", _SET_CLOCKS)
    else:
        most = f"{_CLOCK_FORBIDS_MS // 60_000} min"
        yield _error(f"{told}; {most} are allowed: it is judged by clocks what a broker still remembers", _SET_CLOCKS)


def _wave(wave: Wave, source: Inventory, estimate: Estimate, homes: Mapping[str, str]) -> Iterator[Reason]:
    for name in wave.topics:
        if name not in source.topics:
            fix = "correct its name, leave it out, or grant DESCRIBE on it: brokers do not list what may not be seen"
            yield _error(f"there is no topic {name} on {source.context}", fix)
    topics = [source.topics[topic] for topic in wave.topics if topic in source.topics]
    yield from _groups(wave, source, homes)
    yield from _writers(wave, source, topics)
    for topic in topics:
        yield from _topic(topic, source.seen_ms)
    yield from _time(wave, topics, estimate)


# -- who reads ---------------------------------------------------------------------------------------------


def _groups(wave: Wave, source: Inventory, homes: Mapping[str, str]) -> Iterator[Reason]:
    topics = frozenset(wave.topics)
    for name in wave.groups:
        group = source.groups.get(name)
        if group is None:
            yield _error(f"there is no group {name} on {source.context}", "correct its name, or leave it out")
            continue
        if not group.kind.is_movable:
            yield _error(
                f"group {name} is of kind {group.kind.value}, whose position is not in its commits alone",
                "move that application by its own means, and leave the group out",
            )
        elsewhere = [topic for topic in group.topics if topic not in topics and is_moved(topic)]
        if elsewhere:
            yield _error(
                f"group {name} also reads {named(elsewhere, 'topic')}, not in this wave: it would be on two clusters",
                "add the topic to this wave, or delete the group's commits of it if nobody reads it there any more",
            )
        if not group.topics:
            yield _warning(f"group {name} has committed nothing: it would begin where its own settings say")
        elif not topics & frozenset(group.topics):
            yield _error(f"group {name} has committed nothing of this wave's topics", "put it into its own wave")
    for group in source.readers(wave.topics):
        if group.name not in wave.groups:
            yield _forgotten(group, topics, homes.get(group.name))


def _forgotten(group: GroupInventory, topics: frozenset[str], home: str | None) -> Reason:
    """``home`` is the wave that has the group, if any."""
    reads = named(sorted(topics & frozenset(group.topics)), "topic")
    where = "in no wave" if home is None else f"in wave {home}"
    fix = "add it to this wave's groups" if home is None else "have its topics and it in one wave"
    fix = fix if group.kind.is_movable else "see to it that its application is moved"
    if group.state.is_active:
        what = f"group {group.name} reads {reads} with {counted(len(group.members), 'member')}, and is {where}"
        return _error(what, fix) if group.kind.is_movable else _warning(f"{what} ({group.kind.value})", fix)
    return _warning(f"group {group.name} has commits of {reads}, nobody is in it, and it is {where}", fix)


# -- who writes --------------------------------------------------------------------------------------------


def _writers(wave: Wave, source: Inventory, topics: Sequence[TopicInventory]) -> Iterator[Reason]:
    writers = source.writing(wave.topics)
    open_ = [writer for writer in writers if writer.open]
    for writer in open_:
        age = span(source.seen_ms - writer.last_ms)
        yield _warning(
            f"transaction of {writer.transactional_id or f'producer id {writer.producer_id}'} is open on "
            f"{', '.join(str(one) for one in writer.open[:3])}, last written to {age} ago: a switch waits for its end",
            "see `anabranch link abort-transaction` if it hangs",
        )
    names = sorted({writer.transactional_id for writer in writers if writer.transactional_id})
    recent = [writer for writer in writers if source.seen_ms - writer.last_ms < DAY_MS]
    if names:
        yield _info(f"wave {wave.name} is written to in transactions by {named(names, 'transactional id')}")
    plain = [topic.name for topic in topics if topic.sample.plain]
    if plain and FenceKind.ACL not in wave.fences and FenceKind.HOOK not in wave.fences:
        yield _warning(
            f"{named(plain, 'topic')} {verb(plain, 'has', 'have')} batches of producers without an id, which no "
            "broker remembers: such a client is seen only while it writes",
            "add fence acl, or stop it by a hook",
        )
    if recent and wave.fences == (FenceKind.ROUTES,):
        yield _warning(
            f"{counted(len(recent), 'producer')} wrote within a day, and routes hold only those that use the SDK",
            "add fence observe, which proves that nobody else writes, or acl, which keeps them from it",
        )
    if wave.order is WaveOrder.TOGETHER and FenceKind.OBSERVE in wave.fences and len(wave.fences) == 1 and recent:
        yield _info(f"wave {wave.name}: nobody is kept from writing; the switch waits until its producers are stopped")


# -- what lies there ---------------------------------------------------------------------------------------


def _topic(topic: TopicInventory, now_ms: int) -> Iterator[Reason]:
    sample = topic.sample
    if topic.is_compacted:
        yield _info(f"topic {topic.name} is compacted: its lanes are mapped, and offsets change")
    if sample.append_time:
        yield _info(f"topic {topic.name} has times of the broker's clock (LogAppendTime): they are kept as they are")
    yield from _times(topic.name, sample, now_ms)
    if sample.gaps and not topic.is_compacted and not sample.transactional:
        yield _info(f"topic {topic.name} has {counted(sample.gaps, 'offset')} without a record in what was looked at")


def _times(topic: str, sample: BatchSample, now_ms: int) -> Iterator[Reason]:
    if sample.newest_ms is not None and sample.is_ahead(now_ms):
        yield _warning(
            f"topic {topic} has records of {span(sample.newest_ms - now_ms)} from now",
            "nothing is refused while the link runs; retention by time keeps them for longer",
        )
    if sample.is_early:
        yield _warning(
            f"topic {topic} has records of times before 2000",
            "retention by time would take them as soon as the target's own retention holds again: set it before",
        )


def _time(wave: Wave, topics: Sequence[TopicInventory], estimate: Estimate) -> Iterator[Reason]:
    """Whether it catches up, and before what it copies is gone; where the rate is a guess it forbids nothing."""
    guess = f"; {rate(USUAL_RATE)} are a guess: say what may be read in limits.source_rate" if estimate.assumed else ""
    tell = _warning if estimate.assumed else _error
    together = f" while {estimate.waves} waves copy at once" if estimate.waves > 1 else ""
    if estimate.is_endless:
        yield tell(
            f"wave {wave.name} is written to with {rate(estimate.written)}, and may be read with "
            f"{rate(estimate.rate)}{together}: the copy never catches up{guess}",
            "raise limits.source_rate" if estimate.waves == 1 else "raise limits.source_rate, or start fewer at once",
        )
        return
    if estimate.seconds is None:
        return
    takes = f"copying wave {wave.name} takes about {span(round(estimate.seconds * 1000))}{together}"
    for topic in topics:
        kept, most = topic.retention_ms, topic.retention_bytes
        comes = estimate.seconds * (topic.bytes_a_second or 0.0)
        if kept is not None and topic.records and kept < estimate.seconds * 1000:
            keeps, setting = f"keeps records for {span(kept)}", "retention.ms"
        elif most is not None and topic.records and comes > most * topic.partitions:
            keeps = f"keeps {volume(most)} in each partition, and {volume(comes)} come meanwhile"
            setting = "retention.bytes"
        else:
            continue
        yield tell(
            f"topic {topic.name} {keeps}, and {takes}: records would be gone before they are copied{guess}",
            f"raise its {setting} on the source for that time, or begin later: copy.start",
        )
