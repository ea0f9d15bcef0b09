"""Commands with the user's names filled in."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping

from anabranch.checkpoints.advice.facts import Attempt, Facts, There
from anabranch.checkpoints.advice.values import Step
from anabranch.checkpoints.job import Format
from anabranch.checkpoints.route import Moved

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
    """The target's addresses, or what stands for them; of several, each with its topics."""
    if facts.clusters:
        return "; ".join(f"{','.join(one.bootstrap)} for {', '.join(one.topics)}" for one in facts.clusters)
    return ",".join(facts.bootstrap) or "the target's addresses"


def group_name(facts: Facts) -> str:
    """The group that the job is to have on the target; another name where one of its own stands there already."""
    if facts.group is None:
        return "GROUP"
    return f"{facts.group.name}-moved" if facts.group.there else facts.group.name


def target_flags(facts: Facts) -> tuple[str, ...]:
    """The target, where it is known by name."""
    return ("--target", facts.target) if facts.target else ()


def source_flags(facts: Facts) -> tuple[str, ...]:
    """What was said of sources beside the route, to be said again with another route."""
    pairs = zip(facts.flags[::2], facts.flags[1::2], strict=False)
    return tuple(word for pair in pairs if pair[0] in ("--source", "--dynamic-cluster") for word in pair)


def write_offsets(facts: Facts) -> tuple[Step, ...]:
    """The exact positions as an offsets file, one for each cluster."""
    what = "write down where the job goes on on"
    if not facts.clusters:
        return (Step(f"{what} the target", checkpoint(facts, "advise", "--out", OFFSETS_FILE)),)
    return tuple(
        Step(
            f"{what} {one.name}",
            checkpoint(facts, "advise", "--out", offsets_file(one), flags=flags_to(facts, one)),
        )
        for one in facts.clusters
    )


def begin_group(facts: Facts) -> tuple[Step, ...]:
    """A group on each target that stands exactly there."""
    named = f", and have the job use it: group.id={group_name(facts)}" if facts.group and facts.group.there else ""
    if not facts.clusters:
        words = _create(facts, facts.targets(), OFFSETS_FILE, target_flags(facts))
        return (Step(f"begin the job's group there{named}", words),)
    return tuple(
        Step(
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


def offsets_file(there: There) -> str:
    """The name of one cluster's offsets file."""
    return f"positions-{there.name}.json"


def flags_to(facts: Facts, there: There) -> tuple[str, ...]:
    """The route to one of several clusters alone: its links, and the topics of the others stay."""
    pairs = list(zip(facts.flags[::2], facts.flags[1::2], strict=True))
    other = {topic for one in facts.clusters if one is not there for topic in one.sources}
    kept = [pair for pair in pairs if pair[0] != "--link" or pair[1] in there.links]
    return tuple(word for pair in (*kept, *(("--stay", topic) for topic in sorted(other))) for word in pair)


def stop(facts: Facts) -> Step:
    """How the job is stopped so that nothing is in flight."""
    if facts.page.format is Format.SPARK:
        return Step(
            "stop the query when no batch is running (`query.status['isTriggerActive']` is False, or let "
            "`trigger(availableNow=True)` end by itself)"
        )
    if any(OLD_CONSUMER in one.kind for one in facts.page.sources):
        return Step(
            "take a savepoint while the job runs, cancel the job as soon as it is there, and give its path below, or "
            "that of the newest retained checkpoint: with `flink stop` a FlinkKafkaConsumer's positions are not stored",
            "flink savepoint JOB_ID DIRECTORY && flink cancel JOB_ID",
        )
    return Step(
        "stop the job with a savepoint, without --drain, and give its path below",
        "flink stop --savepointPath DIRECTORY JOB_ID",
    )


def start(facts: Facts, where: str, more: str = "") -> Step:
    """How the job is started again."""
    subscribed = f", topics {', '.join(facts.targets())}" if facts.targets() != facts.topics() else ""
    there = f"{servers(facts)}{subscribed}{more}"
    if facts.page.format is Format.SPARK:
        return Step(f"start the query with the same checkpoint and kafka.bootstrap.servers={there}")
    return Step(
        f"start the job from it with bootstrap servers {there}; in NO_CLAIM mode, the default",
        command("flink", "run", "-s", where, "JOB.jar"),
    )


def rewrite(facts: Facts, attempt: Attempt | None, flags: tuple[str, ...] | None = None) -> tuple[Step, ...]:
    """Plan, rewrite, verify; a savepoint is rewritten to a new place, a Spark checkpoint where it is."""
    extra = attempt.flags if attempt is not None else ()
    route = ("--link", "LINK", "--target", "NAME") if flags is None and not facts.routed else flags
    place = ("--to", moved_to(facts)) if facts.page.format is Format.FLINK else ()
    was = ("--was", facts.path) if place else ()
    check = command("anabranch", "checkpoint", "verify", moved_to(facts), *(route or facts.flags), *was)
    return (
        Step("look at every change, and at every reason against it", checkpoint(facts, "plan", *extra, flags=route)),
        Step(
            "apply that very plan; it is refused if anything has changed since",
            checkpoint(facts, "rewrite", *extra, *place, "--plan", "HASH", "--execute", flags=route),
        ),
        Step("read the result again, on its own", check),
    )


def moved_to(facts: Facts) -> str:
    """Where the rewritten checkpoint lies."""
    return facts.path if facts.page.format is Format.SPARK else f"{facts.path.rstrip('/')}-moved"


def starting_offsets(facts: Facts, source: str) -> str:
    """One source's positions on the target as Spark's ``startingOffsets``; "" where they are not exact, or many."""
    exact = facts.exact()
    mine = {} if exact is None else {one: offset for one, offset in exact.items() if one.source == source}
    if not mine or len(mine) > _SHOWN_PARTITIONS:
        return ""
    found: dict[str, dict[str, int]] = {}
    for one, offset in sorted(mine.items()):
        answer = facts.answers[one]
        assert isinstance(answer, Moved)
        found.setdefault(answer.partition.topic, {})[str(answer.partition.partition)] = offset
    return _json(found)


def _json(value: Mapping[str, Mapping[str, int]]) -> str:
    return json.dumps(value, separators=(",", ":"))
