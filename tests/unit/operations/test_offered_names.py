"""Names that a shell offers, asked of clusters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from anabranch.kafka.admin import create_topic
from anabranch.model.groups import Commit
from anabranch.operations.contexts import naming
from tests.unit.link_lab import LINK, TO_A, Lab, lab

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def both() -> Iterator[Lab]:
    """The clusters, with a topic of somebody's own beside those of the link."""
    with lab() as made:
        made.on(made.target, lambda cluster: create_topic(cluster, "_own", 1, 1, {}))
        made.on(made.target, lambda cluster: create_topic(cluster, "__internal_like", 1, 1, {}))
        made.commit(made.target, "shop", {TO_A: Commit(1)})
        made.commit(made.target, "bills", {TO_A: Commit(1)})
        yield made


def test_links_topics_and_groups_of_a_cluster_are_offered_in_order(both: Lab) -> None:
    """Neither the cluster's own topics nor ours; a target without our topics has no links."""
    assert both.on(both.target, naming.links) == [LINK]
    assert both.on(both.source, naming.links) == []
    assert both.on(both.target, naming.topics) == ["_own", "old.orders"]
    assert both.on(both.source, naming.topics) == ["orders", "private"]
    assert both.on(both.target, naming.groups) == ["bills", "shop"]


def test_partitions_of_a_link_are_named_by_the_source_and_counted_on_the_target(both: Lab) -> None:
    """A partition that the target has not yet is not offered; of a link that is not there nothing is."""
    assert both.on(both.target, lambda cluster: naming.partitions(cluster, LINK)) == ["orders", "orders-0", "orders-1"]
    assert both.on(both.target, lambda cluster: naming.partitions(cluster, "none-such")) == []
    assert both.on(both.target, lambda cluster: naming.source_of(cluster, LINK)) == "old"
    with pytest.raises(KeyError):
        both.on(both.target, lambda cluster: naming.source_of(cluster, "none-such"))
