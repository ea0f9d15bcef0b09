"""The ways that every engine has."""

from __future__ import annotations

from anabranch.checkpoints.advice import words
from anabranch.checkpoints.advice.conditions import (
    committed,
    empty_targets,
    exact_answers,
    explicit_offsets,
    fits,
    identity_lanes,
    no_state,
    one_cluster,
    plural,
    rewritable,
    same_everywhere,
)
from anabranch.checkpoints.advice.effects import EXACT, by_route, from_beginning
from anabranch.checkpoints.advice.facts import Attempt, Facts
from anabranch.checkpoints.advice.values import AdviceStep, Condition, ConditionStatus, Effect, Way, WayKind
from anabranch.checkpoints.job import CheckpointFormat
from anabranch.model.reasons import ReasonKind

_COPIED = "until the link has copied up to the job's positions"


def identity(facts: Facts) -> Way:
    """Nothing to rewrite: offsets are equal on both clusters."""
    waits = facts.copying_s()
    batch = committed(facts)
    sinks = _transactions(facts, chosen=None)
    return Way(
        WayKind.IDENTITY,
        "change nothing but the servers",
        (
            same_everywhere(facts)[0],
            identity_lanes(facts),
            *explicit_offsets(facts),
            *batch,
            *sinks,
            *fits(facts, waits, _COPIED),
        ),
        by_route(facts),
        (
            words.stop(facts),
            AdviceStep("see that every position is still the same there", words.checkpoint(facts, "plan")),
            words.start(facts, facts.path),
        ),
        waits,
        _COPIED,
        ("a source's end without records (a transaction's marker) is not on the target yet: the plan says so",),
    )


def rewritten(facts: Facts) -> Way:
    """The positions inside of the checkpoint are translated, and nothing else."""
    attempt = best_attempt(facts)
    waits = facts.copying_s()
    state = sum(one.state_bytes or 0 for one in facts.stateful())
    notes = [f"{state:,} bytes of state are neither read nor copied"] if state else []
    if attempt is not None:
        notes += attempt.rewrite.notes
    spark = facts.page.format is CheckpointFormat.SPARK
    return Way(
        WayKind.REWRITE,
        "rewrite the positions in the checkpoint" if spark else "rewrite the positions in the savepoint",
        (
            *rewritable("every position can be rewritten", attempt),
            *explicit_offsets(facts),
            *_transactions(facts, attempt),
            *fits(facts, waits, _COPIED),
        ),
        by_route(facts),
        (words.stop(facts), *words.rewrite(facts, attempt), words.start(facts, words.moved_to(facts))),
        waits,
        _COPIED,
        tuple(notes),
    )


def producers_first(facts: Facts) -> Way:
    """Producers move, the job reads the rest of the old cluster, and begins the new one at its beginning."""
    drain = facts.drain_s()
    lag = facts.lag()
    behind = "what the job has not read on the old cluster is not known" if lag is None else f"{lag:,} records to read"
    if drain is None:
        behind += "; how fast it reads is not known: --group NAME while it runs, --measure for longer"
    targets = empty_targets(facts)
    renames = [
        word
        for old, new in zip(facts.topics(), facts.targets(), strict=False)
        if old != new and len(facts.topics()) == len(facts.targets())
        for word in ("--rename", f"{old}={new}")
    ]
    named = words.target_flags(facts) or ("--target", "NAME")
    flags = ("--start", "earliest", *named, *renames, *words.source_flags(facts))
    held = sum(log.end - log.start for at, log in facts.new.items() if at.topic in set(facts.targets()))
    return Way(
        WayKind.PRODUCERS_FIRST,
        "move the producers first, and let the job drain the old cluster",
        (
            targets,
            *one_cluster(facts),
            Condition("the producers can move before the job does", ConditionStatus.UNKNOWN, "only you know"),
            Condition(
                "nobody needs the history on the new cluster", ConditionStatus.UNKNOWN, "it is not copied in this way"
            ),
            *committed(facts),
            *fits(facts, drain, behind),
        ),
        EXACT
        if targets.status is not ConditionStatus.UNMET
        else Effect(held, 0, "what the target topics hold already"),
        (
            AdviceStep("make the topics on the target, with as many partitions, and move the producers"),
            AdviceStep(
                "wait until the lag is 0",
                words.command("anabranch", "checkpoint", "inspect", facts.path, "--cluster", facts.source or "OLD"),
            ),
            words.stop(facts),
            *words.rewrite(facts, None, flags),
            words.start(facts, words.moved_to(facts)),
        ),
        drain,
        behind,
        ("new records wait on the target until the job has drained the old cluster",),
    )


def renamed(facts: Facts) -> Way:
    """The job subscribes to topics of other names, which it takes for new ones."""
    spark = facts.page.format is CheckpointFormat.SPARK
    what = "the topics have other names on the target"
    same = sorted(set(facts.topics()) & set(facts.targets()))
    if not facts.routed:
        other = Condition(what, ConditionStatus.UNKNOWN, "no route was given")
    elif same:
        fix = "make the link with --naming prefix, or a template"
        other = Condition(what, ConditionStatus.UNMET, f"{', '.join(same[:3])} keeps its name", fix)
    else:
        other = Condition(what, ConditionStatus.MET, ", ".join(facts.targets()[:3]))
    loose = (
        Condition(
            "the query may miss records silently (failOnDataLoss=false)",
            ConditionStatus.UNKNOWN,
            "by default Spark ends the query with KAFKA_DATA_LOSS.PARTITIONS_DELETED",
            "only where a lost record does not matter: from now on it would not be reported",
        ),
    )
    return Way(
        WayKind.RENAMED_TOPIC,
        "subscribe to topics of other names",
        (other, *(loose if spark else ()), *committed(facts), *fits(facts, facts.copying_s(), _COPIED)),
        from_beginning(facts),
        (words.stop(facts), words.start(facts, facts.path, ", and nothing rewritten")),
        facts.copying_s(),
        _COPIED,
        ()
        if spark
        else (
            "a source that has discovered its topics once reads new ones from their beginning, whatever is configured "
            "(connector 3.1 and later); older ones begin where the job says, and `latest` loses records",
            "the old topics stay in its state: without allow.auto.create.topics=false they may be made on the target, "
            "and they hold up watermarks",
        ),
    )


def start_again(facts: Facts) -> Way:
    """Begin without the checkpoint, at the exact positions: what is left where there is no state to keep."""
    spark = facts.page.format is CheckpointFormat.SPARK
    sinks = Condition(
        "no sink tells batches by the query's id or by their numbers",
        ConditionStatus.UNKNOWN,
        "; ".join(facts.page.sinks) or "Delta and Iceberg know a batch by id and number, a file sink by its number",
        "with a new checkpoint both begin again: a file sink would leave out batches whose numbers it has",
    )
    steps = [words.stop(facts), *words.write_offsets(facts)]
    if spark:
        for source in sorted({one.source for one in facts.reading()}):
            explicit = words.starting_offsets(facts, source) or f"those of {words.OFFSETS_FILE}"
            steps.append(AdviceStep(f"source {source}: startingOffsets={explicit}"))
        steps.append(AdviceStep(f"start with a new checkpoint and kafka.bootstrap.servers={words.servers(facts)}"))
    else:
        steps += words.begin_group(facts)
        steps.append(
            AdviceStep(
                f"start without a savepoint, with bootstrap servers {words.servers(facts)}, at committed offsets",
                words.command("flink", "run", "JOB.jar"),
            )
        )
    exact = facts.exact()
    return Way(
        WayKind.START_AGAIN,
        "start again at the exact positions, without the checkpoint",
        (
            no_state(facts),
            *exact_answers(facts),
            *explicit_offsets(facts),
            *((sinks,) if spark else ()),
            *committed(facts),
        ),
        by_route(facts) if exact is not None else Effect(None, None, "the positions on the target are not all known"),
        tuple(steps),
        facts.copying_s(),
        _COPIED,
    )


def best_attempt(facts: Facts) -> Attempt | None:
    """The first planned rewrite that nothing is against; else the one that nothing is against but what passes."""
    for one in facts.attempts:
        if not one.rewrite.refusals:
            return one
    return facts.attempts[0] if facts.attempts else None


def _transactions(facts: Facts, chosen: Attempt | None) -> tuple[Condition, ...]:
    """The condition that pending transactions of a Flink sink set."""
    what = "the sinks' pending transactions were committed on the old cluster"
    reasons = [
        one
        for attempt in facts.attempts[:1]
        for one in attempt.rewrite.refusals
        if one.why is ReasonKind.PENDING_TRANSACTIONS
    ]
    if not reasons:
        return ()
    if chosen is not None and chosen.rewrite.refusals:
        return ()
    fix = "`flink stop` with a savepoint commits them; or say --transactions keep, if the sinks' cluster is not moved"
    return (Condition(what, ConditionStatus.UNKNOWN, f"{reasons[0].what} ({plural(len(reasons), 'location')})", fix),)
