"""What is true of a wave once its run has ended, however often its engine was killed: read by clients of their own."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from anabranch.checkpoints.recognise import open_checkpoint
from anabranch.kafka.acls import describe_acls
from anabranch.kafka.quotas import describe_quotas
from anabranch.migration.access.values import quota_values
from anabranch.migration.steps import Part
from anabranch.model.acls import Acl, AclOperation, AclPermission
from anabranch.model.link import UnknownLinkError
from anabranch.operations.checkpoints.manifest import RewriteState, manifests
from anabranch.sandbox import SandboxCluster
from anabranch.storage.opening import open_files
from anabranch.store.database import open_database
from anabranch.store.switches import Switches
from qa import links as engine
from qa.blocking import on
from qa.service import until
from tests.integration.kafka.security import context_of
from tests.integration.kills.reading import control_records, log_of, topics_of
from tests.integration.kills.scene import (
    HERE,
    PAID,
    RATE,
    READ,
    alice,
    fence_of,
    foreign_denial,
    rate_of,
    rules_of,
    table_in,
)
from tests.integration.kills.stand import KillStand, partitions_of
from tests.integration.links.groups import committed
from tests.unit.operations.checkpoints.world import settle

Place = tuple[str, int]


# -- logs and positions ----------------------------------------------------------------------------------------


def assert_logs(stand: KillStand) -> None:
    """Both clusters hold what applications wrote: nothing is lost, repeated or reordered."""
    for (topic, partition), wrote in stand.written.records.items():
        for cluster, name in ((stand.old, topic), (stand.new, stand.leg().topics[topic])):
            found = [value for _, value in log_of(cluster, name, partition)]
            assert found == wrote, (cluster.spec.name, name, partition)


def until_copied(stand: KillStand, number: int) -> None:
    """Wait until the link of a leg has copied all that was written where it begins."""
    target = stand.new if not stand.leg(number).leads_back else stand.old
    for (topic, partition), wrote in stand.written.records.items():
        name = stand.leg().topics[topic] if target is stand.new else topic
        until(lambda name=name, at=partition, wrote=wrote: len(log_of(target, name, at)) >= len(wrote))


def where(cluster: SandboxCluster, stand: KillStand, topic: str, partition: int, read: int) -> int:
    """Where on a cluster lies the record that an application was at, at an offset of the source as it was at first."""
    name = topic if cluster is stand.old else stand.leg().topics[topic]
    value = stand.written.records[topic, partition][read - 1 if read > len(PAID) else read]
    return next(offset for offset, found in log_of(cluster, name, partition) if found == value)


def assert_positions(stand: KillStand, number: int) -> None:
    """Groups and queries are at exactly their records on the cluster that a leg leads to."""
    leg = stand.leg(number)
    there = stand.old if leg.leads_back else stand.new
    names = {topic: topic if there is stand.old else copied for topic, copied in stand.leg().topics.items()}
    places = [(topic, at) for topic in stand.wave.topics for at in range(partitions_of(topic))]
    for group in stand.wave.groups:
        read = READ[group.rpartition("-")[2]]
        found = committed(there, group, [(names[topic], at) for topic, at in places])
        wanted = {(names[topic], at): (where(there, stand, topic, at, read), "noted") for topic, at in places}
        assert found == wanted, group
    flights = stand.wave.topics[0]
    wanted_starts = {f"{names[flights]}-{at}": where(there, stand, flights, at, read) for at, read in HERE.items()}
    for place in ("sums", "totals-new"):
        assert starts(stand.directory / place) == wanted_starts, place
    assert starts(stand.directory / "totals") == {f"{flights}-{at}": offset for at, offset in HERE.items()}


def starts(place: Path) -> dict[str, object]:
    """Where a checkpoint goes on."""
    return {str(one.partition): one.offset for one in open_checkpoint(open_files(str(place))).positions()}


def assert_files(stand: KillStand, times: int) -> None:
    """Each switch has rewritten each query once, and no draft of it is left."""
    done = [one.state for one in manifests(open_files(f"{stand.directory}/sums"))]
    assert done == [RewriteState.DONE] * times, done
    made = [one.state for one in manifests(open_files(f"{stand.directory}/totals-new"))]
    assert sorted(made) == sorted([RewriteState.COPIED] + [RewriteState.DONE] * (times - 1)), made
    assert_no_drafts(stand.directory)


def assert_no_drafts(directory: Path) -> None:
    """Nothing that was staged, or written beside what it was to be."""
    drafts = [
        str(one)
        for one in directory.rglob("*")
        if "jobs" not in one.parts
        and (".anabranch-" in one.name or one.name.endswith(".tmp") or one.name in ("staged.json", "staged.next"))
    ]
    assert drafts == []


# -- access rules, routes, links -------------------------------------------------------------------------------


def rules(cluster: SandboxCluster, stand: KillStand) -> set[Acl]:
    """A cluster's rules about what is the migration's."""
    mine = stand.migration.name
    found = on(context_of(cluster), describe_acls)
    return {rule for rule in found if re.search(rf"\b{mine}[.-]", rule.resource_name)}


def carried(stand: KillStand) -> set[Acl]:
    """The rules that are carried over, by their names on the target."""
    names = stand.leg().topics
    allowed = [rule for rule in rules_of(stand) if rule.permission is AclPermission.ALLOW]
    return {replace(rule, resource_name=names.get(rule.resource_name, rule.resource_name)) for rule in allowed}


def assert_access(stand: KillStand, number: int) -> None:
    """Who may write where the applications are, and nobody where they were; what somebody else denied stays."""
    leg = stand.leg(number)
    fenced = stand.new if leg.leads_back else stand.old
    for cluster, usual in ((stand.old, {*rules_of(stand)}), (stand.new, carried(stand))):
        wanted = usual | fence_of(stand, number) if cluster is fenced else usual
        until(lambda cluster=cluster, wanted=wanted: rules(cluster, stand) == wanted)
    assert foreign_denial(stand) in rules(stand.old, stand)
    assert quota_values(on(context_of(stand.new), describe_quotas)).get(rate_of(stand)) == RATE


def may_write(cluster: SandboxCluster, stand: KillStand, topic: str) -> bool:
    """Whether the cluster's rules let alice's producers write."""
    mine = [
        rule
        for rule in rules(cluster, stand)
        if (rule.resource_name, rule.principal, rule.operation) == (topic, f"User:{alice(stand)}", AclOperation.WRITE)
    ]
    return {rule.permission for rule in mine} == {AclPermission.ALLOW}


def assert_routes(stand: KillStand, where_to: str) -> None:
    """Its code leads there, by the code itself; no switch is open."""
    table, _ = table_in(stand)
    destination = table.codes[stand.migration.name].destination
    topics = "old.{topic}" if where_to == "new" else "{topic}"
    assert (destination.cluster, destination.topics) == (where_to, topics)
    assert not [rule for rule in table.rules if rule.name.startswith(f"{stand.migration.name}.")]
    database = open_database(stand.store)
    try:
        switches = Switches(database)
        newest = switches.newest()
        assert newest is None or not switches.get(newest[0]).is_open
    finally:
        database.close()


def assert_no_link(cluster: SandboxCluster, link: str) -> None:
    """No link of a name, and no record of it in any control topic."""
    with pytest.raises(UnknownLinkError):
        engine.show(context_of(cluster), link)
    assert control_records(cluster, link) == []


# -- what all of it is together --------------------------------------------------------------------------------


def assert_switched(stand: KillStand, number: int) -> None:
    """A leg is behind the wave: its applications go on at its end, exactly, and what they write reaches the other."""
    leg = stand.leg(number)
    here, there = (stand.new, stand.old) if leg.leads_back else (stand.old, stand.new)
    assert_logs(stand)
    assert_positions(stand, number)
    assert_files(stand, number + 1)
    assert_access(stand, number)
    assert_routes(stand, leg.there)
    for hook in ("fence", "release"):
        assert leg.there in (stand.directory / hook).read_text().split(), hook
    stored = engine.show(context_of(there), leg.link)
    assert stored.wanted.paused
    until(lambda: not engine.show(context_of(there), leg.link).runs)
    until(lambda: engine.show(context_of(here), leg.next.link).runs)
    for topic, name in leg.topics.items():
        assert may_write(there, stand, name) and not may_write(here, stand, topic)
    stand.write(there)
    until_copied(stand, number + 1)
    assert_logs(stand)
    for job in stand.wave.jobs:
        settle(Path(job.moved or job.checkpoint))


def assert_not_started(stand: KillStand) -> None:
    """Nothing is left of a start that was taken back."""
    for link in (stand.leg(0).link, stand.leg(1).link):
        for cluster in (stand.old, stand.new):
            assert_no_link(cluster, link)
    until(lambda: rules(stand.new, stand) == set())
    assert rules(stand.old, stand) == {*rules_of(stand)}
    until(lambda: rate_of(stand) not in quota_values(on(context_of(stand.new), describe_quotas)))
    until(lambda: stand.helper.alive == 0)
    until(lambda: not {*stand.leg().topics.values()} & topics_of(stand.new))


def assert_partly_switched(stand: KillStand, number: int, part: Part) -> None:
    """One part of a leg is behind the wave: positions are there, or the logs are turned; clients are led apart."""
    leg = stand.leg(number)
    here, there = (stand.new, stand.old) if leg.leads_back else (stand.old, stand.new)
    assert_logs(stand)
    assert_no_drafts(stand.directory)
    table, _ = table_in(stand)
    rules_ = [rule for rule in table.rules if rule.name.startswith(f"{stand.migration.name}.")]
    assert len(rules_) == 1
    if part is Part.CONSUMERS:
        assert_positions(stand, number)
        assert not engine.show(context_of(there), leg.link).wanted.paused
    else:
        until(lambda: engine.show(context_of(here), leg.next.link).runs)
    writes = there if part is Part.PRODUCERS else here
    stand.write(writes)
    until_copied(stand, number + (part is Part.PRODUCERS))
    assert_logs(stand)


def assert_completed(stand: KillStand, number: int) -> None:
    """The links are gone, and applications stay."""
    for link in (stand.leg(one).link for one in range(number + 1)):
        for cluster in (stand.old, stand.new):
            assert_no_link(cluster, link)
    until(lambda: stand.helper.alive == 0)
    assert_logs(stand)
    assert_routes(stand, stand.leg(number).here)


def assert_purged(stand: KillStand, *, purged: bool) -> None:
    """The links are gone, and with them the topics that were made if that was asked for; nothing of the source is."""
    for link in (stand.leg(0).link, stand.leg(1).link):
        for cluster in (stand.old, stand.new):
            assert_no_link(cluster, link)
    until(lambda: stand.helper.alive == 0)
    names = {*stand.leg().topics.values()}
    if purged:
        until(lambda: not names & topics_of(stand.new))
    else:
        assert names <= topics_of(stand.new)
    for (topic, partition), wrote in stand.written.records.items():
        assert [value for _, value in log_of(stand.old, topic, partition)] == wrote


def assert_not_switched(stand: KillStand) -> None:
    """Nothing is left of a first switch that was taken back: the wave is copied on, and nobody was moved."""
    leg = stand.leg()
    for cluster in (stand.old, stand.new):
        assert_no_link(cluster, leg.next.link)
    assert not engine.show(context_of(stand.new), leg.link).wanted.paused
    until(lambda: rules(stand.old, stand) == {*rules_of(stand)})
    until(lambda: rules(stand.new, stand) == carried(stand))
    assert_routes(stand, "old")
    for group in stand.wave.groups:
        places = [(name, at) for topic, name in leg.topics.items() for at in range(partitions_of(topic))]
        assert committed(stand.new, group, places) == dict.fromkeys(places)
    flights = stand.wave.topics[0]
    assert starts(stand.directory / "sums") == {f"{flights}-{at}": offset for at, offset in HERE.items()}
    assert not (stand.directory / "totals-new").exists()
    assert not (stand.directory / "sums" / ".anabranch").exists()
    assert_no_drafts(stand.directory)
    stand.write(stand.old)
    until_copied(stand, 0)
    assert_logs(stand)
