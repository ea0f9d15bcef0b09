"""The way back of a link: which topics it has, what they are called, and why it is not made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.config.maps_file import StoredMap
from anabranch.errors import InvalidFieldError
from anabranch.kafka.cluster import Cluster
from anabranch.model import naming
from anabranch.model.link import ClusterRef, LinkSpec
from anabranch.model.plugins import PluginSpec
from anabranch.model.reasons import Reason
from anabranch.operations.links import create
from anabranch.operations.links.returning import OtherWayError, way_back
from anabranch.state.topics.control import MappedRanges
from qa import links
from qa.blocking import between
from tests.unit.link_lab import LINK, RUNS, SOURCE_END, TARGET_END, TO_A, TO_B, A, B, Lab, lab

pytestmark = pytest.mark.unit

BACK = LinkSpec("new-old", ClusterRef("new", ""), ClusterRef("old", ""), back_of=LINK)


@pytest.fixture
def both() -> Iterator[Lab]:
    """Two clusters and a link with prefixes, whose lanes end before the source does."""
    with lab() as made:
        yield made


def found(both: Lab, asked: LinkSpec, other: str = "") -> tuple[LinkSpec, tuple[StoredMap, ...], list[Reason]]:
    """The way back from the new cluster, to the old one or to one of another id."""

    async def ask(target: Cluster, source: Cluster) -> tuple[LinkSpec, tuple[StoredMap, ...], list[Reason]]:
        here, there = await target.metadata(None), await source.metadata(None)
        return await way_back(target, asked, here, replace(there, cluster_id=other or there.cluster_id))

    return between(both.target, both.source, ask)


def test_it_has_the_topics_and_the_maps_of_its_link_the_other_way_round(both: Lab) -> None:
    """Partitions that have begun, with where the copies end on both sides; nothing of topics that are excluded."""
    spec, maps, reasons = found(both, BACK)
    assert spec.filter.options == {"include": [r"old\.orders"], "exclude": []}
    assert spec.naming == PluginSpec("original", {"of": "prefix", "of_source": "old"})
    assert [(one.source, one.target) for one in maps] == [(TO_A, A), (TO_B, B)]
    for one in maps:
        assert [(run.target, run.source, run.length) for run in one.ranges] == [
            (r.source, r.target, r.length) for r in RUNS
        ]
        assert (one.ranges.source_end, one.ranges.target_end) == (TARGET_END, SOURCE_END)
    assert [reason.fix for reason in reasons] == [f"anabranch link pause {LINK}"]
    links.pause(both.target, LINK)
    assert found(both, BACK)[2] == []
    none, maps, _ = found(both, replace(BACK, filter=PluginSpec("regex", {"include": ["private"]})))
    assert (none.filter.options["include"], maps) == ([], ())


def test_records_of_others_between_copies_are_not_left_out(both: Lab) -> None:
    """They lie before the last copies, so a link that goes on behind these would never copy them."""
    links.pause(both.target, LINK)

    async def parted(cluster: Cluster) -> None:
        ranges = MappedRanges(cluster)
        await ranges.sync()
        await ranges.persist({(both.lanes[0].lane, 0): (RUNS[0], replace(RUNS[1], target=12, length=3))})

    both.on(both.target, parted)
    (reason,) = found(both, BACK)[2]
    assert reason.what == f"{TO_A} has records at 10 that link {LINK} did not copy, before its copies end"


def test_what_is_not_its_own_is_refused(both: Lab) -> None:
    """A link that leads elsewhere, other names, and maps beside those that it brings."""
    with pytest.raises(OtherWayError, match="cannot be the way back of 'old-new'"):
        found(both, BACK, "of-somebody")
    with pytest.raises(InvalidFieldError, match="has the names of the link that it belongs to"):
        found(both, replace(BACK, naming=PluginSpec("prefix")))
    maps = found(both, BACK)[1]
    with pytest.raises(InvalidFieldError, match="maps to adopt are given too"):
        between(both.target, both.source, lambda here, there: create.plan(here, there, BACK, maps))
    with pytest.raises(InvalidFieldError, match="is no link's id"):
        replace(BACK, back_of="Not One")


names = st.text("abc.-_", min_size=1, max_size=12)
policies = st.sampled_from(
    [
        PluginSpec("identity"),
        PluginSpec("prefix"),
        PluginSpec("prefix", {"separator": "-"}),
        PluginSpec("template", {"template": "{source}.x.{topic}.y"}),
    ]
)


@given(policies, names)
def test_names_are_led_back_to_where_they_came_from(policy: PluginSpec, topic: str) -> None:
    """There and back again, and as every policy: what it answers for what it made is what it was made of."""
    there = naming.load(policy, "old")
    back = naming.load(PluginSpec("original", {"of": policy.kind, "of_source": "old", **policy.options}), "new")
    renamed = there.renamed(topic)
    assert back.renamed(renamed) == topic
    assert back.original(topic) == renamed
