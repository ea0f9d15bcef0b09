"""What a comparison stores and is told, pinned."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from anabranch.config.jobspec import JobSpecError
from anabranch.config.verifyspec import Levels, ReaderKind, VerifySpec
from anabranch.errors import ProtocolError
from anabranch.model.cluster import ClusterContext
from anabranch.model.topics import TopicPartition
from anabranch.offsets.offset_map import MappedRange, OffsetMap
from anabranch.state.codecs import verified
from anabranch.state.codecs.errors import MalformedRecordError
from anabranch.state.codecs.verified import LaneVerified, RunState, VerifyRecordKind, VerifyRun, VerifyStatus
from anabranch.verify.findings import Finding, FindingCounts, FindingKind, RecordField
from anabranch.verify.page import page
from anabranch.verify.pins import LogEnds, Pin, pin
from anabranch.verify.report import ComparisonVerdict, LaneResult, RunDetails, report
from anabranch.verify.sums import Sum

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "verify"
LANE = "old-new/D4-tW9nLRp-hZXCGdyiVDg/3/0"
WHERE = TopicPartition("orders", 3)
PIN: Pin = pin(
    LANE,
    WHERE,
    WHERE,
    OffsetMap.of([MappedRange(0, 0, 90), MappedRange(95, 90, 5)]),
    LogEnds(0, 100),
    LogEnds(0, 95),
    compacts=(True, False),
)
SPEC = VerifySpec(
    "old-new",
    "verify-1",
    ClusterContext("old", ("old:9092",)),
    ClusterContext("new", ("new:9092",)),
    (PIN,),
    reader=ReaderKind.BATCHES,
    levels=Levels.COMMITTED,
    rate_limit=1_000_000,
    since={LANE: (90, 90)},
    again={LANE: ((0, 0),)},
    doubts={"orders-4": "runs are persisted up to target offset 9, and the log ends at 5"},
)
VERIFIED = LaneVerified(LANE, "verify-1", (0, 100), (0, 95), ((0, 0), (4, 7)), 1_760_000_000_000)
RUN = VerifyRun(
    link="old-new",
    run="verify-1",
    state=RunState.STOPPED,
    started_at_ms=1_760_000_000_000,
    updated_at_ms=1_760_000_009_000,
    offsets=1000,
    done=500,
    records=900,
    bytes=123_456,
    differing=1,
    options={"reader": "records", "levels": "both", "rate_limit": None, "samples": 20, "values": False},
    pins={LANE: (100, 95)},
)
CASES = {
    "lane-v1": (verified.lane_key(LANE), verified.encode_lane(VERIFIED)),
    "run-v1": (verified.link_key("old-new", VerifyRecordKind.RUN), verified.encode_run(RUN)),
    "stop-v1": (verified.link_key("old-new", VerifyRecordKind.STOP), verified.encode_stop("verify-1")),
}


SECTIONS = {"lane-v1": "Verified lanes", "run-v1": "A comparison", "stop-v1": "A comparison"}


@pytest.mark.parametrize("name", CASES)
def test_bytes_are_those_of_the_golden_file(name: str) -> None:
    """Keys and values are written byte for byte as they always were; the reference has their fields and no others."""
    key, value = CASES[name]
    assert (GOLDEN / f"{name}.key").read_bytes() == key
    assert (GOLDEN / f"{name}.value").read_bytes() == value
    text = (ROOT / "docs" / "reference" / "control-topics.md").read_text(encoding="utf-8")
    section = text.partition(f"\n### {SECTIONS[name]}\n")[2].partition("\n## ")[0].partition("\n### ")[0]
    fields = json.loads(value).keys() - {"v"}
    if name == "stop-v1":
        assert "`LINK/stop` holds `run` alone." in section and fields == {"run"}
        return
    lines = re.findall(r"^\| (`[^|]*) \|", section, re.MULTILINE)
    assert {field for line in lines for field in re.findall(r"`(\w+)`", line)} == fields


def test_golden_bytes_read_as_what_was_meant() -> None:
    """What was stored once is read as the same value for ever."""
    read = {name: ((GOLDEN / f"{name}.key").read_bytes(), (GOLDEN / f"{name}.value").read_bytes()) for name in CASES}
    assert verified.decode_lane(*read["lane-v1"]) == VERIFIED
    assert verified.decode_run(*read["run-v1"]) == RUN
    assert verified.decode_stop(read["stop-v1"][1]) == "verify-1"
    assert verified.parse_key(read["lane-v1"][0]) == (LANE, None)


def test_an_unknown_record_about_a_link_is_refused() -> None:
    """A key that a newer version may write is not passed over."""
    with pytest.raises(ProtocolError, match="tells nothing"):
        verified.parse_key(b"old-new/whatever")


def test_a_specification_survives_its_text() -> None:
    """The job is told exactly what was planned."""
    assert VerifySpec.from_json(SPEC.to_json()) == SPEC


DEEP = "[" * 100_000


@pytest.mark.parametrize("text", [DEEP, "", "[]", "{}", '{"v": 2, "job": "verify"}', '{"v": 1, "job": "link"}'])
def test_another_text_is_no_specification(text: str) -> None:
    """Whatever is not one is refused by one error."""
    with pytest.raises(JobSpecError):
        VerifySpec.from_json(text)


def test_a_report_reads_back_and_other_bytes_are_malformed() -> None:
    """The last report of a link, whatever else may stand in its place."""
    made = {"verdict": "equal", "samples": [{"where": "größe"}]}
    assert verified.decode_report(verified.encode_report(made)) == made
    for other in (DEEP.encode(), b"", b"[]", b"3", b"\xff", b'{"a":1'):
        with pytest.raises(MalformedRecordError, match="report: not "):
            verified.decode_report(other)


def test_a_stored_report_keeps_the_words_of_its_format() -> None:
    """Kinds of findings that were renamed are stored by their old words, and read back by their new ones."""
    made = report(HOW, [lane({FindingKind.DUPLICATE: 1, FindingKind.MODIFIED: 2, FindingKind.UNEXPECTED: 3})], {})
    data = verified.encode_report(made)
    stored = json.loads(data)
    assert verified.decode_report(data) == made
    assert all(word not in data.decode() for word in ("duplicate", "modified", "unexpected"))
    assert {one["repeated"] for one in (stored["counts"], stored["lanes"][0]["counts"])} == {1}
    assert {one["kind"] for one in stored["samples"]} == {"repeated", "altered", "extra"}


def lane(counts: dict[FindingKind, int], done: tuple[int, int] = (100, 95), open_chunks: int = 0) -> LaneResult:
    """A lane with these findings."""
    samples = [
        Finding(LANE, kind, 7, 7, RecordField.VALUE if kind is FindingKind.MODIFIED else RecordField(0))
        for kind in counts
    ]
    some = Sum(95, 1000, 1, 2, 3)
    return LaneResult(PIN, (0, 0), done, some, some, some, FindingCounts(counts), samples, open_chunks)


HOW = RunDetails(
    "old-new", "verify-1", 1, 2001, ("old", "A"), ("new", "B"), "records", "both", 190, 2000, {"anabranch": "0"}
)


@pytest.mark.parametrize(
    ("lanes", "doubts", "verdict"),
    [
        ([lane({})], {}, ComparisonVerdict.EQUAL),
        ([lane({FindingKind.GONE_TARGET_RETENTION: 3})], {}, ComparisonVerdict.EQUAL),
        ([lane({FindingKind.MISSING: 1}), lane({})], {"x": "why"}, ComparisonVerdict.DIFFERENT),
        ([lane({})], {"x": "why"}, ComparisonVerdict.UNKNOWN),
        ([lane({}, done=(50, 50))], {}, ComparisonVerdict.UNKNOWN),
        ([lane({}, done=(100, 50))], {}, ComparisonVerdict.UNKNOWN),
        ([lane({FindingKind.UNNAMED: 1})], {}, ComparisonVerdict.DIFFERENT),
        ([lane({}, open_chunks=1)], {}, ComparisonVerdict.UNKNOWN),
        ([lane({}), replace(lane({}), doubt="the link is gone")], {}, ComparisonVerdict.UNKNOWN),
        ([replace(lane({FindingKind.MISSING: 1}), doubt="the link is gone")], {}, ComparisonVerdict.DIFFERENT),
    ],
)
def test_the_verdict_is_never_better_than_what_was_compared(
    lanes: list[LaneResult], doubts: dict[str, str], verdict: ComparisonVerdict
) -> None:
    """Equal only where all was compared and nothing differs; the report fits its schema and its page names it."""
    made = report(HOW, lanes, doubts)
    jsonschema.validate(made, json.loads((ROOT / "schemas" / "verify-report.schema.json").read_text()))
    assert made["verdict"] == verdict
    assert f"class='verdict {verdict}'" in page(made)
    assert [ComparisonVerdict.EQUAL, ComparisonVerdict.DIFFERENT, ComparisonVerdict.UNKNOWN][
        verdict.exit_code
    ] is verdict


def test_a_report_names_lanes_by_their_partitions() -> None:
    """A lane's key is nothing that a person knows; a sample has the name of its lane."""
    made = report(HOW, [replace(lane({FindingKind.MISSING: 1}), doubt="who knows")], {"orders-9": "not begun"})
    assert made["lanes"][0]["lane"] == made["samples"][0]["lane"] == str(PIN.source)
    assert LANE not in json.dumps(made)
    assert {"lane": str(PIN.source), "reason": "who knows"} in made["not_compared"]


def test_a_report_counts_what_is_in_any_lane() -> None:
    """Kinds that only one lane has are in the totals too."""
    made = report(
        HOW,
        [
            lane({FindingKind.MISSING: 1, FindingKind.HIDDEN: 3}),
            lane({FindingKind.UNEXPECTED: 2, FindingKind.HIDDEN: 4}),
        ],
        {},
    )
    assert {kind: number for kind, number in made["counts"].items() if number} == {
        "missing": 1,
        "unexpected": 2,
        "hidden": 7,
    }


@pytest.mark.parametrize(("took_ms", "rate"), [(2000, 95.0), (400, 475.0), (0, 190_000.0), (-5, 190_000.0)])
def test_a_report_says_how_fast_records_were_read(took_ms: int, rate: float) -> None:
    """All of both sides, by the time that it took, which is a thousandth of a second at least."""
    made = report(replace(HOW, started_at_ms=1000, finished_at_ms=1000 + took_ms), [], {})
    assert (made["records_read"], made["records_per_s"]) == (190, rate)


def test_the_page_shows_foreign_text_as_text() -> None:
    """A value that looks like HTML stays what it is."""
    finding = Finding(LANE, FindingKind.UNEXPECTED, -1, 7)
    made = report(
        HOW, [LaneResult(PIN, (0, 0), (100, 95), samples=(finding,))], {}, {finding: {"target": "<script>alert(1)"}}
    )
    assert "<script" not in page(made) and "&lt;script&gt;alert(1)" in page(made)


def test_a_report_that_is_too_large_is_kept_with_fewer_samples() -> None:
    """What is stored on the target stays below the limit of a control record; counts stay whole."""
    findings = tuple(Finding(LANE, FindingKind.MISSING, at, -1) for at in range(20_000))
    result = LaneResult(PIN, (0, 0), (100, 95), counts=FindingCounts({FindingKind.MISSING: 20_000}), samples=findings)
    stored = verified.encode_report(report(HOW, [result], {}))
    assert len(stored) <= verified.MOST_REPORT_BYTES
    assert verified.decode_report(stored)["counts"]["missing"] == 20_000


def test_a_run_that_files_nothing_is_not_running() -> None:
    """After some minutes of silence another comparison may be started."""
    running = VerifyRun(**{**{f: getattr(RUN, f) for f in RUN.__slots__}, "state": RunState.RUNNING})
    assert VerifyStatus(running, (), None, running.updated_at_ms + 1000).running
    assert not VerifyStatus(running, (), None, running.updated_at_ms + verified.SILENT_MS).running
    assert not VerifyStatus(RUN, (), None, RUN.updated_at_ms).running


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"samples": "20"}, "samples: "),
        ({"kept": True}, "kept: "),
        ({"since": {"a": [1]}}, "since.a.1: "),
        ({"source": {"name": "old"}}, "bootstrap"),
    ],
)
def test_a_specification_with_a_wrong_field_is_refused_by_its_name(change: dict[str, object], said: str) -> None:
    """Anyone may write one by hand."""
    with pytest.raises(JobSpecError, match=said):
        VerifySpec.from_json(json.dumps({**json.loads(SPEC.to_json()), **change}))
