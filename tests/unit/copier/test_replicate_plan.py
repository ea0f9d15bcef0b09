"""Which topics a plan copies, and under which names."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from anabranch.copier.planning.pairs import not_home, pairs_of
from anabranch.kafka.cluster import ClusterMetadata, PartitionMeta, TopicMeta
from anabranch.model.link import ClusterRef, LinkSpec
from anabranch.model.plugins import PluginSpec
from anabranch.model.reasons import Reason, Severity
from anabranch.model.topics import TopicId
from anabranch.operations.links.probing import topic_plans

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
    assert [(one.severity, "left out" in one.what, "--naming" in one.fix) for one in findings] == [
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
