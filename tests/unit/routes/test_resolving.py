"""Where clients are led: rules, priorities, hops, topics, and every refusal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.config.routes_file import table_fields, table_of
from anabranch.errors import ConfigError, RefusedError
from anabranch.model.cluster import ClusterContext
from anabranch.model.reasons import errors
from anabranch.model.routing import ClientRole, RouteQuery
from anabranch.routes.check import check
from anabranch.routes.errors import PatternTopicsError, RouteLoopError, SplitTopicsError, UnknownCodeError
from anabranch.routes.resolve import resolve
from anabranch.routes.routing import route, since
from anabranch.routes.table import RouteTable, RouteVersion
from tests.chance import examples

pytestmark = pytest.mark.unit
CONTEXTS = {name: ClusterContext(name, (f"{name}:9092",)) for name in ("old", "new", "a1", "readers")}
KNOWN = frozenset(CONTEXTS)
CONSUMER, PRODUCER = ClientRole.CONSUMER, ClientRole.PRODUCER


def table(codes: dict[str, Any] | None = None, *rules: dict[str, Any], **more: Any) -> RouteTable:
    """A table as a file has it."""
    return table_of({"version": 1, "codes": codes or {"orders": {"cluster": "old"}}, "rules": list(rules), **more}, "t")


def rule(name: str, to: str | dict[str, Any], priority: int = 0, **match: Any) -> dict[str, Any]:
    """A rule as a file has it."""
    return {
        "name": name,
        "priority": priority,
        "match": match,
        "to": {"cluster": to} if isinstance(to, str) else to,
    }


def ask(role: ClientRole = CONSUMER, code: str = "orders", topics: tuple[str, ...] = (), **more: Any) -> RouteQuery:
    """A client that asks."""
    return RouteQuery(code, role, topics, **more)


def faults(made: RouteTable) -> list[str]:
    """The sentences because of which it is not published."""
    return [reason.what for reason in errors(check(made, KNOWN))]


def test_the_code_decides_where_no_rule_matches() -> None:
    """And the answer names no rule."""
    found = route(table(), 3, CONTEXTS, ask())
    assert (found.cluster, found.bootstrap, found.rule, found.version) == ("old", ("old:9092",), "", 3)


def test_one_job_is_led_elsewhere() -> None:
    """The consumer of job 1234 goes to cluster a1, and nobody else does."""
    made = table({"orders": {"cluster": "old"}}, rule("job-1234", "a1", role="consumer", parameters={"job_id": "1234"}))
    assert faults(made) == []
    assert route(made, 1, CONTEXTS, ask(parameters={"job_id": "1234"})).cluster == "a1"
    for query in (ask(), ask(parameters={"job_id": "12345"}), ask(PRODUCER, parameters={"job_id": "1234"})):
        assert route(made, 1, CONTEXTS, query).cluster == "old"


@pytest.mark.parametrize(
    ("match", "other"),
    [
        ({"group": "billing-*"}, ask(group="shop")),
        ({"client_id": "c1"}, ask(client_id="c2")),
        ({"topic": "pay*"}, ask(topics=("orders",))),
        ({"role": "producer"}, ask(CONSUMER)),
        ({"code": "orders"}, ask(code="rest")),
        ({"parameters": {"site": "bj"}}, ask(parameters={"site": "sh"})),
    ],
)
def test_each_field_counts(match: dict[str, Any], other: RouteQuery) -> None:
    """A rule is for those whose every named field matches; who does not have the field is not meant."""
    codes = {"orders": {"cluster": "old"}, "rest": {"cluster": "old"}}
    made = table(codes, rule("r", "new", **match))
    alike = ask(
        PRODUCER if match.get("role") == "producer" else CONSUMER,
        topics=("payments",),
        group="billing-7",
        client_id="c1",
        parameters={"site": "bj"},
    )
    assert resolve(made, alike)[0].cluster == "new"
    hop = resolve(made, other)[0].hops[0]
    assert (hop.destination.cluster, hop.rule) == ("old", "")
    assert len(hop.considered[0].misses) == 1


def test_the_highest_priority_decides() -> None:
    """Whatever the order in the file; and the explanation names all in that order."""
    made = table(None, rule("low", "new", 1, group="g"), rule("high", "a1", 2, group="*"))
    hop = resolve(made, ask(group="g"))[0].hops[0]
    assert (hop.rule, hop.destination.cluster) == ("high", "a1")
    assert [(one.rule, one.matches) for one in hop.considered] == [("high", True), ("low", True)]


def test_a_code_leads_on_to_another() -> None:
    """Rules of the second decide then; topics are renamed by each, and what one forbids is forbidden."""
    made = table(
        {"shop": {"code": "orders", "topics": "shop.{topic}", "write": False}, "orders": {"cluster": "old"}},
        rule("away", {"cluster": "new", "topics": "{topic}.v2"}, code="orders", topic="t"),
    )
    found = route(made, 1, CONTEXTS, ask(code="shop", topics=("t",)))
    assert (found.cluster, found.topics, found.may_read, found.may_write) == ("new", {"t": "shop.t.v2"}, True, False)
    assert found.rule == "away"


def test_one_client_has_one_cluster() -> None:
    """Topics that lead to two are refused with both."""
    made = table(None, rule("pay", "new", topic="pay*"))
    assert route(made, 1, CONTEXTS, ask(topics=("payments", "paying"))).cluster == "new"
    with pytest.raises(SplitTopicsError) as refused:
        resolve(made, ask(topics=("orders", "payments")))
    assert refused.value.message == (
        "topic 'orders' leads to cluster old, topic 'payments' to new: one client has one cluster"
    )


def test_a_subscription_by_pattern_is_led_only_where_no_topic_counts() -> None:
    """Which topics it will meet is not known yet."""
    made = table(
        None,
        rule("pay", "new", topic="pay*", group="g"),
        rule("named", {"cluster": "a1", "topics": "x.{topic}"}, group="h"),
    )
    assert resolve(made, ask(topics=("^p.*",), group="other"))[0].cluster == "old"
    for group in ("g", "h"):
        with pytest.raises(PatternTopicsError):
            resolve(made, ask(topics=("^p.*",), group=group))


def test_every_loop_is_told_at_once() -> None:
    """Those of two, those that share a code, and those that a rule makes; a way into a loop is none."""
    codes = {"a": "b", "b": "a", "c": "d", "d": "c", "e": "a"}
    made = table(
        {**{name: {"code": to} for name, to in codes.items()}, "f": {"cluster": "old"}},
        rule("r", {"code": "c"}, code="d", group="g"),
        rule("s", {"code": "e"}, code="a", group="g"),
        rule("t", {"code": "f"}, code="f", group="g"),
    )
    assert [one.split(" lead to")[0] for one in faults(made) if "lead to each other" in one] == [
        "the codes a -> b -> a",
        "the codes a -> e -> a",
        "the codes c -> d -> c",
        "the codes f -> f",
    ]


def test_an_unknown_code_is_refused_with_those_that_are_there() -> None:
    """By its name."""
    with pytest.raises(UnknownCodeError, match="there is no cluster code 'ordres': the route table has orders"):
        resolve(table(), ask(code="ordres"))


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (table({"a": {"cluster": "gone"}}), "leads to cluster 'gone', which is no context"),
        (table({"a": {"code": "gone"}}), "leads to code 'gone', and there is none"),
        (table({"a": {}}), "leads to neither a cluster nor a code"),
        (table({"a": {"cluster": "old", "code": "a"}}), "leads to both a cluster and a code"),
        (table({"a b": {"cluster": "old"}}), "is not a legal name"),
        (table({"a": {"cluster": "old", "topics": "x"}}), "does not hold {topic} once"),
        (
            table({"a": {"code": "b"}, "b": {"code": "a"}}),
            "the codes a -> b -> a lead to each other, by code 'a', code 'b'",
        ),
        (
            table(None, rule("r", {"code": "orders"}, group="g")),
            "the codes orders -> orders lead to each other, by rule 'r'",
        ),
        (table(None, rule("r", "new", group="g"), rule("r", "new", 1, group="g")), "rule 'r' is there 2 times"),
        (table(None, rule("r", "new", code="gone")), "is for code gone, and there is none"),
        (table(None, rule("r", "new", role="producer", group="g")), "is for producers of a group"),
        (
            table(None, rule("a", "new", group="bill*"), rule("b", "a1", topic="t")),
            "have priority 0, and both match a client with group 'bill', topic 't'",
        ),
    ],
)
def test_a_table_with_a_fault_is_not_published(made: RouteTable, said: str) -> None:
    """And it is told which."""
    assert [what for what in faults(made) if said in what], faults(made)


def test_every_fault_is_told_at_once() -> None:
    """So that a person corrects them in one go."""
    made = table({"a": {"cluster": "gone"}, "b": {}}, rule("r", "gone", code="c"))
    assert len(faults(made)) == 4


@pytest.mark.parametrize("role", ["producer", "consumer"])
def test_a_rule_for_one_role_meets_a_rule_for_any(role: str) -> None:
    """A client of that role matches both."""
    made = table(None, rule("a", "new", role=role, client_id="c*"), rule("b", "a1", client_id="*d"))
    assert f"both match a {role} with client_id 'cd'" in faults(made)[0]


def test_rules_that_no_client_can_match_both_do_not_overlap() -> None:
    """By role, or by a field of which no value is of both."""
    made = table(
        None,
        rule("a", "new", role="producer", client_id="c*"),
        rule("b", "a1", role="consumer", client_id="c*"),
        rule("c", "readers", role="consumer", client_id="d*", group="x"),
        rule("d", "old", role="consumer", client_id="d*", group="y"),
    )
    assert faults(made) == []


def test_a_route_is_as_old_as_what_leads_there() -> None:
    """Not as the last version; and back and forth begins anew."""
    tables = [
        table(),
        table(None, rule("x", "a1", group="other")),
        table(None, rule("r", "new", group="g")),
        table(None, rule("r", "new", group="g*"), rule("x", "a1", group="other")),
    ]
    history = [RouteVersion(number, 0, "ada", "", one) for number, one in enumerate(tables, 1)]
    found = since(history[::-1], CONTEXTS, ask(group="g"))
    assert (found.cluster, found.since, found.version) == ("new", 3, 4)
    assert since(history[1::-1], CONTEXTS, ask(group="g")).since == 1
    assert since(history[::-1], CONTEXTS, ask(group="other")).since == 4


def test_how_applications_reach_a_cluster_is_the_tables_word() -> None:
    """Where it has one: the service's own way may not be theirs."""
    made = table(clusters={"old": {"bootstrap": ["public-old:9094"]}})
    assert route(made, 1, CONTEXTS, ask()).bootstrap == ("public-old:9094",)


@pytest.mark.parametrize(
    "fields",
    [
        {"codes": {"a": {"cluster": "old", "extra": 1}}},
        {"rules": [{"name": "r", "to": {"cluster": "old"}, "match": {"topic": "a\\b"}}]},
        {"rules": [{"name": "r", "to": {"cluster": "old"}, "match": {"role": "admin"}}]},
        {"rules": [{"name": "r", "to": {"cluster": "old"}, "priority": "high"}]},
        {"clusters": {"old": {"bootstrap": ["old"]}}},
        {
            "clusters": {
                "old": {"bootstrap": ["old:1"], "security": {"protocol": "SASL_SSL", "sasl": {"password": "x"}}}
            }
        },
    ],
)
def test_a_file_with_a_fault_is_refused_with_the_field(fields: dict[str, Any]) -> None:
    """Before anything is looked at; a secret that stands in it is not repeated."""
    with pytest.raises(ConfigError) as refused:
        table_of(fields, "routes.yaml")
    assert "routes.yaml" in refused.value.message


_WORDS = st.sampled_from(["a", "b", "ab", "a*", "*b", "*"])
_MATCHES = st.fixed_dictionaries(
    {},
    optional={
        "code": st.sampled_from(["a", "b", "*"]),
        "role": st.sampled_from(["producer", "consumer"]),
        "topic": _WORDS,
        "group": _WORDS,
        "client_id": _WORDS,
        "parameters": st.dictionaries(st.sampled_from(["site", "job"]), _WORDS, max_size=2),
    },
)
_TO = st.one_of(
    st.fixed_dictionaries({"cluster": st.sampled_from(["old", "new"])}, optional={"topics": st.just("x.{topic}")}),
    st.fixed_dictionaries({"code": st.sampled_from(["a", "b", "c"])}),
)
_TABLES = st.builds(
    lambda codes, rules: table(codes, *({**one, "name": f"r{number}"} for number, one in enumerate(rules))),
    st.fixed_dictionaries({"a": _TO, "b": _TO}),
    st.lists(st.fixed_dictionaries({"priority": st.integers(0, 2), "match": _MATCHES, "to": _TO}), max_size=4),
)
_QUERIES = st.builds(
    RouteQuery,
    st.sampled_from(["a", "b"]),
    st.sampled_from(ClientRole),
    st.lists(st.sampled_from(["a", "b", "ab"]), max_size=2, unique=True).map(tuple),
    st.sampled_from(["", "a", "b", "ab"]),
    st.sampled_from(["", "a", "b"]),
    st.dictionaries(st.sampled_from(["site", "job"]), st.sampled_from(["a", "b"]), max_size=2),
)


@examples(2_000)
@given(_TABLES, _QUERIES)
def test_in_a_table_without_faults_every_client_has_one_answer(made: RouteTable, query: RouteQuery) -> None:
    """R1 and R2: no two rules of one priority match it, no loop is met; it is led to a cluster or refused by reason."""
    if faults(made):
        return
    if query.role is PRODUCER and query.group:
        return
    try:
        ways = resolve(made, query)
    except SplitTopicsError:
        return
    assert len({way.cluster for way in ways}) == 1
    for hop in (hop for way in ways for hop in way.hops):
        tops = [one.priority for one in hop.considered if one.matches]
        assert len(set(tops)) == len(tops)
        assert hop.rule == next((one.rule for one in hop.considered if one.matches), "")


@examples(1_000)
@given(_TABLES, _QUERIES)
def test_a_loop_that_a_client_could_meet_is_a_fault_of_the_table(made: RouteTable, query: RouteQuery) -> None:
    """A client never is what finds it."""
    try:
        resolve(made, query)
    except RouteLoopError:
        assert [what for what in faults(made) if "lead to each other" in what]
    except RefusedError:
        pass


@examples(1_000)
@given(_TABLES)
def test_a_table_is_stored_as_it_is_read(made: RouteTable) -> None:
    """Its fields make the same table again."""
    again = table_of(table_fields(made), "stored")
    assert (again.codes, again.rules, again.clusters) == (made.codes, made.rules, made.clusters)
