"""What the decoders refuse, and how."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from typing import Any

import control_samples as samples
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.protocol.claims import ClaimKey
from anabranch.state.codecs import claims, links, positions, progress, ranges, topics
from anabranch.state.codecs.errors import MalformedRecordError, NewerFormatError

pytestmark = pytest.mark.unit

KEY = claims.encode_key(samples.CLAIM.key)


def changed(**fields: Any) -> bytes:
    """The sample claim's value with fields set again; ``...`` takes one away."""
    value = {**json.loads(claims.encode(samples.CLAIM)), **fields}
    return json.dumps({k: v for k, v in value.items() if v is not ...}).encode()


def test_a_newer_version_is_refused_with_the_way_out() -> None:
    """A record of a newer Anabranch is a typed refusal that names both versions and says to upgrade."""
    with pytest.raises(NewerFormatError) as caught:
        claims.decode(KEY, changed(v=3, surprise=1))
    assert (caught.value.version, caught.value.known) == (3, 2)
    assert "upgrade" in caught.value.hint
    assert caught.value.exit_code == 3
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_claim_of_the_first_version_is_read_and_one_that_has_no_end_is_written_as_such() -> None:
    """Workers of the release before still read what does not need the newer version."""
    assert claims.decode(KEY, changed(v=1)) == samples.CLAIM
    assert b'"v":1' in claims.encode(samples.CLAIM)
    ended = replace(samples.CLAIM, end=7)
    assert b'"v":2' in claims.encode(ended)
    assert claims.decode(KEY, claims.encode(ended)) == ended


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (b"\xff", "not JSON"),
        (b"[]", "not a JSON object"),
        (changed(v=0), "version 0"),
        (changed(v=True), "field v: bool where int is wanted"),
        (changed(state=...), "field state: missing"),
        (changed(state="gone"), "'gone' is not one of claimed, released"),
        (changed(start="1"), "field start: str where int is wanted"),
        (changed(start=True), "field start: bool where int is wanted"),
        (changed(extra=1), "field extra: unknown field"),
    ],
)
def test_a_malformed_value_is_refused_by_field(value: bytes, told: str) -> None:
    """A value that breaks its format is refused, with the place and the field named."""
    with pytest.raises(MalformedRecordError) as caught:
        claims.decode(KEY, value)
    assert told in caught.value.message
    assert str(samples.LANE) in caught.value.place


def test_nested_fields_are_named_by_their_path() -> None:
    """An error deep in a spec names the way to it."""
    value = json.loads(links.encode_link(samples.LINK))
    value["spec"]["start"]["kind"] = "somewhere"
    with pytest.raises(MalformedRecordError, match=r"field spec\.start\.kind"):
        links.decode_link(b"old-new", json.dumps(value).encode())


def test_a_value_that_the_model_refuses_is_malformed() -> None:
    """A stored spec that no link can have is told as a malformed record, not as the user's error."""
    value = json.loads(links.encode_link(samples.LINK))
    value["spec"]["lease_seconds"] = 0
    with pytest.raises(MalformedRecordError, match="lease_seconds"):
        links.decode_link(b"old-new", json.dumps(value).encode())


def test_a_record_under_another_links_key_is_refused() -> None:
    """A link's record says whose it is, and the key must agree."""
    with pytest.raises(MalformedRecordError, match="holds link 'old-new'"):
        links.decode_link(b"other", links.encode_link(samples.LINK))


@pytest.mark.parametrize("offsets", [{"orders": 3}, {"orders": {"x": 3}}, {"orders": {"3": "4"}}])
def test_ill_typed_start_offsets_are_refused(offsets: object) -> None:
    """Start offsets are an object of partition numbers and integers, or nothing."""
    value = json.loads(links.encode_link(samples.LINK))
    value["spec"]["start"]["offsets"] = offsets
    with pytest.raises(MalformedRecordError, match=r"spec\.start\.offsets"):
        links.decode_link(b"old-new", json.dumps(value).encode())


@pytest.mark.parametrize("key", [b"", b"lane", b"/1", b"lane/-1", b"lane/\xc2\xb2"])
def test_a_claims_key_that_is_none_is_refused(key: bytes) -> None:
    """Only lane/producer-id is a key."""
    with pytest.raises(MalformedRecordError):
        claims.decode_key(key)


def test_keys_tell_links_from_topics_and_lanes_from_plans() -> None:
    """Two kinds of record share a topic, and their keys tell which is which."""
    assert links.parse_key(links.link_key("l")) == ("l", None)
    assert links.parse_key(links.topic_key("l", samples.MIRROR)) == ("l", samples.MIRROR)
    assert links.parse_key(links.decision_key("l", samples.DECISION.place)) == ("l", samples.DECISION.place)
    for bad in (b"l/decision", b"l/decision/x/0", b"l/decision/%s/-1" % str(samples.ORDERS).encode()):
        with pytest.raises(MalformedRecordError):
            links.parse_key(bad)
    with pytest.raises(MalformedRecordError):
        links.decode_decision(b"l", links.encode_decision(samples.DECISION))
    assert progress.parse_key(progress.lane_key(samples.LANE)) == samples.LANE
    assert progress.parse_key(progress.plan_key("l")) == ("l", progress.ProgressRecordKind.PLAN)
    assert progress.parse_key(progress.stop_key("l")) == ("l", progress.ProgressRecordKind.STOP)
    for bad in (b"l", b"l/x/0/0", b"l/x/plan", b"l/run"):
        with pytest.raises(MalformedRecordError):
            progress.parse_key(bad)
    with pytest.raises(MalformedRecordError):
        links.decode_topic(b"l", links.encode_topic(samples.TOPIC))
    with pytest.raises(MalformedRecordError):
        progress.decode_lane(b"l/plan", b"{}")
    with pytest.raises(MalformedRecordError):
        progress.decode_plan(progress.lane_key(samples.LANE), b"{}")
    with pytest.raises(MalformedRecordError):
        progress.decode_stop(progress.plan_key("l"), progress.encode_stop(samples.STOP))


@pytest.mark.parametrize(
    "fields", [{"skip": {"from": 5, "to": 5}}, {"skip": {"from": 5}}, {"skip": 5}, {"start": None}, {"why": ""}]
)
def test_a_decision_that_decides_nothing_or_no_range_is_malformed(fields: dict[str, Any]) -> None:
    """An empty range, a raised generation that begins nowhere and a missing reason are no decisions."""
    key, value = links.decision_key("l", samples.DECISION.place), links.encode_decision(samples.DECISION)
    with pytest.raises(MalformedRecordError):
        links.decode_decision(key, json.dumps({**json.loads(value), **fields}).encode())


@given(st.integers(0, 2**63 - 1))
def test_a_claims_key_reads_as_it_was_written(producer_id: int) -> None:
    """Lane and producer id come back from the key whatever the id."""
    key = ClaimKey(str(samples.LANE), producer_id)
    assert claims.decode_key(claims.encode_key(key)) == key


def test_damaged_and_newer_runs_are_told_apart() -> None:
    """A segment that is damaged is malformed, one of a newer codec is a refusal; both name lane and segment."""
    key = ranges.range_key(samples.LANE, 7)
    value = ranges.encode(samples.RUNS)
    with pytest.raises(MalformedRecordError, match=f"{samples.LANE}/7"):
        ranges.decode(key, value[:-1] + b"\x00")
    with pytest.raises(NewerFormatError, match=f"{samples.LANE}/7"):
        ranges.decode(key, value[:1] + b"\x03" + value[2:])
    owned = ranges.encode(samples.RUNS, 41)
    assert ranges.owned(owned) == (41, value) and ranges.decode(key, owned) == samples.RUNS
    with pytest.raises(MalformedRecordError, match=f"{samples.LANE}/7"):
        ranges.check(key, owned[:6])
    with pytest.raises(NewerFormatError, match="version 3 is newer than 2"):
        ranges.check(key, owned[:10] + value[:1] + b"\x03" + value[2:])
    for bad in (b"7", str(samples.LANE).encode() + b"/x", b"lane/7"):
        with pytest.raises(MalformedRecordError):
            ranges.parse_key(bad)
    assert ranges.parse_key(key) == (samples.LANE, 7)


@given(st.binary(max_size=60))
def test_no_bytes_break_a_decoder_otherwise(junk: bytes) -> None:
    """Whatever stands in a control topic, the answer is a typed error."""
    with pytest.raises((MalformedRecordError, NewerFormatError)):
        progress.decode_lane(progress.lane_key(samples.LANE), junk)


def test_control_topics_never_lose_a_claim_to_an_unclean_election() -> None:
    """With three replicas two must have each record; with one, one; leaders are never elected uncleanly."""
    assert topics.replication_factor(1) == 1
    assert topics.replication_factor(5) == 3
    assert topics.configs(3)["min.insync.replicas"] == "2"
    assert topics.configs(1)["min.insync.replicas"] == "1"
    assert topics.configs(3)["unclean.leader.election.enable"] == "false"


def test_what_a_newer_version_stores_inside_is_not_dropped() -> None:
    """An unknown field of an object or of a list's row is refused, as one at the top is."""
    value = json.loads(links.encode_link(samples.LINK))
    value["spec"]["start"]["pace"] = "slow"
    with pytest.raises(MalformedRecordError, match=r"field spec\.start\.pace: unknown field"):
        links.decode_link(b"old-new", json.dumps(value).encode())
    key = positions.encode_key(positions.UndoKey(samples.UNDO.id, samples.UNDO.group))
    value = json.loads(positions.encode_undo(samples.UNDO))
    value["partitions"][0]["lag"] = 3
    with pytest.raises(MalformedRecordError, match=r"field partitions\.0\.lag: unknown field"):
        positions.decode_undo(key, json.dumps(value).encode())


@given(st.text(max_size=40), st.text(max_size=40), st.integers(0, 2**53))
def test_who_persisted_a_lane_is_found_without_reading_the_rest(owner: str, reason: str, at_ms: int) -> None:
    """Whatever the texts are, also those that look like a field."""
    for text in (reason, f'"owner":"{reason}","updated_at_ms":7,', '\\"owner":"x"'):
        made = replace(samples.COPYING, owner=owner, mode_reason=text, updated_at_ms=at_ms)
        key, value = progress.lane_key(made.lane), progress.encode_lane(made)
        assert progress.persisted_by(key, value) == (owner, at_ms)
        assert progress.decode_lane(key, value) == made
        assert progress.target_text(made.target) in value
        assert progress.target_text(made.source) not in value


def test_of_a_record_that_tells_no_filer_all_is_read() -> None:
    """And what it is refused for is said."""
    key = progress.lane_key(samples.LANE)
    with pytest.raises(NewerFormatError):
        progress.persisted_by(key, b'{"v":99}')
    with pytest.raises(MalformedRecordError):
        progress.persisted_by(key, b'{"owner":"me","v":1}')
