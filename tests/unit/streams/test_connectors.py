"""Connectors: options that nobody knows are never passed over."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from anabranch.errors import InvalidFieldError
from anabranch.streams.connectors import Connector, choice, flag, nearest, option
from anabranch.streams.tables import TableDeclaration

pytestmark = pytest.mark.unit

KAFKA = Connector("kafka", {"cluster": "its code"}, {"format": "how values are written"}, ("kafka.",))


def table(**options: str) -> TableDeclaration:
    """A table with options; ``__`` is a dot."""
    return TableDeclaration("t", "kafka", options={name.replace("__", "."): text for name, text in options.items()})


@given(st.dictionaries(st.text(min_size=1, max_size=8), st.text(max_size=3), max_size=4))
def test_every_option_is_known_or_refused(options: dict[str, str]) -> None:
    """O1."""
    known = {"cluster", "format"}
    strange = [name for name in options if name.lower() not in known]
    given = TableDeclaration("t", "kafka", options={"cluster": "c", **options})
    assume(len({name.lower() for name in given.options}) == len(given.options))
    if strange:
        with pytest.raises(InvalidFieldError) as caught:
            Connector("kafka", {"cluster": ""}, {"format": ""}).check(given)
        assert caught.value.field in strange
    else:
        KAFKA.check(given)


@pytest.mark.parametrize("connector", [KAFKA, Connector("org.example", is_open=True)])
def test_an_option_that_is_named_twice_is_refused(connector: Connector) -> None:
    """O2: one of them would be judged, and the other one read."""
    with pytest.raises(InvalidFieldError, match="there twice") as caught:
        connector.check(table(cluster="c", format="json", FORMAT="csv"))
    assert caught.value.field == "FORMAT"


def test_an_unknown_option_has_the_nearest_name_and_a_missing_one_its_meaning() -> None:
    """What to write stands in the hint."""
    with pytest.raises(InvalidFieldError) as unknown:
        KAFKA.check(table(cluster="c", fromat="json"))
    with pytest.raises(InvalidFieldError, match="needs it: its code"):
        KAFKA.check(table(format="json"))

    assert unknown.value.hint == "did you mean format?"
    KAFKA.check(table(CLUSTER="c", kafka__max__poll__records="5"))


@pytest.mark.parametrize("name", ["bootstrap.servers", "kafka.bootstrap.servers", "Kafka.Bootstrap.Servers"])
def test_a_kafka_table_names_no_addresses(name: str) -> None:
    """A code is routed; an address is not."""
    with pytest.raises(InvalidFieldError) as caught:
        KAFKA.check(TableDeclaration("t", "kafka", options={"cluster": "c", name: "h:1"}))

    assert "cluster 'CODE'" in caught.value.hint


def test_words_of_options_are_read_in_any_case_and_checked() -> None:
    """A word that is none is refused with those that there are."""
    given = table(Format="JSON", strict="maybe")

    assert option(given, "format") == "JSON"
    assert choice(given, "format", ("json", "csv"), "csv") == "json"
    assert choice(given, "other", ("json", "csv"), "csv") == "csv"
    with pytest.raises(InvalidFieldError, match="none of csv, avro"):
        choice(given, "format", ("csv", "avro"), "csv")
    with pytest.raises(InvalidFieldError, match="neither true nor false"):
        flag(given, "strict", True)
    assert flag(given, "absent", True)
    assert nearest("Pageveiws", ["PageViews", "users"]) == "did you mean PageViews?"


def test_a_table_that_is_read_and_written_takes_the_options_of_both() -> None:
    """One declaration serves both."""
    both = KAFKA.joined(Connector("kafka", {"format": "needed to write"}, {"key": "of records"}))

    assert both.options == ("cluster", "format", "key")
    with pytest.raises(InvalidFieldError):
        both.check(table(cluster="c"))
