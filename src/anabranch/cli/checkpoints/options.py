"""Options that the verbs about checkpoints share: the route, the rewrite spec, and both as they were typed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from anabranch.checkpoints.plan import PendingTransactions, RewriteSpec, Split, StopSavepoint, Uncommitted
from anabranch.cli.completing import context_names, link_ids
from anabranch.cli.hints import quoted, typed_target
from anabranch.cli.located import contexts, target
from anabranch.config import maps_file, offsets_file
from anabranch.config.contexts import Contexts
from anabranch.errors import ConfigError, InvalidFieldError, RefusedError
from anabranch.model.cluster import ClusterContext
from anabranch.model.home import expanded
from anabranch.operations.checkpoints.translation_source import (
    ByLinks,
    ByMaps,
    ByOffsets,
    ByStart,
    LinkAt,
    TranslationSource,
)

T = TypeVar("T")

PathArgument = Annotated[
    str,
    typer.Argument(
        metavar="PATH",
        help="The checkpoint: a directory, or a URI such as s3://BUCKET/PATH.",
        show_default=False,
    ),
]
TargetOption = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        help="Context of the cluster that the job is to read.",
        autocompletion=context_names,
        show_default=False,
    ),
]
LinkOption = Annotated[
    list[str] | None,
    typer.Option(
        "--link",
        metavar="LINK[@TARGET]",
        help="Translate by a link's live maps. Repeatable, where a job reads topics of several links.",
        autocompletion=link_ids,
    ),
]
MapsOption = Annotated[
    Path | None,
    typer.Option("--maps", metavar="FILE", help="Translate by a file of `offsets export` or `offsets rebuild`."),
]
OffsetsOption = Annotated[
    Path | None, typer.Option("--offsets", metavar="FILE", help="Positions on the target: an offsets file.")
]
StartOption = Annotated[
    str | None,
    typer.Option("--start", metavar="POSITION", help="earliest, latest, a time, group:NAME, or given offsets."),
]
RenameOption = Annotated[
    list[str] | None,
    typer.Option("--rename", metavar="OLD=NEW", help="With --offsets and --start: a topic's new name. Repeatable."),
]
StayOption = Annotated[
    list[str] | None,
    typer.Option("--stay", metavar="TOPIC", help="A topic that stays on the old cluster. Repeatable."),
]
SourceOption = Annotated[
    list[str] | None,
    typer.Option("--source", metavar="ID", help="Sources to move; default all that read Kafka. Repeatable."),
]
SplitOption = Annotated[
    list[str] | None,
    typer.Option(
        "--split",
        metavar="ID=T1,T2|T3",
        help="Spark: one source becomes several, by topics; ID=NAME:T1|NAME:T2 where sources have names.",
    ),
]
MergeOption = Annotated[
    list[str] | None, typer.Option("--merge", metavar="ID,ID", help="Spark: several sources become one. Repeatable.")
]
DropOption = Annotated[
    list[str] | None,
    typer.Option("--drop-source", metavar="ID", help="Flink: take a source's entries out. Repeatable."),
]
UncommittedOption = Annotated[
    Uncommitted, typer.Option("--uncommitted", help="Spark: a batch that has begun and was not committed.")
]
TransactionsOption = Annotated[
    PendingTransactions, typer.Option("--transactions", help="Flink: pending transactions of exactly-once sinks.")
]
StopSavepointOption = Annotated[
    StopSavepoint,
    typer.Option("--stop-savepoint", help="Flink: a FlinkKafkaConsumer's positions in a savepoint of `flink stop`."),
]
DynamicOption = Annotated[
    list[str] | None,
    typer.Option(
        "--dynamic-cluster",
        metavar="OLD=NEW@HOST:PORT",
        help="Flink: new id and servers of a DynamicKafkaSource's cluster. Repeatable.",
    ),
]


@dataclass(eq=False)
class CheckpointRefusedError(RefusedError):
    """A checkpoint is not rewritten, or would not be, or is not as it must be; the answer says why."""

    what: str
    number: int
    noun: str = "reason"
    next: str = ""

    @property
    def message(self) -> str:
        noun = self.noun if self.number == 1 else f"{self.noun}s"
        return f"{self.what}: {self.number:,} {noun}"

    _hint = "{next}"


@dataclass(frozen=True, slots=True)
class RouteFlags:
    """The route as it was typed."""

    link: Sequence[str] | None = None
    maps: Path | None = None
    offsets: Path | None = None
    start: str | None = None
    target: str | None = None
    rename: Sequence[str] | None = None
    stay: Sequence[str] | None = None

    def __bool__(self) -> bool:
        """Whether a way was named."""
        return bool(self.link or self.maps or self.offsets or self.start)


@dataclass(frozen=True, slots=True)
class RewriteFlags:
    """The wish as it was typed."""

    source: Sequence[str] | None = None
    split: Sequence[str] | None = None
    merge: Sequence[str] | None = None
    drop: Sequence[str] | None = None
    uncommitted: Uncommitted = Uncommitted.REFUSE
    transactions: PendingTransactions = PendingTransactions.REFUSE
    dynamic: Sequence[str] | None = None
    stop_savepoint: StopSavepoint = StopSavepoint.REFUSE


def translation_source(ctx: typer.Context, flags: RouteFlags) -> TranslationSource:
    """What was typed, checked; raises ``ConfigError``."""
    given = [
        name
        for name, value in (
            ("--link", flags.link),
            ("--maps", flags.maps),
            ("--offsets", flags.offsets),
            ("--start", flags.start),
        )
        if value
    ]
    if len(given) != 1:
        problem = "give exactly one way to translate positions" if given else "no way to translate positions is given"
        raise InvalidFieldError("checkpoint", " and ".join(given) or "route", problem, _WAYS)
    if flags.rename and given[0] in ("--link", "--maps"):
        raise InvalidFieldError(
            "checkpoint", "--rename", f"{given[0]} tells the new names itself", "leave --rename away"
        )
    rename = _pairs("--rename", flags.rename, "OLD=NEW")
    return TranslationSource(_way(ctx, flags), rename, frozenset(flags.stay or ()))


def rewrite_spec(flags: RewriteFlags) -> RewriteSpec:
    """What was typed, checked; raises ``InvalidFieldError``."""
    clusters = {}
    for old, text in _pairs("--dynamic-cluster", flags.dynamic, "OLD=NEW@HOST:PORT").items():
        new, at, servers = text.partition("@")
        if not (new and at and servers):
            raise InvalidFieldError(
                "checkpoint", "--dynamic-cluster", f"{text!r} is not NEW@HOST:PORT", "as in old=new@kafka-2:9092"
            )
        clusters[old] = (new, servers)
    return RewriteSpec(
        frozenset(flags.source) if flags.source else None,
        tuple(_split(one) for one in flags.split or ()),
        tuple(_merge(one) for one in flags.merge or ()),
        frozenset(flags.drop or ()),
        flags.uncommitted,
        flags.transactions,
        clusters,
        flags.stop_savepoint,
    )


def repeated(route: RouteFlags, flags: RewriteFlags) -> str:
    """The route and the rewrite spec as they were typed, to be repeated in a hint."""
    words = [f"--link {quoted(one)}" for one in route.link or ()]
    words += [
        f"{name} {quoted(str(value))}"
        for name, value in (("--maps", route.maps), ("--offsets", route.offsets))
        if value
    ]
    words += [f"--start {quoted(route.start)}"] if route.start else []
    words += [f"--target {quoted(route.target)}"] if route.target else []
    for name, values in (
        ("--rename", route.rename),
        ("--stay", route.stay),
        ("--source", flags.source),
        ("--split", flags.split),
        ("--merge", flags.merge),
        ("--drop-source", flags.drop),
        ("--dynamic-cluster", flags.dynamic),
    ):
        words += [f"{name} {quoted(one)}" for one in values or ()]
    if flags.uncommitted is not Uncommitted.REFUSE:
        words.append(f"--uncommitted {flags.uncommitted.value}")
    if flags.transactions is not PendingTransactions.REFUSE:
        words.append(f"--transactions {flags.transactions.value}")
    if flags.stop_savepoint is not StopSavepoint.REFUSE:
        words.append(f"--stop-savepoint {flags.stop_savepoint.value}")
    return "".join(f" {word}" for word in words)


_WAYS = "--link LINK, --maps FILE, --offsets FILE or --start POSITION"


def _way(ctx: typer.Context, flags: RouteFlags) -> ByLinks | ByMaps | ByOffsets | ByStart:
    found = contexts(ctx)
    if flags.link:
        return ByLinks(tuple(_link(ctx, one, flags.target) for one in dict.fromkeys(flags.link)))
    if flags.maps:
        path = expanded(flags.maps)
        source, there = maps_file.contexts_of(path)
        return ByMaps(str(path), maps_file.load(path), _named(ctx, flags.target, there), _known(found, source))
    if flags.offsets:
        path = expanded(flags.offsets)
        of, offsets = offsets_file.cluster_of(path), offsets_file.load(path)
        cluster = _named(ctx, flags.target, of)
        if of is not None and of != cluster.name:
            raise InvalidFieldError(
                str(path), "cluster", f"its offsets are of {of}, and the target is {cluster.name}", "see --target"
            )
        return ByOffsets(str(path), offsets, cluster)
    assert flags.start is not None
    return ByStart(offsets_file.start_of(flags.start), target(ctx, flags.target))


def _link(ctx: typer.Context, text: str, flag: str | None) -> LinkAt:
    link, at, there = text.partition("@")
    if not link or (at and not there):
        raise InvalidFieldError("checkpoint", "--link", f"{text!r} names no link", "as in orders-eu, or orders-eu@new")
    return LinkAt(link, contexts(ctx).get(there) if there else target(ctx, flag))


def _named(ctx: typer.Context, flag: str | None, name: str | None) -> ClusterContext:
    """The target that was typed, else the one that a file names, else the default."""
    if flag is None and name is not None:
        typed_target.set(name)
        return contexts(ctx).get(name)
    return target(ctx, flag)


def _known(found: Contexts, name: str) -> ClusterContext | None:
    """A context that need not be there: the old cluster may be gone."""
    try:
        return found.get(name)
    except ConfigError:
        return None


def _pairs(flag: str, texts: Iterable[str] | None, form: str) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for text in texts or ():
        old, equals, new = text.partition("=")
        if not (old and equals and new):
            raise InvalidFieldError("checkpoint", flag, f"{text!r} is not {form}", f"write it as {form}")
        if found.setdefault(old, new) != new:
            raise InvalidFieldError("checkpoint", flag, f"{old} is given twice", "give each once")
    return found


def _split(text: str) -> Split:
    source, equals, rest = text.partition("=")
    parts = [part.rpartition(":") for part in rest.split("|")]
    topics = [frozenset(one.strip() for one in part[2].split(",") if one.strip()) for part in parts]
    names = tuple(part[0].strip() for part in parts)
    given = sum(len(part) for part in topics)
    if not (source and equals) or len(parts) < 2 or not all(topics):
        raise InvalidFieldError("checkpoint", "--split", f"{text!r} is not ID=T1,T2|T3", "as in '0=orders|clicks'")
    if len(frozenset().union(*topics)) != given:
        raise InvalidFieldError("checkpoint", "--split", f"{text!r} names a topic twice", "each topic is in one part")
    if any(names) != all(names) or len(set(names)) not in (1 if not any(names) else len(names),):
        raise InvalidFieldError(
            "checkpoint", "--split", f"{text!r}: name all parts or none", "as in 'in=old:orders|new:clicks'"
        )
    return Split(source, tuple(topics), names if all(names) else ())


def _merge(text: str) -> tuple[str, ...]:
    found = tuple(one.strip() for one in text.split(","))
    if len(found) < 2 or not all(found) or len(set(found)) != len(found):
        raise InvalidFieldError("checkpoint", "--merge", f"{text!r} is not ID,ID", "as in 0,1")
    return found
