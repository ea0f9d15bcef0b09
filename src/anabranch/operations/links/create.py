"""Creating a link: every reason against it is found at once, and it is stored only where there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from anabranch.config.maps_file import StoredMap
from anabranch.errors import InvalidFieldError, RefusedError
from anabranch.kafka.cluster import Cluster, ClusterMetadata
from anabranch.kafka.probe import ClusterRole, facts
from anabranch.model.clock import now_ms
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, WantedState
from anabranch.model.plans import REQUEST, check_holds, plan_hash
from anabranch.model.provenance import check_ring, origins
from anabranch.model.reasons import Reason, errors
from anabranch.model.reports import ProbeReport, TopicPlan
from anabranch.model.start import StartKind
from anabranch.model.topics import TopicId
from anabranch.operations.links import adopting, explicit_offsets, probing
from anabranch.operations.links.forecasting import forecast
from anabranch.operations.links.permissions import probe_permissions
from anabranch.operations.links.returning import way_back
from anabranch.state.codecs import topics as control_topics
from anabranch.state.codecs.specs import spec_fields
from anabranch.state.topics.control import Links, OvertakenError, ensure_topics
from anabranch.state.topics.loops import blind_to_loops
from anabranch.state.topics.recreated import topic_ids
from anabranch.state.topics.upkeep import look_after


@dataclass(eq=False)
class LinkExistsError(RefusedError):
    """A link of that id is stored on the target already."""

    link: str

    _message = "link {link!r} exists already"
    _hint = "`anabranch link show {link}` shows it; give the new one another id"


@dataclass(eq=False)
class LinkBeingDeletedError(RefusedError):
    """A link of that id is deleted, and the control topics still tell of its topics or lanes."""

    link: str

    _message = "link {link!r} is being deleted, or its deletion broke off"
    _hint = "wait until it is deleted; where nobody deletes it any more: anabranch link delete {link}"


@dataclass(eq=False)
class SameClusterError(RefusedError):
    """Source and target are one cluster."""

    link: str
    cluster_id: str

    _message = "link {link!r} has the same cluster, {cluster_id}, at both ends"
    _hint = "give contexts of two clusters: `anabranch context list`"


@dataclass(eq=False)
class LinkRefusedError(RefusedError):
    """The probe found what forbids the link; its plan says what."""

    link: str
    errors: tuple[Reason, ...]

    @property
    def message(self) -> str:
        number = len(self.errors)
        found = "1 error was found" if number == 1 else f"{number:,} errors were found"
        return f"link {self.link!r} was not created: {found}"

    _hint = "fix the reported errors, then run the same command again"


@dataclass(frozen=True, slots=True)
class CreateLinkPlan(ProbeReport):
    """What both clusters said about a link that is to be made.

    ``asked`` is the link as it was asked for, ``spec`` as it would be stored; ``adopt`` are maps of what another tool
    has copied so far.  ``hash`` covers both, the clusters and the topics, and not what a group commits meanwhile.
    """

    hash: str
    asked: LinkSpec = field(metadata=REQUEST)
    adopt: tuple[StoredMap, ...] = field(metadata=REQUEST)


@dataclass(frozen=True, slots=True)
class CreateLinkReport:
    """A link that was stored, as its target has it, and what both clusters said before."""

    plan: CreateLinkPlan
    record: LinkRecord


async def plan(source: Cluster, target: Cluster, spec: LinkSpec, adopt: Sequence[StoredMap] = ()) -> CreateLinkPlan:
    """Probe both clusters for a link; every reason against it is a finding.

    ``adopt``: maps of what another tool has copied so far; the link goes on there.
    Raises LinkExistsError, LinkBeingDeletedError, SameClusterError, AnabranchError.
    """
    if adopt and spec.back_of is not None:
        raise InvalidFieldError(
            "link", "back_of", "maps to adopt are given too", "a way back brings its own: leave one"
        )
    found, _ = await _probe(source, target, spec, adopt)
    return found


async def apply(source: Cluster, target: Cluster, planned: CreateLinkPlan) -> CreateLinkReport:
    """Probe again, and store the link where nothing forbids it.

    Of two of one name at once the second in the log is refused as if it had come later.  Raises PlanChangedError,
    LinkRefusedError, and what ``plan`` raises.
    """
    now, upstream = await _probe(source, target, planned.asked, planned.adopt)
    check_holds(f"link {now.spec.id!r}", planned, now)
    check_allowed(now)
    await ensure_topics(target)
    links = Links(target)
    await links.sync()
    _check_new(links, now.spec.id)
    if now.adopt:
        await adopting.apply(target, now.spec.id, now.adopt, now.spec.back_of)
    record = LinkRecord(
        WantedState(now.spec), origins(now.source.cluster_id, upstream), now_ms(), await topic_ids(target)
    )
    try:
        await links.put(record)
    except OvertakenError as error:
        raise LinkExistsError(now.spec.id) from error
    return CreateLinkReport(now, record)


def check_allowed(found: CreateLinkPlan) -> None:
    """Raise LinkRefusedError where a finding forbids the link."""
    if not found.ok:
        raise LinkRefusedError(found.spec.id, errors(found.findings))


async def _probe(
    source: Cluster, target: Cluster, asked: LinkSpec, adopt: Sequence[StoredMap]
) -> tuple[CreateLinkPlan, list[LinkRecord]]:
    """The plan, and the links that bring records to the source."""
    here, there = await source.metadata(None), await target.metadata(None)
    spec = replace(
        asked, source=ClusterRef(source.name, here.cluster_id), target=ClusterRef(target.name, there.cluster_id)
    )
    if here.cluster_id == there.cluster_id:
        raise SameClusterError(spec.id, here.cluster_id)
    stored, into_source = await probing.stored_links(target, there), await probing.stored_links(source, here)
    _check_new(stored, spec.id)
    notes: list[Reason] = []
    if spec.back_of is not None:
        spec, adopt, notes = await way_back(source, spec, here, there)
    left_out = probing.filled_by_opposite(spec, here, there, into_source, stored)
    report = await _report(source, target, here, there, spec, adopt, left_out)
    findings = [*report.findings, *probing.second_links(stored, report.spec, here, there, report.topics)]
    upstream = list(into_source.links.values())
    if control_topics.LINKS not in here.topics:
        findings += await blind_to_loops(source)
    check_ring(spec.id, here.cluster_id, there.cluster_id, upstream)
    report = replace(report, findings=(*notes, *findings))
    values = {one.name: getattr(report, one.name) for one in fields(report)}
    rests_on = _hash(spec, asked, report.topics, adopt)
    return CreateLinkPlan(**values, hash=rests_on, asked=asked, adopt=tuple(adopt)), upstream


async def _report(
    source: Cluster,
    target: Cluster,
    here: ClusterMetadata,
    there: ClusterMetadata,
    spec: LinkSpec,
    adopt: Sequence[StoredMap],
    left_out: Mapping[str, Reason],
) -> ProbeReport:
    """What both clusters and the topics say; ``left_out`` are those that an opposite link fills."""
    findings: list[Reason] = []
    topics = probing.topic_plans(spec, here, there, source.transport.principal, findings, left_out)
    if spec.start.kind is StartKind.GROUP:
        spec, notes = await probing.from_group(source, spec, topics)
        findings += notes
    elif spec.start.kind is StartKind.OFFSETS:
        findings += await explicit_offsets.check(source, spec.start, topics, here.topics)
    source_facts = await facts(source, ClusterRole.SOURCE, [topic.source for topic in topics])
    target_facts = await facts(target, ClusterRole.TARGET, [topic.target for topic in topics if topic.exists])
    findings += probing.missing(source_facts, ClusterRole.SOURCE) + probing.missing(target_facts, ClusterRole.TARGET)
    ids = [TopicId(here.topics[topic.source].id) for topic in topics]
    rights, lacking = await probe_permissions(target, spec, target_facts, ids, [topic.target for topic in topics])
    target_facts = replace(target_facts, permissions=(*target_facts.permissions, *rights))
    findings += lacking
    findings += await probing.uncreatable(target, topics)
    findings += await probing.sizes(source, target, topics)
    findings += probing.replication(spec, len(there.brokers))
    if not adopt:  # whose lanes go on where the maps end
        topics, changes = await forecast(source, target, spec, topics, target_facts)
        findings += changes
    findings += await look_after(target)
    findings += await probing.settings(target, spec, there, topics)
    if adopt:
        findings += await adopting.check(target, here, there, topics, adopt, spec.back_of, source)
    return ProbeReport(spec, source_facts, target_facts, topics, tuple(findings))


def _check_new(stored: Links, link: str) -> None:
    if link in stored.links:
        raise LinkExistsError(link)
    if stored.topics_of(link) or stored.decisions[link]:
        raise LinkBeingDeletedError(link)


def _hash(spec: LinkSpec, asked: LinkSpec, topics: Sequence[TopicPlan], adopt: Sequence[StoredMap]) -> str:
    """``spec`` tells only which clusters these are: what it has of a group's commits moves by itself."""
    return plan_hash(
        spec_fields(asked),
        [spec.source.cluster_id, spec.target.cluster_id],
        [[topic.source, topic.target, topic.partitions, topic.exists] for topic in topics],
        [[str(one.lane), str(one.target), one.ranges.source_end, one.ranges.target_end] for one in adopt],
    )
