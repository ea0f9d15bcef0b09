"""Which sources the rewritten query has: its old ones, some split into several or merged into one.

Spark knows sources by their place in the plan (version 1 of the offsets log, or numbers in version 2) or by name. A
split of a source puts its parts in its place, in order; a merge keeps the place of its first source.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from anabranch.checkpoints.plan import RewriteSpec, Split
from anabranch.checkpoints.spark.contents import Contents
from anabranch.checkpoints.spark.offsets_log import OffsetsFile, SourceOffset
from anabranch.checkpoints.spark.restart import stored
from anabranch.model.reasons import Reason, ReasonKind


@dataclass(frozen=True, slots=True)
class SourcePart:
    """Some topics of an old source, None for all that it has."""

    source: str
    topics: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One source of the rewritten query: its id, and what it is made of."""

    source: str
    parts: tuple[SourcePart, ...]

    @property
    def whole(self) -> str | None:
        """The old source that it is as a whole, None where it was split or merged."""
        return self.parts[0].source if len(self.parts) == 1 and self.parts[0].topics is None else None


@dataclass(frozen=True, slots=True)
class SourceShape:
    """The sources in the order of the plan; ``changed`` where they are not the old ones."""

    lines: tuple[Line, ...]
    changed: bool


def is_positional(file: OffsetsFile) -> bool:
    """Whether sources are known by their place in the plan, and not by names of their own."""
    return file.version == 1 or {each.source for each in file.sources} == {str(at) for at in range(len(file.sources))}


def twins_of(contents: Contents) -> dict[str, tuple[str, ...]]:
    """Sources that a plan has twice or more, by each of their ids: they share one directory."""
    shared: dict[str, list[str]] = {}
    for source, directory in contents.directories.items():
        shared.setdefault(directory, []).append(source)
    return {source: tuple(sources) for sources in shared.values() if len(sources) > 1 for source in sources}


def shape_of(contents: Contents, rewrite_spec: RewriteSpec) -> tuple[SourceShape, tuple[Reason, ...]]:
    """The new sources. With a refusal they are the old ones."""
    if contents.last is None:
        return SourceShape((), False), ()
    file = contents.last.file
    old = SourceShape(tuple(Line(source.source, (SourcePart(source.source),)) for source in file.sources), False)
    if not rewrite_spec.split and not rewrite_spec.merge:
        return old, ()
    refusals = (*_wish_refusals(contents, rewrite_spec), *_file_refusals(contents, rewrite_spec))
    if refusals:
        return old, refusals
    positional = is_positional(file)
    lines = list(old.lines)
    for split in rewrite_spec.split:
        at = _place(lines, split.source)
        names = split.names or ("",) * len(split.parts)
        lines[at : at + 1] = [
            Line(name, (SourcePart(split.source, topics),)) for name, topics in zip(names, split.parts, strict=True)
        ]
    for merge in rewrite_spec.merge:
        at = _place(lines, merge[0])
        lines[at] = replace(lines[at], parts=tuple(SourcePart(source) for source in merge))
        for source in merge[1:]:
            del lines[_place(lines, source)]
    if positional:
        # In version 2 the lines stand in any order; the plan's is that of the numbers.
        lines = _by_plan(lines)
        lines = [replace(line, source=str(number)) for number, line in enumerate(lines)]
        refusals = tuple(_moved_directories(contents, lines))
    elif len({line.source for line in lines}) < len(lines):
        refusals = (Reason(ReasonKind.AMBIGUOUS, "two sources would have one name", "give each part another name"),)
    return (old, refusals) if refusals else (SourceShape(tuple(lines), True), ())


def _by_plan(lines: Sequence[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: int(line.parts[0].source))


def _place(lines: Sequence[Line], source: str) -> int:
    return next(at for at, line in enumerate(lines) if line.whole == source or line.parts[0].source == source)


def _wish_refusals(contents: Contents, rewrite_spec: RewriteSpec) -> Iterator[Reason]:
    """What is wrong with the rewrite spec by itself."""
    if contents.last is None:
        return
    sources = contents.last.file.by_id
    named = [split.source for split in rewrite_spec.split] + [
        source for merge in rewrite_spec.merge for source in merge
    ]
    for source in sorted(set(named)):
        if source not in sources:
            yield Reason(ReasonKind.UNKNOWN, f"there is no source {source}", f"sources are {', '.join(sources)}")
        elif sources[source].kafka is None:
            yield Reason(ReasonKind.UNSUPPORTED, f"source {source} has no offset of Kafka", "split and merge others")
        if named.count(source) > 1:
            yield Reason(ReasonKind.AMBIGUOUS, f"source {source} is split or merged twice", "do it in two rewrites")
    for split in rewrite_spec.split:
        if split.source in sources:
            yield from _split_refusals(contents, split, sources[split.source])
    for merge in rewrite_spec.merge:
        if len(merge) < 2:
            yield Reason(ReasonKind.AMBIGUOUS, f"a merge of {', '.join(merge)} alone", "name two sources or more")


def _split_refusals(contents: Contents, split: Split, source: SourceOffset) -> Iterator[Reason]:
    topics = (
        {topic for each in stored(contents) if each.source == source.source for topic in each.offset.topics}
        if source.kafka
        else set()
    )
    wanted = [topic for part in split.parts for topic in part]
    at = f"source {split.source}"
    if len(split.parts) < 2 or not all(split.parts):
        yield Reason(
            ReasonKind.AMBIGUOUS, f"{at}: a split has two parts or more, none empty", "name the topics of each part"
        )
    for topic in sorted(set(wanted) - topics):
        yield Reason(ReasonKind.UNKNOWN, f"{at} has no topic {topic}", f"its topics are {', '.join(sorted(topics))}")
    for topic in sorted(topics - set(wanted)):
        yield Reason(ReasonKind.AMBIGUOUS, f"{at}: topic {topic} is in no part", "put each of its topics into one part")
    for topic in sorted({topic for topic in wanted if wanted.count(topic) > 1}):
        yield Reason(
            ReasonKind.AMBIGUOUS, f"{at}: topic {topic} is in two parts", "put each of its topics into one part"
        )
    if contents.last is None or is_positional(contents.last.file):
        if split.names:
            yield Reason(
                ReasonKind.UNSUPPORTED, f"{at}: the sources of this query have no names", "leave the names away"
            )
    elif len(split.names) != len(split.parts) or not all(split.names):
        yield Reason(
            ReasonKind.AMBIGUOUS,
            f"{at}: the sources of this query have names, so each part needs one",
            f"name each part, as .name() will in the query; one of them may keep {split.source}",
        )


def _file_refusals(contents: Contents, rewrite_spec: RewriteSpec) -> Iterator[Reason]:
    """What the files have that a change of the sources would break."""
    if contents.last is None:
        return
    for batch in (contents.last, contents.previous):
        if batch is not None and batch.file.metadata is not None and batch.file.metadata.described:
            yield Reason(
                ReasonKind.UNSUPPORTED,
                "the second line describes each source by its id, which a split or merge would make untrue",
                "rewrite without --split and --merge",
                batch.path,
            )
    twins = twins_of(contents)
    for source in (
        *(split.source for split in rewrite_spec.split),
        *(source for merge in rewrite_spec.merge for source in merge),
    ):
        if source in twins:
            yield Reason(
                ReasonKind.AMBIGUOUS,
                f"source {source} is used more than once in the query: {', '.join(twins[source])} are one source",
                "split and merge others",
            )
    if twins and contents.layout.last == 0 and contents.uncommitted is not None:
        yield Reason(
            ReasonKind.AMBIGUOUS,
            f"batch 0 was not committed, and sources {', '.join(sorted(twins))} share their beginning",
            "finish the batch on the old cluster",
            contents.last.path,
        )


def _moved_directories(contents: Contents, lines: Sequence[Line]) -> Iterator[Reason]:
    """Other sources keep files of their own under their number, which must not change then."""
    if contents.last is None:
        return
    sources = contents.last.file.by_id
    for line in lines:
        if line.whole is None or line.whole == line.source or sources[line.whole].kafka is not None:
            continue
        if line.whole in contents.layout.source_directories:
            yield Reason(
                ReasonKind.UNSUPPORTED,
                f"source {line.whole}, which is not Kafka's, would become source {line.source} and lose its own files "
                f"in sources/{line.whole}",
                "split or merge sources that come after it in the plan",
                f"sources/{line.whole}",
            )
