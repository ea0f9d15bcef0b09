"""The numbers of the documentation are those of the code: tests of what they do often set smaller ones."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

from anabranch.cli.links.metrics import metrics
from anabranch.cli.mirrormaker.report import report
from anabranch.kafka.errors import UnsupportedApiError
from anabranch.model.configs import DEFAULT_DENY, HELD_OPEN, TARGET_OWN
from anabranch.model.filters import DEFAULT_EXCLUDE
from anabranch.state.codecs import topics

pytestmark = pytest.mark.unit

DOCS = Path(__file__).parents[3] / "docs"
NUMBERS = (
    ("fine-print.md", "at most 50 million offsets a partition", "protocol.head_padding.PAD_LIMIT", 50_000_000),
    ("fine-print.md", "At most 2,000 offsets at once", "protocol.gap_padding.PADDING_BURST", 2_000),
    ("fine-print.md", "and 20 a second for long", "protocol.gap_padding.PADDING_RATE", 20.0),
    ("fine-print.md", "about 20 ms each", "protocol.gap_padding.PADDING_S", 0.02),
    ("fine-print.md", "Where 32 or more batches", "protocol.joining.LEAST", 32),
    ("fine-print.md", "of at most 32 records", "protocol.joining.FEW_RECORDS", 32),
    ("fine-print.md", "(and 4 kB)", "protocol.joining.SMALL_BYTES", 4096),
    ("fine-print.md", "copies on for at most ten seconds after its lease", "copier.worker.GRACE_S", 10.0),
    ("fine-print.md", "at most 40 MB of answers", "copier.source.fetcher.BUDGET_BYTES", 40 << 20),
    ("fine-print.md", "at most 8 MB from each", "copier.source.answer_sizes.ANSWER_BYTES", 8 << 20),
    ("fine-print.md", "(of 16 MB together", "copier.source.answer_sizes.ANSWERS_BYTES", 16 << 20),
    ("fine-print.md", "1 MB each at least", "copier.lane.lane.LANE_BYTES", 1 << 20),
    ("what-if.md", "up to five times in a row", "spark.link.restarting.TRIES", 1 + 5),
    ("what-if.md", "five minutes at most", "spark.jobs.link_driver.FIRST_SURVEY_TIMEOUT_S", 300.0),
    ("adr/0008-copying-on-between-leases.md", "less than five seconds ago", "copier.write_gate.HOLD_SECONDS", 5.0),
    (
        "adr/0008-copying-on-between-leases.md",
        "after three seconds without a sign",
        "copier.ownership.handover.TIMEOUT_S",
        3.0,
    ),
    ("adr/0003-lane-protocol.md", "five otherwise", "protocol.pipeline.WINDOW", 5),
    ("adr/0003-lane-protocol.md", "After a second with nothing in flight", "protocol.pipeline.IDLE_S", 1.0),
    ("reference/control-topics.md", "A full segment holds 1000 ranges", "state.segments.index.SEGMENT_RANGES", 1000),
    ("reference/control-topics.md", "persisted nothing for three minutes", "state.codecs.verified.SILENT_MS", 180_000),
    ("reference/control-topics.md", "keep it below 800 kB", "state.codecs.verified.MOST_REPORT_BYTES", 800_000),
    ("reference/control-topics.md", "chunk (65,536 source offsets each)", "verify.pins.CHUNK", 65_536),
    ("reference/verify.md", "cut in chunks of 65,536", "verify.pins.CHUNK", 65_536),
    ("reference/verify.md", "more than two million records", "spark.verify.classifying.MOST_ROWS", 2_000_000),
    ("reference/verify.md", "(5,000 of each side and lane at most)", "spark.verify.classifying.MOST_LOOKUPS", 5_000),
    ("reference/offsets-rebuild.md", "at most a million of each", "spark.align.run.MOST", 1_000_000),
    ("reference/offsets-rebuild.md", "more than 1,048,576 records", "offsets.align.gaps.LARGEST", 1_048_576),
    ("reference/serve.md", "An instance takes 50,000 clients", "service.registry.MOST_CLIENTS", 50_000),
    ("reference/serve.md", "and 20,000 connections", "service.serving.CONNECTIONS", 20_000),
    ("reference/serve.md", "until 100 of them wait", "service.watching.MOST", 100),
    ("reference/serve.md", "50 versions of the table are in memory", "service.routing.HISTORY", 50),
    ("reference/serve.md", "2,000 after 50,000 for one of the role client", "service.instance.CLIENT_REQUESTS", 50_000),
    ("reference/serve.md", "at least a second, and 5 ms for each", "service.watching.RETRY_EACH_MS", 5),
    ("reference/serve.md", "until an hour after their leases ended", "service.registry.KEPT_MS", 3_600_000),
    ("reference/serve.md", "for 90 days after they began", "store.switches.KEPT_MS", 90 * 86_400_000),
    ("reference/serve.md", "until its lease, 15 seconds, is over", "service.acting.LEASE_MS", 15_000),
    ("reference/routes.md", "A switch is kept for 90 days", "store.switches.KEPT_MS", 90 * 86_400_000),
    ("reference/routes.md", "1 to 3600, default 60", "routes.switch.DEADLINE_MS", 60_000),
    ("reference/routes.md", "has not answered for ten seconds", "service.switch_steps.LOST_S", 10.0),
    ("reference/checkpoints.md", "younger than a minute", "operations.checkpoints.activity.QUIET_MS", 60_000),
    ("reference/checkpoints.md", "three times the usual distance", "operations.checkpoints.activity._INTERVALS", 3),
    ("reference/checkpoints.md", "Two looks two seconds apart", "operations.checkpoints.activity._APART_S", 2.0),
    ("reference/checkpoints.md", "(16 digits of a SHA-256)", "model.plans.HASH_DIGITS", 16),
    ("reference/cli.md", "more than 2.5 seconds once Python has started", "cli.completing.LONGEST_S", 2.5),
    ("reference/cli.md", "Show it every second", "cli.links.watch.INTERVAL_S", 1.0),
    ("reference/exit-codes.md", "is killed if that takes a minute", "spark.jobs.tied.END_S", 60.0),
    ("how-to/watch-a-link.md", "of the ten newest runs of each link", "operations.jobs.runlogs.KEPT_LOGS", 10),
    ("how-to/watch-a-link.md", "Of many lanes at one moment twenty are named", "model.runevents.MOST_LANES", 20),
    ("how-to/beside-mirrormaker.md", "at most 64 pairs of offsets", "mirrormaker.store.SLOTS", 64),
    ("how-to/beside-mirrormaker.md", "(default 500", "operations.mirrormaker.report.LOOKED_AT", 500),
    ("how-to/move-consumer-groups.md", "(two reads, two seconds apart)", "kafka.groups.snapshot.SETTLE_S", 2.0),
)


def page(name: str) -> str:
    """A page's text, in one line."""
    return " ".join((DOCS / name).read_text(encoding="utf-8").split())


@pytest.mark.parametrize(("where", "says", "constant", "value"), NUMBERS)
def test_a_number_is_that_of_the_code(where: str, says: str, constant: str, value: float) -> None:
    """Whoever changes one changes the other."""
    module, _, name = constant.rpartition(".")
    assert says in page(where)
    assert getattr(import_module(f"anabranch.{module}"), name) == value


def test_defaults_of_flags_are_those_that_are_named() -> None:
    """The port of the metrics, and how many positions are looked up."""
    assert inspect.signature(metrics).parameters["port"].default == 9464
    assert "http://127.0.0.1:9464/metrics" in page("how-to/watch-a-link.md")
    assert inspect.signature(report).parameters["look"].default == 500


def test_control_topics_are_made_as_the_page_says() -> None:
    """Each setting with its value, and none that the page does not have."""
    text = page("reference/control-topics.md")
    for name, value in topics.configs(3).items():
        assert f"{name}={value}" in text, name
    assert topics.configs(2)["min.insync.replicas"] == "1" and "(1 with fewer than three replicas)" in text
    assert [topics.replication_factor(brokers) for brokers in (1, 2, 3, 9)] == [1, 2, 3, 3]


def test_the_page_of_link_files_names_what_is_not_copied_and_what_is_held() -> None:
    """Topics that are left out, settings of the target's own, settings that are held open."""
    text = page("reference/link-file.md").replace("\\|", "|")
    for pattern in DEFAULT_EXCLUDE:
        assert f"`{pattern}`" in text, pattern
    for name in TARGET_OWN:
        assert f"`{name}`" in text, name
    for patterns in DEFAULT_DENY:
        for pattern in [patterns] if patterns.startswith("(") else patterns.split("|"):
            assert f"`{pattern}`" in text or pattern == r"segment\.bytes", pattern
    for name, value in HELD_OPEN.items():
        assert f"`{name}={value}`" in text or (f"`{name}`" in text and "(2^63 - 1)" in text), name


def test_the_oldest_versions_are_the_same_wherever_they_are_named() -> None:
    """In the fine print, and where an API is missing."""
    assert "a source must be Kafka 2.8 or newer, a target 3.0 or newer" in page("fine-print.md")
    hint = UnsupportedApiError("old", "Fetch", "12 to 13", "0 to 11").hint
    assert re.findall(r"\d\.\d", hint) == ["2.8", "3.0"]
