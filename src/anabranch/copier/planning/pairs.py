"""Which topics a link copies, and what each is called on the target; what stands in the way of one is a finding."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from anabranch.errors import AnabranchError
from anabranch.kafka.cluster import ClusterMetadata, TopicMeta
from anabranch.mirrormaker.names import aliases_in
from anabranch.model.filters import load as load_filter
from anabranch.model.filters import select
from anabranch.model.link import LinkRecord, LinkSpec, MirroredTopic
from anabranch.model.naming import load as load_naming
from anabranch.model.provenance import (
    claimed_by_opposite,
    claimed_finding,
    copied_home,
    home_finding,
    looping_finding,
    mirrored_by_opposite,
    perhaps_finding,
    perhaps_home,
    separator_of,
)
from anabranch.model.reasons import Reason, Severity
from anabranch.model.topics import TopicId, check_name


@dataclass(frozen=True, slots=True)
class TopicPair:
    """A topic of the source, and its name on the target."""

    source: TopicMeta
    target: str


def named(metadata: ClusterMetadata, ids: Collection[TopicId]) -> list[str]:
    """The names of topics that have these ids."""
    return [topic.name for topic in metadata.topics.values() if TopicId(topic.id) in ids]


def pairs_of(
    spec: LinkSpec, source: ClusterMetadata, looping: frozenset[TopicId], principal: str, findings: list[Reason]
) -> list[TopicPair]:
    """The topics to copy with their names on the target; ``principal`` sees the source's topics."""
    naming = load_naming(spec.naming, spec.source.context)
    taken: dict[str, str] = {}
    pairs: list[TopicPair] = []
    names = select(load_filter(spec.filter), [t.name for t in source.topics.values() if not t.internal])
    if not names:
        findings.append(
            Reason.found(
                Severity.WARNING,
                f"the filter matches none of the source's {len(source.topics):,} topics that {principal} may see",
                f"anabranch link set {spec.id} --include REGEX",
            )
        )
    for name in names:
        topic = source.topics[name]
        if TopicId(topic.id) in looping:
            findings.append(looping_finding(name))
            continue
        if topic.error:
            findings.append(Reason.found(Severity.ERROR, f"topic {name}: the source answers error {topic.error}"))
            continue
        try:
            target = check_name(naming.renamed(name), name)
        except AnabranchError as error:
            findings.append(Reason.found(Severity.ERROR, error.message, error.hint))
            continue
        if target in taken:
            findings.append(
                Reason.found(
                    Severity.ERROR,
                    f"topics {taken[target]} and {name} would both be called {target}",
                    "choose a naming policy that keeps them apart, or exclude one",
                )
            )
            continue
        taken[target] = name
        pairs.append(TopicPair(topic, target))
    return pairs


def not_home(
    spec: LinkSpec,
    pairs: list[TopicPair],
    known: Mapping[str, MirroredTopic],
    source: ClusterMetadata,
    target: ClusterMetadata,
    findings: list[Reason],
) -> list[TopicPair]:
    """The pairs but for copies of the target's own topics that another tool made, unless we fill them already."""
    own = {topic.name for topic in target.topics.values() if not topic.internal}
    names, aliases = [pair.source.name for pair in pairs], aliases_in(source.topics, separator_of(spec))
    home = copied_home(spec, names, own, aliases)
    findings += [perhaps_finding(*one) for one in perhaps_home(spec, names, own, aliases, home).items()]
    filled = {pair.source.name for pair in pairs if pair.target in known}
    findings += [home_finding(spec, name, original, name in filled) for name, original in home.items()]
    return [pair for pair in pairs if pair.source.name not in home or pair.source.name in filled]


def unclaimed(
    spec: LinkSpec,
    pairs: list[TopicPair],
    known: Mapping[str, MirroredTopic],
    target: ClusterMetadata,
    links: tuple[Iterable[LinkRecord], Iterable[MirroredTopic]],
    upstream: Iterable[LinkRecord],
    findings: list[Reason],
) -> list[TopicPair]:
    """The pairs but for those that the opposite link would fill the other way round, which we do not fill yet.

    ``target`` was read after the source's topics; ``links`` are those into the target with their topics, ``upstream``
    those into the source.  What is filled already costs nothing here.
    """
    strange = {pair.source.name for pair in pairs if pair.target not in known}
    if not strange:
        return pairs
    copies = mirrored_by_opposite(spec.source.cluster_id, *links)
    own = [t.name for t in target.topics.values() if not t.internal and TopicId(t.id) not in copies]
    claimed = claimed_by_opposite(spec.target.cluster_id, upstream, own)
    left_out = {name: claim for name, claim in claimed.items() if name in strange}
    findings += [claimed_finding(name, link, original) for name, (link, original) in left_out.items()]
    return [pair for pair in pairs if pair.source.name not in left_out]
