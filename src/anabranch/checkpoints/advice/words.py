"""Commands with the user's names filled in."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping

from anabranch.checkpoints.advice.facts import Attempt, Facts, TargetFacts
from anabranch.checkpoints.advice.values import AdviceStep
from anabranch.checkpoints.job import CheckpointFormat
from anabranch.checkpoints.route import TranslatedPosition

#: The file that ``advise --out`` writes; any name would do.
OFFSETS_FILE = "positions.json"
OLD_CONSUMER = "old consumer"
"""In the kind of a FlinkKafkaConsumer's source."""
_SHOWN_PARTITIONS = 50


def command(*words: str) -> str:
    """One command line, quoted for a shell."""
    return shlex.join(words)


def checkpoint(facts: Facts, verb: str, *more: str, flags: tuple[str, ...] | None = None) -> str:
    """A checkpoint verb on this checkpoint, with the route as it was typed."""
    return command("anabranch", "checkpoint", verb, facts.path, *(facts.flags if flags is None else flags), *more)


def servers(facts: Facts) -> str:
    """The target's addresses, or a placeholder; of several targets, each with its topics."""
    if facts.clusters:
        return "; ".join(f"{','.join(one.bootstrap)} for {', '.join(one.topics)}" for one in facts.clusters)
    return ",".join(facts.bootstrap) or "the target's addresses"


def group_name(facts: Facts) -> str:
    """The job's group on the target; another name if a group of that name has commits there already."""
    if facts.group is None:
        return "GROUP"
    return f"{facts.group.name}-moved" if facts.group.target_commits else facts.group.name


def target_flags(facts: Facts) -> tuple[str, ...]:
    """The target, where it is known by name."""
    return ("--target", facts.target) if facts.target else ()


def source_flags(facts: Facts) -> tuple[str, ...]:
    """What was said of sources beside the route, to be said again with another route."""
    pairs = zip(facts.flags[::2], facts.flags[1::2], strict=False)
    return tuple(word for pair in pairs if pair[0] in ("--source", "--dynamic-cluster") for word in pair)


def write_offsets(facts: Facts) -> tuple[AdviceStep, ...]:
    """The exact positions as an offsets file, one for each cluster."""
    what = "write down where the job goes on on"
    if not facts.clusters:
        return (AdviceStep(f"{what} the target", checkpoint(facts, "advise", "--out", OFFSETS_FILE)),)
    return tuple(
        AdviceStep(
            f"{what} {one.name}",
            checkpoint(facts, "advise", "--out", offsets_file(one), flags=flags_to(facts, one)),
        )
        for one in facts.clusters
    )


def begin_group(facts: Facts) -> tuple[AdviceStep, ...]:
    """A group on each target with exactly these commits."""
    named = (
        f", and have the job use it: group.id={group_name(facts)}" if facts.group and facts.group.target_commits else ""
    )
    if not facts.clusters:
        words = _create(facts, facts.targets(), OFFSETS_FILE, target_flags(facts))
        return (AdviceStep(f"begin the job's group there{named}", words),)
    return tuple(
        AdviceStep(
            f"begin the job's group on {one.name}{named}",
            _create(facts, one.topics, offsets_file(one), ("--target", one.name)),
        )
        for one in facts.clusters
    )


def _create(facts: Facts, topics: Iterable[str], file: str, where: tuple[str, ...]) -> str:
    named = [word for topic in topics for word in ("--topic", topic)]
    return command(
        "anabranch", "groups", "create", group_name(facts), *named, "--start", f"@{file}", *where, "--execute"
    )


def offsets_file(target: TargetFacts) -> str:
    """The name of one cluster's offsets file."""
    return f"positions-{target.name}.json"


def flags_to(facts: Facts, target: TargetFacts) -> tuple[str, ...]:
    """The route to one of several clusters alone: its links, and the topics of the others stay."""
    pairs = list(zip(facts.flags[::2], facts.flags[1::2], strict=True))
    other = {topic for one in facts.clusters if one is not target for topic in one.sources}
    kept = [pair for pair in pairs if pair[0] != "--link" or pair[1] in target.links]
    return tuple(word for pair in (*kept, *(("--stay", topic) for topic in sorted(other))) for word in pair)


def stop(facts: Facts) -> AdviceStep:
    """How the job is stopped so that nothing is in flight."""
    if facts.page.format is CheckpointFormat.SPARK:
        return AdviceStep(
            "stop the query when no batch is running (`query.status['isTriggerActive']` is False, or let "
            "`trigger(availableNow=True)` end by itself)"
        )
    if any(OLD_CONSUMER in one.kind for one in facts.page.sources):
        return AdviceStep(
            "take a savepoint while the job runs, cancel the job as soon as it is there, and give its path below, or "
            "that of the newest retained checkpoint: with `flink stop` a FlinkKafkaConsumer's positions are not stored",
            "flink savepoint JOB_ID DIRECTORY && flink cancel JOB_ID",
        )
    return AdviceStep(
        "stop the job with a savepoint, without --drain, and give its path below",
        "flink stop --savepointPath DIRECTORY JOB_ID",
    )


def start(facts: Facts, where: str, more: str = "") -> AdviceStep:
    """How the job is started again."""
    subscribed = f", topics {', '.join(facts.targets())}" if facts.targets() != facts.topics() else ""
    target = f"{servers(facts)}{subscribed}{more}"
    if facts.page.format is CheckpointFormat.SPARK:
        return AdviceStep(f"start the query with the same checkpoint and kafka.bootstrap.servers={target}")
    return AdviceStep(
        f"start the job from it with bootstrap servers {target}; in NO_CLAIM mode, the default",
        command("flink", "run", "-s", where, "JOB.jar"),
    )


def rewrite(facts: Facts, attempt: Attempt | None, flags: tuple[str, ...] | None = None) -> tuple[AdviceStep, ...]:
    """Plan, rewrite, verify; a savepoint is rewritten to a new path, a Spark checkpoint in place."""
    flags_of_attempt = attempt.flags if attempt is not None else ()
    route = ("--link", "LINK", "--target", "NAME") if flags is None and not facts.routed else flags
    to = ("--to", moved_to(facts)) if facts.page.format is CheckpointFormat.FLINK else ()
    was = ("--was", facts.path) if to else ()
    check = command("anabranch", "checkpoint", "verify", moved_to(facts), *(route or facts.flags), *was)
    return (
        AdviceStep(
            "look at every change, and at every reason against it",
            checkpoint(facts, "plan", *flags_of_attempt, flags=route),
        ),
        AdviceStep(
            "apply that very plan; it is refused if anything has changed since",
            checkpoint(facts, "rewrite", *flags_of_attempt, *to, "--plan", "HASH", "--execute", flags=route),
        ),
        AdviceStep("read the result again, on its own", check),
    )


def moved_to(facts: Facts) -> str:
    """The path of the rewritten checkpoint."""
    return facts.path if facts.page.format is CheckpointFormat.SPARK else f"{facts.path.rstrip('/')}-moved"


def starting_offsets(facts: Facts, source: str) -> str:
    """One source's positions on the target as Spark's ``startingOffsets``; "" where they are not exact, or many."""
    exact = facts.exact()
    mine = {} if exact is None else {one: offset for one, offset in exact.items() if one.source == source}
    if not mine or len(mine) > _SHOWN_PARTITIONS:
        return ""
    found: dict[str, dict[str, int]] = {}
    for one, offset in sorted(mine.items()):
        answer = facts.answers[one]
        assert isinstance(answer, TranslatedPosition)
        found.setdefault(answer.partition.topic, {})[str(answer.partition.partition)] = offset
    return _json(found)


def _json(value: Mapping[str, Mapping[str, int]]) -> str:
    return json.dumps(value, separators=(",", ":"))
