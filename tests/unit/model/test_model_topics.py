"""Topic names and ids, filters and naming policies."""

from __future__ import annotations

import string
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import InvalidFieldError
from anabranch.model import filters, naming, plugins
from anabranch.model.filters import DEFAULT_EXCLUDE, RegexFilter
from anabranch.model.naming import IdentityNaming, NameCollisionError, NamingPolicy, PrefixNaming, TemplateNaming
from anabranch.model.plugins import PluginSpec, UnknownPluginError
from anabranch.model.topics import IllegalTopicNameError, TopicId, TopicPartition, check_name

pytestmark = pytest.mark.unit

names = st.text(string.ascii_letters + string.digits + "._-", min_size=1, max_size=100)


@given(st.uuids())
def test_a_topic_id_reads_as_it_is_written(uuid: UUID) -> None:
    """Kafka's 22 characters hold the whole id."""
    text = str(TopicId(uuid))
    assert len(text) == 22
    assert TopicId.parse(text) == TopicId(uuid)


@pytest.mark.parametrize("text", ["", "x", "A" * 21, "A" * 23, "!" * 22, "D4-tW9nLRp-hZXCGdyiVD\u00e9"])
def test_what_is_no_topic_id_is_refused(text: str) -> None:
    """Only 22 characters of base64url are an id."""
    with pytest.raises(InvalidFieldError):
        TopicId.parse(text)


def test_the_zero_id_is_kafkas() -> None:
    """A cluster without ids answers zero."""
    assert str(TopicId.ZERO) == "A" * 22


def test_partitions_are_written_as_kafka_writes_them() -> None:
    """topic-number."""
    assert str(TopicPartition("a-b", 3)) == "a-b-3"


@pytest.mark.parametrize("name", ["", ".", "..", "a" * 250, "a b", "größe", "a/b"])
def test_an_illegal_name_is_refused(name: str) -> None:
    """What a broker would refuse is refused before."""
    with pytest.raises(IllegalTopicNameError) as caught:
        check_name(name, source="orders")
    assert "'orders'" in caught.value.message


def test_filters_match_whole_names_and_exclude_wins() -> None:
    """A pattern for a part of a name selects nothing."""
    chosen = RegexFilter(["orders", r"bills\..*"], [r"bills\.tmp"])
    assert filters.select(chosen, ["orders", "orders2", "my-orders", "bills.a", "bills.tmp"]) == ("bills.a", "orders")


def test_internal_topics_are_never_selected() -> None:
    """Neither the brokers' topics nor ours are copied, whatever the filter says."""
    inside = [
        "__consumer_offsets",
        "__transaction_state",
        "__share_group_state",
        "__anabranch_claims",
        "__anabranch_links",
    ]
    assert filters.select(RegexFilter([".*"], []), [*inside, "__mine"]) == ("__mine",)


def test_mirrormakers_topics_are_left_out_unless_asked_for() -> None:
    """The default exclude list can be given up for another."""
    topics = ["heartbeats", "a.heartbeats", "mm2-offset-syncs.b.internal", "a.checkpoints.internal", "orders"]
    assert filters.select(RegexFilter(), topics) == ("orders",)
    assert len(filters.select(RegexFilter(exclude=[]), topics)) == 5
    assert len(DEFAULT_EXCLUDE) == 4


def test_a_bad_pattern_is_named() -> None:
    """The error says which list and which pattern; a string is no list."""
    with pytest.raises(InvalidFieldError, match=r"filter: include: '\['"):
        RegexFilter(["["])
    with pytest.raises(InvalidFieldError, match="a list is wanted"):
        filters.load(PluginSpec("regex", {"exclude": "orders"}))


POLICIES: list[NamingPolicy] = [
    IdentityNaming("old"),
    PrefixNaming("old"),
    PrefixNaming("old", "-"),
    TemplateNaming("old", "{source}-{topic}"),
    TemplateNaming("old", "x.{topic}.{source}"),
]


@pytest.mark.parametrize("policy", POLICIES)
@given(topic=names)
def test_every_policy_knows_its_inverse(policy: NamingPolicy, topic: str) -> None:
    """A renamed topic leads back to its source name."""
    assert policy.original(policy.renamed(topic)) == topic


def test_the_prefix_is_mirrormakers() -> None:
    """The alias, a dot and the name."""
    policy = naming.load(PluginSpec("prefix"), "old")
    assert policy.renamed("orders") == "old.orders"
    assert policy.original("orders") is None
    assert policy.original("old.") is None


def test_a_template_that_does_not_fit_has_no_inverse() -> None:
    """Names that the template cannot have made are not led back."""
    policy = TemplateNaming("old", "ab{topic}ba")
    assert [policy.original(t) for t in ("x", "abba", "aba", "abxba")] == [None, None, None, "x"]


@pytest.mark.parametrize("template", ["orders", "{topic}{topic}", "{topic}{x}", "{topic}}"])
def test_a_template_needs_the_topic_once_and_nothing_unknown(template: str) -> None:
    """A template that would merge or misname topics is refused."""
    with pytest.raises(InvalidFieldError):
        TemplateNaming("old", template)


def test_two_topics_never_share_a_target() -> None:
    """A policy that gives two topics one name is refused with both of them."""

    class Merge:
        def renamed(self, topic: str) -> str:
            return "all"

        def original(self, topic: str) -> str | None:
            return None

    with pytest.raises(NameCollisionError, match="a, b would all be called 'all'"):
        naming.rename_all(Merge(), ["a", "b"])
    assert naming.rename_all(PrefixNaming("o"), ["a", "b"]) == {"a": "o.a", "b": "o.b"}


def test_a_prefix_may_make_a_name_too_long() -> None:
    """The name on the target is checked, and the source's is named."""
    with pytest.raises(IllegalTopicNameError, match="251 characters"):
        naming.rename_all(PrefixNaming("o"), ["a" * 249])


def test_unknown_kinds_and_options_are_refused() -> None:
    """A kind that no package registers, and an option that a kind does not take, are named."""
    with pytest.raises(UnknownPluginError, match="'hash'") as caught:
        naming.load(PluginSpec("hash"), "old")
    assert "identity, original, prefix, template" in caught.value.hint
    with pytest.raises(InvalidFieldError, match="separator"):
        naming.load(PluginSpec("identity", {"separator": "-"}), "old")


class Upper:
    """A naming policy as another package would bring it."""

    def __init__(self, source: str, suffix: str) -> None:
        self.suffix = suffix

    def renamed(self, topic: str) -> str:
        return topic.upper() + self.suffix

    def original(self, topic: str) -> str | None:
        return None


def test_other_packages_bring_policies_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kind that is registered in the group is built with the source's alias and its options."""

    def registered(**params: Any) -> EntryPoints:
        return EntryPoints([EntryPoint("upper", f"{__name__}:Upper", "anabranch.naming")]).select(**params)

    monkeypatch.setattr(plugins, "entry_points", registered)
    assert naming.load(PluginSpec("upper", {"suffix": "!"}), "old").renamed("a") == "A!"
