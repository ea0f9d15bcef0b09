"""The migration file: read, written back, and refused where it contradicts its shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.config.migration_file import load, migration_fields, migration_of
from anabranch.config.yaml_file import LiteralSecretError, write
from anabranch.errors import ConfigError, InvalidFieldError
from anabranch.migration.spec import (
    AccessCarryOver,
    CopyRules,
    FenceKind,
    Hooks,
    JobKind,
    Limits,
    Migration,
    Readers,
    StreamJob,
    Wave,
    WaveOrder,
)
from anabranch.model.configs import ConfigRules
from anabranch.model.link import ModePolicy
from anabranch.model.plugins import PluginSpec
from anabranch.model.routing import Stragglers
from anabranch.model.start import StartKind, StartPosition
from anabranch.model.topics import TopicPartition

pytestmark = pytest.mark.unit

words = st.text("abc-._", min_size=1, max_size=8)
several = st.lists(words, max_size=3, unique=True).map(tuple)
jobs = st.builds(StreamJob, words, st.sampled_from(JobKind), words, st.just("") | words)
waves = st.builds(
    Wave,
    words,
    several,
    several,
    st.lists(jobs, max_size=2).map(tuple),
    several,
    several,
    several,
    st.sampled_from(WaveOrder),
    st.lists(st.sampled_from(FenceKind), max_size=3, unique=True).filter(bool).map(tuple),
    st.builds(Hooks, st.just("") | words, st.just("") | words),
    st.sampled_from(Readers),
)
starts = st.sampled_from(
    [
        StartPosition(),
        StartPosition(StartKind.LATEST),
        StartPosition(StartKind.TIMESTAMP, 1_700_000_000_000),
        StartPosition(StartKind.GROUP, group="shop"),
        StartPosition(StartKind.OFFSETS, offsets={TopicPartition("a", 0): 5, TopicPartition("b", 3): 0}),
    ]
)
namings = st.sampled_from([PluginSpec("identity"), PluginSpec("prefix", {"separator": "-"}), PluginSpec("prefix")])
rules = st.builds(
    CopyRules,
    namings,
    st.none() | st.integers(1, 9),
    starts,
    st.sampled_from(ModePolicy),
    st.sampled_from([ConfigRules(), ConfigRules(("a",), ("b", "c"))]),
)
limits = st.builds(
    Limits,
    st.none() | st.integers(1, 10**12),
    st.integers(100, 3_600_000),
    st.integers(0, 10**9),
    st.integers(100, 3_600_000),
    st.none() | st.integers(100, 3_600_000),
)
migrations = st.builds(
    Migration,
    words,
    words,
    words,
    st.lists(waves, max_size=3).map(tuple),
    st.just("") | words,
    st.just("") | words,
    rules,
    limits,
    several,
    st.sampled_from(Stragglers),
    st.builds(AccessCarryOver, st.booleans(), st.dictionaries(words, words, max_size=3), st.booleans()),
)


@given(migrations)
def test_what_is_written_is_read_as_the_same(migration: Migration) -> None:
    """Every field, also through the text of a file."""
    fields = migration_fields(migration)
    again = migration_of(fields, "x")
    assert again == migration
    assert migration_fields(again) == fields
    assert (again.copy.start.offsets, again.copy.naming.options, again.access.principals) == (
        migration.copy.start.offsets,
        migration.copy.naming.options,
        migration.access.principals,
    )


def test_a_file_is_written_and_read(tmp_path: Path) -> None:
    """As YAML, with what is as by default left out."""
    path = tmp_path / "move.yaml"
    migration = Migration("move", "old", "new", (Wave("orders", ("orders",), ("shop",)),))
    write(path, migration_fields(migration))
    assert path.read_text("utf-8") == (
        "version: 1\nname: move\nsource: old\ntarget: new\nwaves:\n"
        "- name: orders\n  topics:\n  - orders\n  groups:\n  - shop\n"
    )
    assert load(path) == migration


BASE: dict[str, Any] = {"name": "m", "source": "old", "target": "new", "waves": []}


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"waves": [{"name": "a"}]}, "waves.0.topics", "Field required"),
        ({"waves": [{"name": "a", "topics": "orders"}]}, "waves.0.topics", "valid list"),
        ({"waves": [{"name": "a", "topics": [], "fences": ["walls"]}]}, "waves.0.fences.0", "'routes'"),
        ({"waves": [{"name": "a", "topics": [], "jobs": ["/ck"]}]}, "waves.0.jobs.0", "not a mapping"),
        ({"wave": []}, "wave", "unknown field"),
        ({"limits": {"source_rate": "fast"}}, "limits.source_rate", "'fast' is not a rate"),
        ({"access": {"principals": ["User:shop"]}}, "access.principals", "valid dictionary"),
        ({"limits": {"quiet": "soon"}}, "limits.quiet", "'soon' is not a length of time"),
        ({"limits": {"job_quiet": "10ms"}}, "limits.job_quiet", "10ms is not from 100ms to 1h"),
        ({"limits": {"longest_pause": "2h"}}, "limits.longest_pause", "2h is not from 100ms to 1h"),
        ({"copy": {"start": "yesterday"}}, "copy.", "yesterday"),
        ({"copy": {"naming": {"kind": "template", "template": "x"}}}, "copy.template", "{topic}"),
        ({"copy": {"naming": {"kind": "template"}}}, "copy.options", "option 'template' is missing"),
        ({"copy": {"naming": {"kind": "prefix", "prefx": "x"}}}, "copy.options", "there is no option 'prefx'"),
    ],
)
def test_what_is_wrong_is_named_by_its_field(fields: dict[str, Any], field: str, words: str) -> None:
    """With what is wrong about it."""
    with pytest.raises(InvalidFieldError) as error:
        migration_of({**BASE, **fields}, "move.yaml")
    assert error.value.where == "move.yaml"
    assert error.value.field.startswith(field)
    assert words in error.value.problem


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"wave": []}, "source, source_id, stragglers, target"),
        (
            {
                "waves": [
                    {"name": "a", "topics": [], "jobs": [{"name": "j", "kind": "spark", "checkpoint": "c", "to": ""}]}
                ]
            },
            "checkpoint, kind, moved, name",
        ),
        ({"limits": {"quite": "1s"}}, "quiet"),
    ],
)
def test_for_an_unknown_field_those_that_are_known_there_are_named(fields: dict[str, Any], hint: str) -> None:
    """Of the part of the file where it stands, as they are written."""
    with pytest.raises(InvalidFieldError, match="unknown field") as error:
        migration_of({**BASE, **fields}, "move.yaml")
    assert error.value.hint.startswith("known fields there: ") and hint in error.value.hint
    assert "waves" not in error.value.hint or "wave" in fields


def test_where_a_mapping_is_expected_its_fields_are_named() -> None:
    """And not what reads the file."""
    jobs = [{"name": "a", "topics": [], "jobs": ["/ck"]}]
    with pytest.raises(InvalidFieldError, match="not a mapping") as error:
        migration_of({**BASE, "waves": jobs}, "move.yaml")
    assert error.value.hint == "write its fields below it: checkpoint, kind, moved, name"


def test_a_number_where_a_length_of_time_is_meant_is_answered_with_one() -> None:
    """30 of what is not known."""
    with pytest.raises(InvalidFieldError, match=r"limits\.longest_pause: Input should be a valid string") as error:
        migration_of({**BASE, "limits": {"longest_pause": 30}}, "move.yaml")
    assert error.value.hint.startswith("as text, with its unit if it has one, such as 30s; ")


def test_a_secret_is_refused_and_not_repeated() -> None:
    """Wherever it stands."""
    with pytest.raises(LiteralSecretError) as error:
        migration_of({**BASE, "copy": {"password": "hunter2"}}, "move.yaml")
    assert "hunter2" not in str(error.value)
    with pytest.raises(ConfigError):
        migration_of({}, "move.yaml")
