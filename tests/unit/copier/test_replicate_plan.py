"""Which topics a plan copies, and under which names."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anabranch.copier.planning.pairs import TopicPair, not_home, pairs_of
from anabranch.copier.planning.target_topics import TargetTopics
from anabranch.kafka import admin
from anabranch.kafka.cluster import Cluster, ClusterMetadata, PartitionMeta, TopicMeta
from anabranch.model.link import ClusterRef, LinkSpec, MirroredTopic
from anabranch.model.plugins import PluginSpec
from anabranch.model.reasons import Reason, Severity
from anabranch.model.topics import TopicId
from anabranch.operations.links.probing import topic_plans
from anabranch.state.topics.control import Links

pytestmark = pytest.mark.unit

ME = "User:ANONYMOUS"


def pairs(
    topics: dict[str, int], looping: tuple[str, ...] = (), **spec: PluginSpec
) -> tuple[dict[str, str], list[Reason]]:
    """(source name -> target name, findings) of topics given with their error codes."""
    part = PartitionMeta(1, 0, (1,), (1,), 0)
    found = {
        name: TopicMeta(name, uuid.uuid5(uuid.NAMESPACE_DNS, name), False, code, {0: part}, None)
        for name, code in topics.items()
    }
    wanted = LinkSpec("link", ClusterRef("old", "a"), ClusterRef("new", "b"), **spec)
    findings: list[Reason] = []
    left_out = frozenset(TopicId(found[name].id) for name in looping)
    made = pairs_of(wanted, ClusterMetadata("a", 1, {}, found), left_out, ME, findings)
    return {pair.source.name: pair.target for pair in made}, findings


def test_internal_topics_and_those_of_the_opposite_link_are_left_out() -> None:
    """What would loop is said for the record."""
    made, findings = pairs({"orders": 0, "theirs": 0, "__consumer_offsets": 0, "__anabranch_links": 0}, ("theirs",))
    assert made == {"orders": "orders"}
    assert [finding.severity for finding in findings] == [Severity.INFO]
    assert "theirs is left out" in findings[0].what


def test_a_topic_that_the_source_cannot_tell_of_is_a_finding_and_the_others_are_copied() -> None:
    """An error code of one topic is no reason to copy none."""
    made, findings = pairs({"good": 0, "bad": 5})
    assert made == {"good": "good"}
    assert (findings[0].severity, "topic bad" in findings[0].what) == (Severity.ERROR, True)


def test_names_that_no_broker_accepts_are_findings_with_a_way_out() -> None:
    """A template can make a name too long."""
    template = PluginSpec("template", {"template": "x" * 245 + "{topic}"})
    made, findings = pairs({"abcd": 0, "abcde": 0}, naming=template)
    assert list(made) == ["abcd"]
    assert "abcde" in findings[0].what
    assert findings[0].fix


def test_a_filter_that_matches_nothing_is_a_warning_with_the_next_command() -> None:
    """Whoever may see few topics is told who that is."""
    made, findings = pairs({"orders": 0}, filter=PluginSpec("regex", {"include": ["order"]}))
    assert made == {}
    assert "none of the source's 1 topics that User:ANONYMOUS may see" in findings[0].what
    assert findings[0].fix == "anabranch link set link --include REGEX"


def test_what_another_tool_copies_the_other_way_is_not_copied_home() -> None:
    """Known by the target's name as its prefix and by the original there; what is filled already is only told."""
    part = PartitionMeta(1, 0, (1,), (1,), 0)

    def metadata(*names: str) -> ClusterMetadata:
        topics = {name: TopicMeta(name, uuid.uuid4(), False, 0, {0: part}, None) for name in names}
        return ClusterMetadata("a", 1, {}, topics)

    here = metadata("orders", "new.ringy", "new.named.so", "renew.ringy")
    there = metadata("ringy", "other")
    spec = LinkSpec("link", ClusterRef("old", "a"), ClusterRef("new", "b"), naming=PluginSpec("prefix", {}))

    def planned(wanted: LinkSpec, **known: object) -> tuple[set[str], list[Reason]]:
        findings: list[Reason] = []
        made = pairs_of(wanted, here, frozenset(), ME, findings)
        made = not_home(wanted, made, known, here, there, findings)  # type: ignore[arg-type]
        return {pair.source.name for pair in made}, findings

    made, findings = planned(spec)
    assert made == {"orders", "new.named.so", "renew.ringy"}
    assert [(one.severity, "left out" in one.what, "naming '{source}.{topic}'" in one.fix) for one in findings] == [
        (Severity.WARNING, True, True)
    ]
    made, findings = planned(spec, **{"old.new.ringy": object()})
    assert "new.ringy" in made and "copied home" in findings[0].what and "--exclude" in findings[0].fix
    assert planned(replace(spec, naming=PluginSpec("prefix", {"separator": "-"})))[1] == []
    assert planned(replace(spec, naming=PluginSpec("identity")))[1] == []
    findings = []
    assert [one.source for one in topic_plans(spec, here, there, "me", findings)] == [
        "new.named.so",
        "orders",
        "renew.ringy",
    ]
    assert "new.ringy" in findings[0].what


@pytest.mark.parametrize("named", ["prod.checkpoints.internal", "mm2-offset-syncs.prod.internal"])
@pytest.mark.parametrize("separator", [".", "-"])
def test_what_another_tool_copies_home_by_its_own_alias_is_told(named: str, separator: str) -> None:
    """No name says which cluster MirrorMaker means: it is copied, and told; copies of the link's own are left out."""
    part = PartitionMeta(1, 0, (1,), (1,), 0)

    def metadata(*names: str) -> ClusterMetadata:
        topics = {name: TopicMeta(name, uuid.uuid4(), False, 0, {0: part}, None) for name in names}
        return ClusterMetadata("a", 1, {}, topics)

    ours = f"old{separator}orders"
    copies = [f"prod.ringy-{number}" for number in range(6)]
    there = metadata("ringy", ours, *(name.removeprefix("prod.") for name in copies))
    naming = PluginSpec("prefix", {"separator": separator})
    spec = LinkSpec("link", ClusterRef("old", "a"), ClusterRef("new", "b"), naming=naming)

    def planned(wanted: LinkSpec, *names: str) -> tuple[set[str], list[Reason]]:
        here = metadata("orders", "prod.alone", *names)
        running: list[Reason] = []
        made = not_home(wanted, pairs_of(wanted, here, frozenset(), ME, running), {}, here, there, running)
        copied = {pair.source.name for pair in made}
        created: list[Reason] = []
        assert {one.source for one in topic_plans(wanted, here, there, "me", created)} == copied
        assert created == running
        return copied, running

    assert planned(spec, named) == ({"orders", "prod.alone"}, [])
    assert planned(spec, "prod.ringy") == ({"orders", "prod.alone", "prod.ringy"}, []), "an alias that nothing names"
    made, (found,) = planned(spec, named, "prod.ringy", *copies)
    assert made == {"orders", "prod.alone", "prod.ringy", *copies}
    assert found.severity is Severity.WARNING and "if that is the target" in found.what
    assert found.what.endswith(f": topics prod.ringy, {', '.join(copies[:3])} and 3 more")
    assert "--exclude 'prod[._-].*'" in found.fix
    made, (found,) = planned(spec, named, f"prod.{ours}")
    assert made == {"orders", "prod.alone"}
    assert f"own topic {ours}, and is left out" in found.what
    assert planned(replace(spec, naming=PluginSpec("identity")), named, "prod.ringy")[1] == []


def topic(number: int, partitions: int, name: str = "orders") -> TopicMeta:
    """A topic with this id."""
    part = PartitionMeta(1, 0, (1,), (1,), 0)
    return TopicMeta(name, uuid.UUID(int=number), False, 0, dict.fromkeys(range(partitions), part), None)


SOURCE_ID, TARGET_ID = TopicId(uuid.UUID(int=1)), TopicId(uuid.UUID(int=2))
KNOWN = MirroredTopic("link", "orders", SOURCE_ID, "orders", TARGET_ID)


def provided(
    monkeypatch: pytest.MonkeyPatch, source: TopicMeta, target: TopicMeta | None, known: MirroredTopic | None
) -> tuple[TopicId | Reason, list[str]]:
    """What comes of a pair whose target topic is so, and what is done there."""
    done: list[str] = []
    there = {} if target is None else {target.name: target}

    async def create(_: Any, name: str, partitions: int, *__: Any) -> None:
        done.append(f"create {name} {partitions}")
        there[name] = topic(2, partitions, name)

    async def grow(_: Any, name: str, partitions: int) -> None:
        done.append(f"grow {name} {partitions}")
        there[name] = topic(2, partitions, name)

    async def configs(_: Any, names: list[str]) -> dict[str, dict[str, admin.Config]]:
        return {name: {} for name in names}

    async def alter(*_: Any) -> None:
        pass

    async def metadata(names: list[str]) -> ClusterMetadata:
        return ClusterMetadata("b", 1, {}, {name: there[name] for name in names})

    async def put(_: Any) -> None:
        done.append("put")

    for name, fake in (
        ("create_topic", create),
        ("grow_topic", grow),
        ("topic_configs", configs),
        ("alter_topic_configs", alter),
    ):
        monkeypatch.setattr(admin, name, fake)
    spec = LinkSpec("link", ClusterRef("old", "a"), ClusterRef("new", "b"))
    links = SimpleNamespace(mirrored={}, put_topic=put)
    topics = TargetTopics(cast(Cluster, SimpleNamespace(metadata=metadata)), cast(Links, links))
    seen = ClusterMetadata("b", 1, {}, dict(there))
    found = asyncio.run(topics.provide(spec, TopicPair(source, "orders"), {}, seen, known, None))
    return found, done


@pytest.mark.parametrize(
    ("source", "target", "known", "told"),
    [
        (topic(7, 3), topic(2, 3), KNOWN, "topic orders was deleted and made again on the source"),
        (topic(1, 3), None, KNOWN, "topic orders was deleted on the target"),
        (topic(1, 3), topic(7, 3), KNOWN, "topic orders was deleted and made again on the target"),
        (topic(1, 3), topic(2, 2), None, "topic orders has 2 partitions on the target, orders has 3 on the source"),
    ],
)
def test_a_topic_that_is_not_what_the_link_filled_is_not_copied_into(
    source: TopicMeta,
    target: TopicMeta | None,
    known: MirroredTopic | None,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its offset map is of another log; nothing is done there before a person has said what counts."""
    found, done = provided(monkeypatch, source, target, known)
    assert isinstance(found, Reason) and found.severity is Severity.ERROR
    assert found.what.startswith(told)
    assert done == []


@pytest.mark.parametrize(
    ("target", "known", "done"),
    [
        (None, None, ["create orders 3", "put"]),
        (topic(2, 2), KNOWN, ["grow orders 3"]),
        (topic(2, 3), KNOWN, []),
        (topic(2, 4), KNOWN, []),
        (topic(2, 3), None, ["put"]),
    ],
)
def test_each_partition_of_the_source_has_one_on_the_target(
    target: TopicMeta | None, known: MirroredTopic | None, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A topic that a link fills grows with the source's, by one partition also."""
    found, did = provided(monkeypatch, topic(1, 3), target, known)
    assert found == TARGET_ID
    assert [one for one in did if known is None or one != "put"] == done
