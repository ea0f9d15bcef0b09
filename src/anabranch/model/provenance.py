"""Where records come from: what keeps two opposite links from looping, and refuses a ring of three.

Two links in opposite directions are fine: a topic that a link fills is known by its topic id
(``MirroredTopic``) and the opposite link leaves it out.  A topic is there before that is stored, and two topics of
one name may have been made by people: what an opposite link would fill by its filter and its names is left out, too.
A link that is the way back of another one (``back_of``) copies what that one has filled, which is paused, and what
the links before it in the same direction have.
What another tool copies the other way is known by its name alone, where it calls the target as we do; where it calls it
otherwise, only a person knows, who is told.
Over three clusters nobody sees all of the topics, so a link whose target's records would come back to it through
another cluster is refused as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from anabranch.errors import AnabranchError, RefusedError
from anabranch.model.filters import load as load_filter
from anabranch.model.filters import select
from anabranch.model.link import LinkRecord, LinkSpec, MirroredTopic
from anabranch.model.naming import load as load_naming
from anabranch.model.reasons import Reason, Severity
from anabranch.model.topics import TopicId, named_topics


@dataclass(eq=False)
class RingError(RefusedError):
    """A link would close a ring: the target's own records would come back to it."""

    link: str
    target: str
    path: tuple[str, ...]

    @property
    def message(self) -> str:
        return f"link {self.link!r} would close a ring of clusters: {' -> '.join(self.path)}"

    @property
    def hint(self) -> str:
        return f"delete one of its links, or link {self.path[0]} and {self.path[-2]} directly in both directions"


def origins(source: str, into_source: Iterable[LinkRecord]) -> tuple[str, ...]:
    """Ids of the clusters whose records a link from ``source`` may carry: the source first, the others
    sorted.

    ``into_source`` are the links stored on the source, that is those that copy into it.
    """
    upstream = {o for record in into_source for o in record.origins}
    return (source, *sorted(upstream - {source}))


def check_ring(link: str, source: str, target: str, into_source: Iterable[LinkRecord]) -> None:
    """Raise ``RingError`` if records of ``target`` reach ``source`` through a third cluster.

    All are cluster ids.  The direct opposite link (from ``target`` into ``source``) is no ring.  Origins are
    those that each link knew last, so this is asked again whenever a running link plans its lanes.
    """
    for record in into_source:
        via = record.wanted.spec.source.cluster_id
        if via != target and target in record.origins:
            raise RingError(link, target, (target, via, source, target))


def mirrored_by_opposite(
    target: str, into_source: Iterable[LinkRecord], topics: Iterable[MirroredTopic], turned: Collection[str] = ()
) -> frozenset[TopicId]:
    """Ids of the source's topics that a link from ``target`` fills, but for ``turned`` ones: a copy would loop."""
    opposite = {r.wanted.spec.id for r in into_source if r.wanted.spec.source.cluster_id == target} - set(turned)
    return frozenset(t.target_id for t in topics if t.link in opposite)


def turned_links(
    spec: LinkSpec, into_source: Mapping[str, LinkRecord], into_target: Mapping[str, LinkRecord]
) -> frozenset[str]:
    """The links into the source that lie before a link in a row of ways back; all of them are paused or over."""
    here, there, found, one = into_source, into_target, set(), spec.back_of
    while one is not None and one not in found:
        if here is into_source:
            found.add(one)
        record = here.get(one)
        one = None if record is None else record.wanted.spec.back_of
        here, there = there, here
    return frozenset(found)


def copied_home(
    spec: LinkSpec, topics: Collection[str], own_topics: Collection[str], aliases: Collection[str] = ()
) -> dict[str, str]:
    """Of the source's topics those that another tool has copied from the target, each with its original there.

    Told by name, as MirrorMaker 2 tells them: a link with prefixes that reads ``new.orders`` would bring the target its
    own ``orders`` once more. ``own_topics`` are the target's: without the original it is a topic like any other.  By
    one of the other tool's ``aliases`` the original has to be a topic that the link itself fills: else it would copy
    its own copies, and theirs, without end.
    """
    if spec.naming.kind != "prefix":
        return {}
    own_prefix = f"{spec.target.context}{separator_of(spec)}"
    found = {name: name.removeprefix(own_prefix) for name in topics if name.startswith(own_prefix)}
    naming = load_naming(spec.naming, spec.source.context)
    filled = {naming.renamed(name) for name in topics}
    for prefix in _prefixes(spec, aliases):
        copies = {name: name.removeprefix(prefix) for name in topics if name.startswith(prefix)}
        found |= {name: original for name, original in copies.items() if original in filled}
    return {name: original for name, original in found.items() if original in own_topics}


def perhaps_home(
    spec: LinkSpec,
    topics: Collection[str],
    own_topics: Collection[str],
    aliases: Collection[str],
    home: Collection[str],
) -> dict[str, list[str]]:
    """Topics that are copied home if another tool's alias, by which they are sorted, means the target.

    No name says which cluster an alias means: such topics are copied, and a person is told.  ``home`` are those that
    are known to be.
    """
    if spec.naming.kind != "prefix":
        return {}
    found: dict[str, list[str]] = {}
    for prefix, alias in _prefixes(spec, aliases).items():
        for name in topics:
            if name not in home and name.startswith(prefix) and name.removeprefix(prefix) in own_topics:
                found.setdefault(alias, []).append(name)
    return found


def separator_of(spec: LinkSpec) -> str:
    """What stands between a prefix and a topic's name."""
    return str(spec.naming.options.get("separator", "."))


def _prefixes(spec: LinkSpec, aliases: Iterable[str]) -> dict[str, str]:
    """What the copies of another tool begin with, by its separator or ours; each with the alias in it."""
    return {f"{alias}{separator}": alias for alias in sorted(aliases) for separator in {".", separator_of(spec) or "."}}


def home_finding(spec: LinkSpec, topic: str, original: str, filled: bool) -> Reason:
    """What is said of such a topic; one that the link has ``filled`` before is copied on, so that nobody loses it."""
    what = f"topic {topic} is named as a copy of the target's own topic {original}"
    if filled:
        fix = f"leave it out: anabranch link set {spec.id} --exclude '{re.escape(topic)}'"
        return Reason.found(Severity.WARNING, f"{what}, and is copied home", fix)
    fix = "where it is none, copy it under the naming '{source}.{topic}', which has no such rule"
    return Reason.found(Severity.WARNING, f"{what}, and is left out", fix)


def perhaps_finding(alias: str, topics: Sequence[str]) -> Reason:
    """What is said of topics that are copied home if MirrorMaker 2 calls the target by this alias."""
    return Reason.found(
        Severity.WARNING,
        f"MirrorMaker 2 knows a cluster {alias}: if that is the target, its copies from there are copied home: "
        f"{named_topics(topics)}",
        f"if so, leave them out (--exclude '{re.escape(alias)}[._-].*'); else there is nothing to do",
    )


def claimed_by_opposite(
    target: str, into_source: Iterable[LinkRecord], own_topics: Iterable[str]
) -> dict[str, tuple[str, str]]:
    """Names of the source's topics that links from ``target`` fill or would fill: of which link, from which topic.

    ``own_topics`` are those of the target that nothing fills from the source.  The race: the opposite link makes its
    topic first and stores whose it is then.  Whoever reads the source's topics before the target's sees the original
    of each topic that was made so.
    """
    names = list(own_topics)
    claimed: dict[str, tuple[str, str]] = {}
    for record in into_source:
        spec = record.wanted.spec
        if spec.source.cluster_id != target:
            continue
        try:
            naming, selected = load_naming(spec.naming, spec.source.context), select(load_filter(spec.filter), names)
        except AnabranchError:
            continue  # a plugin that is not installed here: what that link has stored is all that can be known
        claimed |= {naming.renamed(name): (spec.id, name) for name in selected}
    return claimed


def looping_finding(topic: str) -> Reason:
    """What is said of a topic of the source that a link from the target fills."""
    return Reason.found(Severity.INFO, f"topic {topic} is left out: the opposite link fills it from the target cluster")


def claimed_finding(topic: str, link: str, original: str) -> Reason:
    """What is said of a topic of the source that such a link would fill from the target's ``original``."""
    return Reason.found(
        Severity.WARNING,
        f"topic {topic} is left out: link {link} would fill it from the target's own topic {original}",
        f"say which way it is copied: anabranch link set {link} --exclude {original}",
    )


def filled_by_another(link: str, target: TopicId, topics: Iterable[MirroredTopic]) -> MirroredTopic | None:
    """What another link on the same target has stored of a topic that it fills, or None."""
    return next((topic for topic in topics if topic.link != link and topic.target_id == target), None)


def gives_way(mine: tuple[int, bool], other: tuple[int, bool]) -> bool:
    """Whether a link must not fill a topic that another one has stored too: each where in the log, and whether begun.

    Both may find nobody, and then store it at one time. What was stored is read again after that, so whoever is later
    in the log sees who was earlier, and has not begun then.
    """
    (place, has_begun), (its_place, it_has_begun) = mine, other
    return not has_begun and (it_has_begun or its_place < place)


def would_be_filled(spec: LinkSpec, into_target: Iterable[LinkRecord], source_topics: Iterable[str]) -> dict[str, str]:
    """Names of target topics that other links from the same source fill or would fill, each with such a link's id."""
    names = list(source_topics)
    found: dict[str, str] = {}
    for record in into_target:
        other = record.wanted.spec
        if other.id == spec.id or other.source.cluster_id != spec.source.cluster_id:
            continue
        try:
            naming, selected = load_naming(other.naming, other.source.context), select(load_filter(other.filter), names)
        except AnabranchError:
            continue  # a plugin that is not installed here: what that link has stored is all that can be known
        found |= {naming.renamed(name): other.id for name in selected}
    return found


def second_link(source: str, target: str, other: str, severity: Severity) -> Reason:
    """What is wrong with two links that fill one topic."""
    return Reason.found(
        severity,
        f"topic {source}: link {other} fills {target} too: what both copy is there twice, and neither notices",
        "exclude the topic from one of them, or have its naming give it another name; if it is meant, make the link "
        "with `anabranch link create --shared-topics`",
    )
