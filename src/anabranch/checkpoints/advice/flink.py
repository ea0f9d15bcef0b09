"""The ways that only Flink jobs have."""

from __future__ import annotations

from anabranch.checkpoints.advice import words
from anabranch.checkpoints.advice.conditions import empty_targets, explicit_offsets, fits, group_has_offsets, rewritable
from anabranch.checkpoints.advice.effects import EXACT, by_route, from_commits
from anabranch.checkpoints.advice.facts import Facts
from anabranch.checkpoints.advice.values import AdviceStep, Condition, ConditionStatus, Effect, Way, WayKind

_DYNAMIC = "dynamic"
_COPIED = "until the link has copied up to the job's positions"


def new_uid(facts: Facts) -> Way:
    """The sources get another uid, so that Flink takes them for new ones."""
    what = "the sources' uids can be changed, and every other operator has its own"
    uids = Condition(what, _status(facts.uids), facts.uids_why or "unknown", _UID_FIX if not facts.uids else "")
    return Way(
        WayKind.NEW_UID,
        "give the sources new uids, and have them begin at committed offsets",
        (
            _no_sql(facts),
            uids,
            *_no_old_consumer(facts),
            *group_has_offsets(facts),
            *explicit_offsets(facts),
            *fits(facts, facts.copying_s(), _COPIED),
        ),
        _effect(facts),
        (
            words.stop(facts),
            *_positions(facts),
            AdviceStep(
                'in the job: .uid("another") for each source and '
                "OffsetsInitializer.committedOffsets(), which fails where an offset is out of range"
            ),
            AdviceStep(
                f"start it with bootstrap servers {words.servers(facts)}; the old sources' state is left over",
                words.command("flink", "run", "-s", facts.path, "--allowNonRestoredState", "JOB.jar"),
            ),
        ),
        facts.copying_s(),
        _COPIED,
        _instead(facts),
    )


def drop_source(facts: Facts) -> Way:
    """The sources' entries are taken out of the savepoint, everything else stays."""
    if facts.drop is None:
        what = Condition("the sources' entries can be taken out", ConditionStatus.UNKNOWN, "it was not planned")
        taken: tuple[Condition, ...] = (what,)
    else:
        taken = rewritable("the sources' entries can be taken out", facts.drop)
    flags = facts.drop.flags if facts.drop is not None else ("--drop-source", "ID")
    return Way(
        WayKind.DROP_SOURCE,
        "take the sources out of the savepoint, and have them begin at committed offsets",
        (*taken, *group_has_offsets(facts), *explicit_offsets(facts), *fits(facts, facts.copying_s(), _COPIED)),
        _effect(facts),
        (
            words.stop(facts),
            *_positions(facts),
            AdviceStep("look at what would be taken out", words.checkpoint(facts, "plan", *flags)),
            AdviceStep(
                "take it out, to a new path",
                words.checkpoint(
                    facts, "rewrite", *flags, "--to", words.moved_to(facts), "--plan", "HASH", "--execute"
                ),
            ),
            AdviceStep(
                "have the sources begin at committed offsets: OffsetsInitializer.committedOffsets(), in SQL "
                "'scan.startup.mode' = 'group-offsets'"
            ),
            words.start(facts, words.moved_to(facts)),
        ),
        facts.copying_s(),
        _COPIED,
        _instead(facts),
    )


def dynamic(facts: Facts) -> Way:
    """A DynamicKafkaSource reads both clusters while the producers move; the job need not stop."""
    kinds = {one.source: one.kind for one in facts.page.sources}
    moved = sorted({one.source for one in facts.moving()})
    other = [one for one in moved if _DYNAMIC not in kinds.get(one, "")]
    targets = empty_targets(facts)
    held = sum(log.end - log.start for at, log in facts.new.items() if at.topic in set(facts.targets()))
    if other:
        why = f"{', '.join(other[:3])}: {kinds.get(other[0], 'unknown')}; its state is not taken over by one"
    else:
        why = "" if moved else "no source is to be moved"
    return Way(
        WayKind.DYNAMIC,
        "have a DynamicKafkaSource read both clusters while the producers move",
        (
            Condition(
                "the sources are DynamicKafkaSources",
                ConditionStatus.UNMET if why else ConditionStatus.MET,
                why,
                "change them for the next move: a new uid at committed offsets" if other else "",
            ),
            targets,
            Condition("the producers can move before the job does", ConditionStatus.UNKNOWN, "only you know"),
        ),
        EXACT
        if targets.status is not ConditionStatus.UNMET
        else Effect(held, 0, "what the target topics hold already"),
        (
            AdviceStep(f"add the cluster {words.servers(facts)} to the streams' metadata, beside the old one"),
            AdviceStep("move the producers"),
            AdviceStep(
                "wait until the old cluster's lag is 0, then take it out of the metadata",
                words.command("anabranch", "checkpoint", "inspect", facts.path, "--cluster", facts.source or "OLD"),
            ),
        ),
        0.0,
        "the job goes on",
        ("a new cluster's topics are read from where the source's starting offsets say: earliest, for new topics",),
    )


_UID_FIX = "say whether every operator has one: --uids or --no-uids"


def _status(answer: bool | None) -> ConditionStatus:
    if answer is None:
        return ConditionStatus.UNKNOWN
    return ConditionStatus.MET if answer else ConditionStatus.UNMET


def _no_sql(facts: Facts) -> Condition:
    what = "the job is not of SQL or the Table API"
    if facts.sql is None:
        return Condition(what, ConditionStatus.UNKNOWN, "unknown", "say which: --sql or --no-sql")
    why = "its operators' ids are made by the planner, and a single source's id cannot be changed" if facts.sql else ""
    return Condition(what, _status(not facts.sql), why)


def _no_old_consumer(facts: Facts) -> tuple[Condition, ...]:
    moved = {one.source for one in facts.moving()}
    old = [
        one.name
        for one in facts.page.sources
        if (one.source in moved or facts.unread) and words.OLD_CONSUMER in one.kind
    ]
    if not old:
        return ()
    why = f"{old[0]}: in a restored job it takes partitions without state for new ones, and reads them from their start"
    fix = "rewrite its positions; or make it a KafkaSource, which has state of its own, at the same time"
    return (Condition("no source is a FlinkKafkaConsumer", ConditionStatus.UNMET, why, fix),)


def _effect(facts: Facts) -> Effect:
    if facts.exact() is not None:
        return by_route(facts)
    if facts.group is None:
        return Effect(None, None, "name the job's group (--group), or a route that knows every position")
    return from_commits(facts, facts.group)


def _positions(facts: Facts) -> tuple[AdviceStep, ...]:
    """How the group gets its commits on the target: at the exact positions if those are known."""
    if facts.exact() is not None:
        return *words.write_offsets(facts), *words.begin_group(facts)
    pairs = zip(facts.flags[::2], facts.flags[1::2], strict=False)
    links = [value for flag, value in pairs if flag == "--link"] or ["LINK"]
    name = facts.group.name if facts.group is not None else "GROUP"
    return tuple(AdviceStep("move the job's group", _sync(facts, link, name)) for link in links)


def _sync(facts: Facts, typed: str, group: str) -> str:
    link, _, target_context = typed.partition("@")
    target = ("--target", target_context) if target_context else words.target_flags(facts)
    return words.command("anabranch", "groups", "sync", link, group, *target, "--execute")


def _instead(facts: Facts) -> tuple[str, ...]:
    """What the group's own commits would do, in numbers, where the exact positions are taken instead."""
    if facts.exact() is None or facts.group is None:
        return ()
    found = from_commits(facts, facts.group)
    if found.repeated is None or found.lost is None:
        return (found.why,)
    return (
        f"with the commits of group {facts.group.name} instead {found.repeated:,} records would be read again and "
        f"{found.lost:,} never",
    )
