"""The stored bytes, pinned."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import control_samples as samples
import pytest

from anabranch.copier.planning import assignments
from anabranch.migration.access.values import QuotaKey, WaveName
from anabranch.protocol.claims import ClaimState, FenceKey
from anabranch.state.codecs import access, claims, gap_records, links, positions, progress, ranges
from anabranch.state.codecs.errors import MalformedRecordError

pytestmark = pytest.mark.unit

GOLDEN = Path(__file__).parents[2] / "golden" / "control"

Case = tuple[str, bytes, bytes, Callable[[bytes, bytes], Any], Any]
ENDED = replace(samples.CLAIM, state=ClaimState.RELEASED, end=7_001)
MOVED = WaveName("move", "orders")


def _made_rule(key: bytes, value: bytes) -> access.AccessKey:
    access.decode_rule(value)
    return access.decode_key(key)


CASES: list[Case] = [
    (
        "rule-v1",
        access.encode_key(access.AccessKey(MOVED, samples.RULE)),
        access.encode_rule(),
        _made_rule,
        (MOVED, samples.RULE),
    ),
    (
        "quota-v1",
        access.encode_key(access.AccessKey(MOVED, samples.QUOTA)),
        access.encode_quota(frozenset({2048.5})),
        lambda key, value: access.decode_quota(value),
        frozenset({2048.5}),
    ),
    (
        "link-v2",
        links.link_key("old-new"),
        links.encode_link(samples.FOLLOWING),
        links.decode_link,
        samples.FOLLOWING,
    ),
    (
        "link-v3",
        links.link_key("old-new"),
        links.encode_link(samples.SHARING),
        links.decode_link,
        samples.SHARING,
    ),
    (
        "link-v4",
        links.link_key("old-new"),
        links.encode_link(samples.BEGUN),
        links.decode_link,
        samples.BEGUN,
    ),
    (
        "mark-v1",
        positions.encode_key(positions.BaselineKey("old-new", samples.MARK.group)),
        positions.encode_baseline(samples.MARK),
        positions.decode_baseline,
        samples.MARK,
    ),
    (
        "round-v1",
        positions.encode_key(positions.RoundKey("old-new")),
        positions.encode_round(samples.ROUND),
        positions.decode_round,
        samples.ROUND,
    ),
    (
        "since-v1",
        positions.encode_key(positions.SyncKey("old-new", samples.SINCE.group)),
        positions.encode_since(samples.SINCE),
        positions.decode_since,
        samples.SINCE,
    ),
    (
        "undo-v1",
        positions.encode_key(positions.UndoKey(samples.UNDO.id, samples.UNDO.group)),
        positions.encode_undo(samples.UNDO),
        positions.decode_undo,
        samples.UNDO,
    ),
    ("link-v1", links.link_key("old-new"), links.encode_link(samples.LINK), links.decode_link, samples.LINK),
    (
        "topic-v1",
        links.topic_key("old-new", samples.MIRROR),
        links.encode_topic(samples.TOPIC),
        links.decode_topic,
        samples.TOPIC,
    ),
    (
        "decision-v1",
        links.decision_key("old-new", samples.DECISION.place),
        links.encode_decision(samples.DECISION),
        links.decode_decision,
        samples.DECISION,
    ),
    ("claim-v1", claims.encode_key(samples.CLAIM.key), claims.encode(samples.CLAIM), claims.decode, samples.CLAIM),
    ("claim-v2", claims.encode_key(ENDED.key), claims.encode(ENDED), claims.decode, ENDED),
    (
        "killed-v1",
        claims.encode_fence_key(FenceKey(str(samples.LANE), 4001)),
        claims.encode_fence(1234),
        claims.decode_fence,
        1234,
    ),
    (
        "jump-v1",
        gap_records.encode_key(samples.JUMP.key),
        gap_records.encode(samples.JUMP),
        gap_records.decode,
        samples.JUMP,
    ),
    (
        "lane-v1",
        progress.lane_key(samples.LANE),
        progress.encode_lane(samples.PROGRESS),
        progress.decode_lane,
        samples.PROGRESS,
    ),
    (
        "lane-v2",
        progress.lane_key(samples.LANE),
        progress.encode_lane(samples.AGREED),
        progress.decode_lane,
        samples.AGREED,
    ),
    *(
        (name, progress.lane_key(samples.LANE), progress.encode_lane(value), progress.decode_lane, value)
        for name, value in (
            ("lane-v3", samples.SEEN),
            ("lane-away-v3", samples.AWAY),
            ("lane-v4", samples.LOOKED),
            ("lane-v5", samples.COPYING),
        )
    ),
    (
        "plan-digest-v1",
        progress.plan_key("old-new"),
        progress.encode_plan(samples.PLANNED),
        progress.decode_plan,
        samples.PLANNED,
    ),
    ("plan-v1", progress.plan_key("old-new"), progress.encode_plan(samples.PLAN), progress.decode_plan, samples.PLAN),
    (
        "plan-ends-v1",
        progress.plan_key("old-new"),
        progress.encode_plan(samples.ENDING),
        progress.decode_plan,
        samples.ENDING,
    ),
    (
        "plan-v2",
        progress.plan_key("old-new"),
        progress.encode_plan(samples.LOOKED_AT),
        progress.decode_plan,
        samples.LOOKED_AT,
    ),
    (
        "plan-v3",
        progress.plan_key("old-new"),
        progress.encode_plan(samples.OUTLIVED),
        progress.decode_plan,
        samples.OUTLIVED,
    ),
    ("stop-v1", progress.stop_key("old-new"), progress.encode_stop(samples.STOP), progress.decode_stop, samples.STOP),
    ("runs-v1", ranges.range_key(samples.LANE, 2), ranges.encode(samples.RUNS), ranges.decode, samples.RUNS),
    ("runs-v2", ranges.range_key(samples.LANE, 2), ranges.encode(samples.RUNS, 4_321), ranges.decode, samples.RUNS),
    (
        "assignment-v1",
        b"",
        assignments.encode(samples.ASSIGNMENT).encode(),
        lambda _, value: assignments.decode(value.decode()),
        samples.ASSIGNMENT,
    ),
    (
        "assignment-v2",
        b"",
        assignments.encode(samples.SKIPPING).encode(),
        lambda _, value: assignments.decode(value.decode()),
        samples.SKIPPING,
    ),
]


@pytest.mark.parametrize(("name", "key", "value", "decode", "meant"), CASES, ids=[c[0] for c in CASES])
def test_bytes_are_those_of_the_golden_file(name: str, key: bytes, value: bytes, decode: Any, meant: Any) -> None:
    """Keys and values are written byte for byte as they always were."""
    assert (GOLDEN / f"{name}.key").read_bytes() == key
    assert (GOLDEN / f"{name}.value").read_bytes() == value


@pytest.mark.parametrize(("name", "key", "value", "decode", "meant"), CASES, ids=[c[0] for c in CASES])
def test_golden_bytes_read_as_the_value_that_was_meant(
    name: str, key: bytes, value: bytes, decode: Any, meant: Any
) -> None:
    """What was stored once is read as the same value for ever."""
    assert decode((GOLDEN / f"{name}.key").read_bytes(), (GOLDEN / f"{name}.value").read_bytes()) == meant


DESCRIBED = {
    "An access rule that was made": ["rule-v1"],
    "A quota that was made": ["quota-v1"],
    "A link": ["link-v1", "link-v2", "link-v3", "link-v4"],
    "A topic that a link fills": ["topic-v1"],
    "A decision": ["decision-v1"],
    "A claim": ["claim-v1", "claim-v2"],
    "A gap record": ["jump-v1"],
    "A lane's progress": ["lane-v1", "lane-v2", "lane-v3", "lane-away-v3", "lane-v4", "lane-v5"],
    "A plan": ["plan-v1", "plan-ends-v1", "plan-digest-v1", "plan-v2", "plan-v3"],
    "A request to stop": ["stop-v1"],
    "A baseline": ["mark-v1"],
    "A round of continuous sync": ["round-v1"],
    "An undo record": ["undo-v1"],
}
PAGE = (GOLDEN.parents[2] / "docs" / "reference" / "control-topics.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### ([^\n]*)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))


def described(section: str) -> set[str]:
    """The fields that a section's tables have."""
    lines = re.findall(r"^\| (`[^|]*) \|", SECTIONS[section], re.MULTILINE)
    return {field for line in lines for field in re.findall(r"`(\w+)`", line)}


@pytest.mark.parametrize("section", DESCRIBED)
def test_a_sections_table_has_the_stored_fields_and_no_others(section: str) -> None:
    """The page that specifies the bytes names each field of each value where that value is described."""
    stored = [json.loads((GOLDEN / f"{name}.value").read_bytes()) for name in DESCRIBED[section]]
    fields = {field for value in stored for field in (*value, *value.get("spec", ()))} - {"v"}
    assert described(section) == fields


def test_each_golden_value_is_described() -> None:
    """Those of one or two fields in a sentence, and stored runs on their own page; assignments are not stored."""
    sentences = {"since-v1": "A group in continuous sync", "killed-v1": "A claim"}
    for name, section in sentences.items():
        fields = json.loads((GOLDEN / f"{name}.value").read_bytes()).keys() - {"v"}
        assert fields and all(f"`{field}`" in SECTIONS[section] for field in fields)
    assert "[stored offset maps](offset-maps.md)" in SECTIONS["Runs"]
    names = {name for values in DESCRIBED.values() for name in values} | sentences.keys() | {"runs-v1", "runs-v2"}
    assert names == {case[0] for case in CASES} - {"assignment-v1", "assignment-v2"}


def test_a_quotas_key_has_its_entity_and_other_keys_are_refused() -> None:
    """Also one of a default entity; and what is no rule and no quota is not passed over."""
    for key in (samples.QUOTA, QuotaKey((("client-id", None), ("user", "größe/x")), "producer_byte_rate")):
        assert access.decode_key(access.encode_key(access.AccessKey(MOVED, key))) == (MOVED, key)
    values = frozenset({3.0, 1.0})
    assert access.encode_quota(values) == b'{"v":1,"values":[{"value":1.0},{"value":3.0}]}'
    assert access.decode_quota(access.encode_quota(values)) == values
    rule = access.encode_key(access.AccessKey(MOVED, samples.RULE))
    wrong = (b"move/orders/role/[]", b"move/orders", b"\xff", b"move/orders/rule/[1]", rule.replace(b"READ", b"SEE"))
    for data in (*wrong, b'move/orders/quota/[[[1,2]],"x"]', b"move/orders/quota/" + b"[" * 100_000):
        with pytest.raises(MalformedRecordError, match="the key"):
            access.decode_key(data)
