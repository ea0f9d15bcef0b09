"""The journal of a switch as a store keeps it: whatever it holds is read back as it was."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.model.routing import ClientRole
from anabranch.routes.journal import ready_fields, ready_of, switch_fields, switch_of
from anabranch.routes.switch import NamedClient, Ready, Switch
from tests.chance import examples

pytestmark = pytest.mark.unit

NAMES = st.text(max_size=8)
COUNTS = st.integers(0, 2**63 - 1)
OFFSETS = st.dictionaries(NAMES, COUNTS, max_size=3)
READY = st.builds(Ready, OFFSETS, OFFSETS, NAMES, st.dictionaries(NAMES, NAMES, max_size=3))
NAMED = st.builds(
    NamedClient, NAMES, st.sampled_from(ClientRole), NAMES, NAMES, NAMES, st.dictionaries(NAMES, NAMES, max_size=3)
)
SWITCHES = st.builds(
    Switch,
    version=COUNTS,
    began_ms=COUNTS,
    deadline_ms=COUNTS,
    named=st.dictionaries(NAMES, NAMED, max_size=3),
    links=st.dictionaries(st.tuples(NAMES, NAMES), NAMES, max_size=3),
    gathered=st.booleans(),
    state=...,
    ready=st.dictionaries(NAMES, READY, max_size=3),
    left=st.lists(NAMES, max_size=3).map(tuple),
    ends=st.none() | st.dictionaries(NAMES, OFFSETS, max_size=2),
    starts=st.dictionaries(NAMES, OFFSETS, max_size=2),
    why=NAMES,
    when_lost=...,
    lost=st.lists(NAMES, max_size=2).map(tuple),
    doubts=st.lists(NAMES, max_size=2).map(tuple),
    run=NAMES,
    is_shut=st.booleans(),
    is_bound=st.booleans(),
)


@examples(400)
@given(SWITCHES)
def test_a_journal_is_read_back_as_it_was_written(switch: Switch) -> None:
    """As values, and as the JSON that a database keeps."""
    for fields in (switch_fields(switch), json.loads(json.dumps(switch_fields(switch)))):
        assert switch_of(fields) == switch


@examples(100)
@given(SWITCHES)
def test_a_journal_of_an_earlier_version_is_read(switch: Switch) -> None:
    """It is of no run, and has no gate."""
    fields = switch_fields(switch)
    for name in ("run", "is_shut", "is_bound"):
        del fields[name]
    assert switch_of(fields) == replace(switch, run="", is_shut=False, is_bound=False)


@examples(100)
@given(READY)
def test_what_a_client_handed_over_is_read_back(ready: Ready) -> None:
    """From the row of its own that it has until the journal has it."""
    assert ready_of(json.loads(json.dumps(ready_fields(ready)))) == ready
