"""A link of a user who may do little: what is enough, what each right is for, and what happens without it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from anabranch.kafka.errors import PermissionDeniedError
from anabranch.model.lane import LaneMode
from anabranch.model.link import ModePolicy
from anabranch.model.plugins import PluginSpec
from anabranch.model.reasons import Reason, Severity
from anabranch.model.reports import ProbeReport
from anabranch.operations.links.create import LinkRefusedError
from anabranch.sandbox import ClusterSpec, SandboxCluster
from qa import links as engine
from qa.brokers import STEADY
from tests.integration.links.guarded import (
    TOPIC_OPERATIONS,
    grant,
    granted,
    identity_needs,
    revoke,
    source_needs,
    target_needs,
    without,
)
from tests.integration.links.identity import assert_equal_offsets, begin_at
from tests.integration.links.lab import link
from tests.integration.links.topics import OLD_MS, create, fresh, grow, newest_offset, numbered, produce, transaction
from tests.simulated import clusters

pytestmark = pytest.mark.test

DELETE = (ResourceType.TOPIC, "data-", AclOperation.DELETE)
FILL = (ResourceType.TRANSACTIONAL_ID, "anabranch.", AclOperation.WRITE)
USERS = {"admin": "admin-secret", "full": "f", "modest": "m", "poor": "p"}


@pytest.fixture(scope="module")
def guarded(request: pytest.FixtureRequest) -> Iterator[tuple[SandboxCluster, SandboxCluster]]:
    """Two clusters with the standard authorizer; ``full`` and ``modest`` have exactly what the reference says."""
    specs = [
        ClusterSpec(name, security="PLAIN", authorizer=True, users=USERS, overrides=STEADY)
        for name in ("guarded-old", "guarded-new")
    ]
    with clusters(request.config, *specs) as (here, there):
        for user in ("full", "modest", "poor"):
            grant(here, user, source_needs("data-"))
            grant(there, user, target_needs("data-"))
        grant(there, "full", identity_needs("data-"))
        for cluster in (here, there):  # so that what is missing is more than to be seen
            grant(cluster, "poor", ((ResourceType.TOPIC, "data-", AclOperation.DESCRIBE),))
        assert granted(there, "modest") == set(target_needs("data-"))
        yield here, there


@pytest.mark.full
def test_the_documented_rights_are_enough_for_identity_growth_and_configs(
    guarded: tuple[SandboxCluster, SandboxCluster],
) -> None:
    """With those for equal offsets: no finding, identity for young records, mapped for old ones."""
    here, there = guarded
    name = fresh("data-full")
    young, aged = create(here, name + "-young"), create(here, name + "-aged")
    produce(here, young, numbered(20), batch=5)
    produce(here, aged, numbered(20, timestamp=OLD_MS), batch=5)
    with link(here, there, name + "-.*", users=("full", "full")) as made:
        assert made.report is not None
        assert made.report.findings == ()
        with made.running(lease_seconds=1.5):
            assert made.await_position(young, 20).mode is LaneMode.IDENTITY
            assert made.await_position(aged, 20).mode is LaneMode.MAPPED
            grow(here, young, 3)
            produce(here, young, numbered(5, partition=2))
            made.await_position(young, 5, 2)
            for topic in (young, aged):
                made.assert_copied(topic)
            made.await_(lambda _: made.findings() == "")


def test_without_alter_on_the_cluster_lanes_are_mapped_and_fenced_by_the_coordinator(
    guarded: tuple[SandboxCluster, SandboxCluster],
) -> None:
    """The reason is shown; several runs take over from each other by empty transactions, exactly."""
    here, there = guarded
    topic = create(here, fresh("data-modest"))
    with link(here, there, topic, users=("modest", "modest")) as made:
        assert made.report is not None
        assert any("User:modest may not ALTER on cluster" in one.what for one in made.report.findings)
        for turn in range(1, 4):
            produce(here, topic, numbered(20, first=20 * (turn - 1), timestamp=OLD_MS), batch=5)
            with made.running():
                lane = made.await_position(topic, 20 * turn)
                assert lane.mode is LaneMode.MAPPED
                assert "ALTER on the target cluster" in lane.mode_reason
        made.assert_copied(topic)
        assert made.rebuilt(lane) == made.ranges(lane.lane)


def lacking(report: ProbeReport) -> list[Reason]:
    """What was found, but for what is said for the record: settings of a topic that exists are changed."""
    return [finding for finding in report.findings if finding.severity is not Severity.INFO]


def test_rights_for_equal_offsets_that_are_missing_are_named_before_the_run(
    guarded: tuple[SandboxCluster, SandboxCluster],
) -> None:
    """Warnings with what happens instead, of topics that exist and that do not; nothing is made by asking."""
    here, there = guarded
    name = fresh("data-rights")
    made_already, unmade = create(here, name + "-there"), create(here, name + "-not")
    create(there, made_already)
    with link(here, there, name + "-.*", users=("full", "full"), create=False) as made:
        assert not lacking(engine.probe(made.source, made.target, made.spec))
        with without(there, "full", DELETE):
            report = engine.probe(made.source, made.target, made.spec)
        for topic in (made_already, unmade):
            what = (
                f"User:full may not DELETE on topic {topic} of guarded-new: where the source log starts above offset 0"
            )
            found = [finding for finding in report.findings if what in finding.what]
            assert [(one.severity.value, "lanes are mapped" in one.what) for one in found] == [("warning", True)]
            assert f"--operation DELETE --topic={topic}" in found[0].fix
        assert len(lacking(report)) == 2
        with without(there, "full", FILL):
            report = engine.probe(made.source, made.target, made.spec)
        (only,) = lacking(report)
        assert only.severity.value == "warning"
        assert f"User:full may not WRITE on transactional id anabranch.{made.id}/" in only.what
        assert ".fill of guarded-new: lanes are mapped from their first gap on" in only.what
        assert "--operation WRITE --transactional-id=anabranch. --resource-pattern-type=prefixed" in only.fix
        mapped = replace(made.spec, mode=ModePolicy.MAPPED)
        with without(there, "full", FILL), without(there, "full", DELETE):
            assert not lacking(engine.probe(made.source, made.target, mapped))
    with (
        link(here, there, name + "-.*", users=("modest", "modest"), create=False) as made,
        without(there, "modest", FILL),
        pytest.raises(LinkRefusedError) as refused,
    ):
        engine.create(made.source, made.target, made.spec)
    assert any("nothing else can fence earlier owners" in one.what for one in refused.value.errors)


def test_without_delete_a_log_that_starts_above_zero_is_mapped_from_its_first_record(
    guarded: tuple[SandboxCluster, SandboxCluster],
) -> None:
    """No padding is written that could not be deleted; a log that starts at 0 has equal offsets all the same."""
    here, there = guarded
    name = fresh("data-head")
    far, near = create(here, name + "-far"), create(here, name + "-near")
    begin_at(here, far, 500)
    for topic in (far, near):
        produce(here, topic, numbered(10))
    with (
        without(there, "full", DELETE),
        link(here, there, name + "-.*", users=("full", "full")) as made,
        made.running(),
    ):
        lane = made.await_position(far, 510)
        assert (lane.mode, lane.target_end) == (LaneMode.MAPPED, 10)
        assert lane.mode_reason == f"the lane starts at source offset 500: padding needs DELETE on target topic {far}"
        assert made.assert_copied(far) == 10
        assert made.await_position(near, 10).mode is LaneMode.IDENTITY


def test_without_write_on_its_transactional_id_a_lane_is_mapped_at_its_first_gap(
    guarded: tuple[SandboxCluster, SandboxCluster],
) -> None:
    """Up to the gap offsets are equal; behind it, and not before, runs tell them, and the right is named."""
    here, there = guarded
    topic = create(here, fresh("data-fill"))
    produce(here, topic, numbered(10))
    with without(there, "full", FILL), link(here, there, topic, users=("full", "full")) as made, made.running():
        assert made.await_position(topic, 10).mode is LaneMode.IDENTITY
        assert assert_equal_offsets(here, there, topic) == 10
        transaction(here, topic, [b"a", b"b"])
        produce(here, topic, numbered(5, first=10))
        lane = made.await_position(topic, 18)
        assert lane.mode is LaneMode.MAPPED
        padder = f"anabranch.{lane.lane}.fill"
        assert f"a gap after offset 11: filling it needs WRITE on transactional id {padder}" in lane.mode_reason
        assert made.assert_copied(topic) == 17
    assert made.rebuilt(lane) == made.ranges(lane.lane)


def test_each_right_that_is_missing_is_named_with_the_resource_and_the_principal(
    guarded: tuple[SandboxCluster, SandboxCluster],
) -> None:
    """The probe finds every missing right on topics that exist, as an error with the command that grants it."""
    here, there = guarded
    topic = create(here, fresh("data-poor"))
    create(there, topic)
    with link(here, there, topic, users=("poor", "poor"), create=False) as made:
        for cluster, needs, operations in (
            (here, source_needs("data-"), ("READ", "DESCRIBE_CONFIGS")),
            (there, target_needs("data-"), TOPIC_OPERATIONS),
        ):
            for one in needs:
                if one[1] != "data-" or one[2].name not in operations or one[2].name == "CREATE":
                    continue
                with without(cluster, "poor", one), pytest.raises(LinkRefusedError) as refused:
                    engine.create(made.source, made.target, made.spec)
                errors = refused.value.errors
                where = f"User:poor may not {one[2].name} on topic {topic} of {cluster.spec.name}"
                assert any(where in finding.what for finding in errors), (one, errors)
                fix = f"kafka-acls --add --allow-principal User:poor --operation {one[2].name}"
                assert any(fix in finding.fix for finding in errors)
        unmade = create(here, fresh("data-poor"))
        other = replace(made.spec, filter=PluginSpec("regex", {"include": [unmade]}))
        with without(there, "poor", (ResourceType.TOPIC, "data-", AclOperation.CREATE)):
            report = engine.probe(made.source, made.target, other)
        assert any(f"User:poor may not CREATE on topic {unmade} of guarded-new" in one.what for one in report.findings)
        assert engine.create(made.source, made.target, made.spec).record.wanted.spec.id == made.id


@pytest.mark.parametrize("operation", ["WRITE", "READ"])
def test_the_control_topics_need_their_rights_too(
    guarded: tuple[SandboxCluster, SandboxCluster], operation: str
) -> None:
    """Whoever may not make, write or read them cannot create a link, and is told what is missing."""
    here, there = guarded
    one = (ResourceType.TOPIC, "__anabranch_", AclOperation[operation])
    topic = create(here, fresh("data-control"))
    with link(here, there, topic, users=("poor", "poor"), create=False) as made, without(there, "poor", one):
        with pytest.raises(PermissionDeniedError) as raised:
            made.create()
        assert raised.value.principal == "User:poor"
        assert "topic __anabranch_" in raised.value.resource
        assert raised.value.operation.upper() == operation


def test_a_write_permission_that_is_taken_away_stops_its_lane_until_it_is_back(
    guarded: tuple[SandboxCluster, SandboxCluster],
) -> None:
    """The lane stops at the exact offset with the reason; the other goes on; a resume after the grant goes on too."""
    here, there = guarded
    name = fresh("data-lost")
    denied, other = create(here, name + "-denied"), create(here, name + "-other")
    wide = (ResourceType.TOPIC, "data-", AclOperation.WRITE)
    for topic in (denied, other):
        produce(here, topic, numbered(10))
    with link(here, there, name + "-.*", users=("full", "full")) as made, made.running():
        made.await_position(denied, 10)
        made.await_position(other, 10)
        grant(there, "full", ((ResourceType.TOPIC, other, AclOperation.WRITE),))
        revoke(there, "full", (wide,))
        try:
            produce(here, denied, numbered(5, first=10))
            produce(here, other, numbered(5, first=10))
            lane = made.await_stopped(denied)
            assert (lane.stop_offset, newest_offset(there, denied)) == (10, 10)
            assert "for lack of permission" in str(lane.stop_reason)
            made.await_position(other, 15)
        finally:
            grant(there, "full", (wide,))
        engine.resume(made.target, made.id)
        made.await_position(denied, 15)
        for topic in (denied, other):
            made.assert_copied(topic)


def test_a_read_permission_that_is_taken_away_stops_its_lane_and_no_other(
    guarded: tuple[SandboxCluster, SandboxCluster],
) -> None:
    """The source's refusal names the principal and the topic."""
    here, there = guarded
    name = fresh("data-blind")
    denied, other = create(here, name + "-denied"), create(here, name + "-other")
    wide = (ResourceType.TOPIC, "data-", AclOperation.READ)
    with link(here, there, name + "-.*", users=("full", "full")) as made, made.running():
        for topic in (denied, other):
            produce(here, topic, numbered(10))
            made.await_position(topic, 10)
        grant(here, "full", ((ResourceType.TOPIC, other, AclOperation.READ),))
        revoke(here, "full", (wide,))
        try:
            lane = made.await_stopped(denied)
            assert lane.stop_offset == 10
            assert f"User:full may not Read topic {denied}" in str(lane.stop_reason)
            produce(here, other, numbered(5, first=10))
            made.await_position(other, 15)
        finally:
            grant(here, "full", (wide,))


def test_a_source_whose_links_may_not_be_read_is_told_as_a_danger_of_loops(
    guarded: tuple[SandboxCluster, SandboxCluster],
) -> None:
    """Without READ on the source's control topics, nobody can know whether a link runs the other way."""
    here, there = guarded
    topic = create(here, fresh("data-provenance"))
    one = (ResourceType.TOPIC, "__anabranch_", AclOperation.READ)
    with link(here, there, topic, users=("poor", "poor"), create=False) as made, without(here, "poor", one):
        report = engine.probe(made.source, made.target, made.spec)
        found = [finding for finding in report.findings if "__anabranch_links" in finding.what]
        assert len(found) == 1
        assert "User:poor may not Describe" in found[0].what
        assert "loop" in found[0].what
