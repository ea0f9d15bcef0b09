"""Link files, rates and the published schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from anabranch.config import link_file, schemas
from anabranch.config.jobspec import JobSpecError, LinkJob
from anabranch.config.units import parse_rate
from anabranch.errors import ConfigError, InvalidFieldError
from anabranch.model.cluster import ClusterContext
from anabranch.model.configs import DEFAULT_DENY, ConfigRules
from anabranch.model.link import ClusterRef, GroupRules, LinkSpec, ModePolicy
from anabranch.model.plugins import PluginSpec
from anabranch.model.start import StartKind, StartPosition
from anabranch.model.topics import TopicPartition

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
FULL = """
version: 1
id: mirror
source: old
target: new
filter: {include: [orders, 'bills\\..*'], exclude: ['.*\\.tmp']}
naming: {kind: prefix, separator: "-"}
replication_factor: 3
start: {offsets: {orders: {0: 42, 1: 7}}}
mode: mapped
configs: {allow: ['retention\\..*'], deny: []}
rate_limit: 50MB/s
lease_seconds: 30
"""


def load(tmp_path: Path, text: str) -> LinkSpec:
    """The spec of a file with that text."""
    path = tmp_path / "link.yaml"
    path.write_text(text)
    return link_file.load(path)


def test_a_full_file_reads_as_a_spec(tmp_path: Path) -> None:
    """Every field arrives."""
    assert load(tmp_path, FULL) == LinkSpec(
        id="mirror",
        source=ClusterRef("old", ""),
        target=ClusterRef("new", ""),
        filter=PluginSpec("regex", {"include": ["orders", r"bills\..*"], "exclude": [r".*\.tmp"]}),
        naming=PluginSpec("prefix", {"separator": "-"}),
        replication_factor=3,
        start=StartPosition(
            StartKind.OFFSETS, offsets={TopicPartition("orders", 0): 42, TopicPartition("orders", 1): 7}
        ),
        mode=ModePolicy.MAPPED,
        configs=ConfigRules((r"retention\..*",), ()),
        rate_limit=50_000_000,
        lease_seconds=30,
    )


def test_two_clusters_are_enough(tmp_path: Path) -> None:
    """All else has defaults: everything, under its own name, from the beginning."""
    spec = load(tmp_path, "{source: old, target: new}")
    assert spec == LinkSpec("old-new", ClusterRef("old", ""), ClusterRef("new", ""))
    assert spec.configs.deny == tuple(DEFAULT_DENY)


@pytest.mark.parametrize(
    ("start", "position"),
    [
        ("latest", StartPosition(StartKind.LATEST)),
        ("1356998400000", StartPosition(StartKind.TIMESTAMP, 1356998400000)),
        ("2013-01-01T00:00:00Z", StartPosition(StartKind.TIMESTAMP, 1356998400000)),
        ("'2013-01-01T00:00:00Z'", StartPosition(StartKind.TIMESTAMP, 1356998400000)),
    ],
)
def test_starts_may_stand_with_or_without_quotes(tmp_path: Path, start: str, position: StartPosition) -> None:
    """YAML turns some texts into times and numbers, and both are read."""
    assert load(tmp_path, f"{{source: old, target: new, start: {start}}}").start == position


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{source: old}", "target"),
        ("{source: old, target: old}", "it is the source too"),
        ("{source: old, target: new, topics: [a]}", "topics: unknown field"),
        ("{source: old, target: new, filter: {include: ['[']}}", "filter.include: '['"),
        ("{source: old, target: new, filter: {kind: magic}}", "magic"),
        ("{source: old, target: new, naming: {kind: template, template: x}}", "naming.template"),
        ("{source: old, target: new, naming: {kind: template}}", "template"),
        ("{source: old, target: new, start: 2013-01-01}", "start"),
        ("{source: old, target: new, start: 2013-01-01T00:00:00}", "start"),
        ("{source: old, target: new, start: whenever}", "'whenever' is not a start position"),
        ("{source: old, target: new, start: {offsets: {a: {0: -1}}}}", "a-0"),
        ("{source: old, target: new, rate_limit: fast}", "'fast' is not a rate"),
        ("{source: old, target: new, rate_limit: true}", "rate_limit"),
        ("{source: old, target: new, mode: identity}", "mode"),
        ("{source: old, target: new, lease_seconds: 0}", "lease_seconds"),
        ("{source: old, target: new, id: A B}", "id"),
        ("{source: old, target: new, version: 2}", "version"),
    ],
)
def test_a_bad_file_is_named_with_its_field(tmp_path: Path, text: str, told: str) -> None:
    """The file and the field stand in the error."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "rate"),
    [("800000", 800_000), ("50MB/s", 50_000_000), ("50M", 50_000_000), ("1.5 GB", 1_500_000_000), ("2kb", 2000)],
)
def test_rates_are_decimal(text: str, rate: int) -> None:
    """MB is a million bytes."""
    assert parse_rate(text) == rate


@pytest.mark.parametrize("text", ["", "0", "-1", "fast", "1TB", "1MiB"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    """The units are told."""
    with pytest.raises(InvalidFieldError) as caught:
        parse_rate(text)
    assert "50MB/s" in caught.value.fix


@pytest.mark.parametrize("name", list(schemas.SCHEMAS))
def test_published_schemas_are_fresh(name: str) -> None:
    """The stored schema is the one that the reader's model generates."""
    assert (ROOT / "schemas" / name).read_text(encoding="utf-8") == schemas.render(name)


@pytest.mark.parametrize("name", list(schemas.SCHEMAS))
def test_published_schemas_are_schemas(name: str) -> None:
    """An editor can load them."""
    jsonschema.Draft202012Validator.check_schema(json.loads(schemas.render(name)))


def as_json(text: str) -> Any:
    """A YAML text as an editor's validator sees it: keys are texts, times are texts."""
    return json.loads(json.dumps(yaml.safe_load(text), default=str))


def test_the_schema_takes_what_the_reader_takes_and_refuses_what_it_refuses() -> None:
    """A full file is valid, and a misspelt field or a missing cluster is not."""
    validator = jsonschema.Draft202012Validator(json.loads(schemas.render("link.schema.json")))
    assert not list(validator.iter_errors(as_json(FULL)))
    for bad in ("{source: old}", "{source: old, target: new, topics: [a]}", "{source: 1, target: new}"):
        assert list(validator.iter_errors(as_json(bad)))


def test_schemas_are_written_by_the_module(tmp_path: Path) -> None:
    """The command that refreshes them writes all of them."""
    schemas.main(tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == set(schemas.SCHEMAS)


def test_groups_that_are_followed_keep_the_files_interval(tmp_path: Path) -> None:
    """How often, which and whether checkpoints are published, as it is written."""
    text = "source: old\ntarget: new\ngroups: {include: [a], exclude: [b], interval: 1.5min, checkpoints: true}\n"
    assert load(tmp_path, text).groups == GroupRules(("a",), ("b",), 90_000, True)


def test_a_cluster_is_not_copied_to_itself(tmp_path: Path) -> None:
    """Whatever the link is called."""
    for given in ("", "id: loop\n"):
        with pytest.raises(InvalidFieldError, match="it is the source too"):
            load(tmp_path, f"{given}source: old\ntarget: old\n")


def test_a_links_job_reads_what_was_written_for_it_and_nothing_else() -> None:
    """Another version or another job is refused, with one error."""
    job = LinkJob("old-new", "run-1", ClusterContext("old", ("o:1",)), ClusterContext("new", ("n:1",)), 45.0)
    assert LinkJob.from_json(job.to_json()) == job
    for change in ({"v": 1}, {"job": "verify"}):
        with pytest.raises(JobSpecError):
            LinkJob.from_json(json.dumps({**json.loads(job.to_json()), **change}))
