"""Positions of another cluster as Spark's ``startingOffsets`` where a route leads: exact, or refused.

Invariants
    T1  an offset stands in the result only where a link's map says that it is exactly that one; one refusal, and
        there is no result.
    T2  the link lies between the very two clusters: a map of other clusters answers as well, and wrongly.
"""

from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from anabranch.errors import InvalidFieldError
from anabranch.model.positions import AnswerKind
from anabranch.model.routing import Route
from anabranch.model.topics import TopicPartition
from anabranch.sdk.errors import MalformedRouteError, RouteProblemError
from anabranch.sdk.service import RouteService
from anabranch.spark.routes.errors import NotTranslatedError, OtherLinkError, OtherTopicsError, Untranslated

_MOST = 10_000
"""As many the service takes at once."""
_OPTION = "startingOffsets"
_WHAT = "translation"
_UNKNOWN_LINK = "urn:anabranch:problem:unknown-link"
_NUMBER = re.compile("0|[1-9][0-9]{0,9}")
_WORDS = {-1: "the end, whatever it is then", -2: "the beginning, whatever it is then"}


@dataclass(frozen=True, slots=True)
class EarlierPositions:
    """Where a job goes on: the next offset to read of each partition, on the cluster that it read until now.

    ``offsets`` is what Spark takes as ``startingOffsets``, ``{"orders": {"0": 1234}}``, with the topics' names on
    that cluster.  ``link`` is the one between that cluster and the one that the route leads to, either way round.
    """

    cluster: str
    offsets: str | Mapping[str, Mapping[str, int]] = field(hash=False)
    link: str

    def read(self) -> dict[TopicPartition, int]:
        """By partition, in order; raises InvalidFieldError."""
        given: Any = self.offsets
        if isinstance(given, str):
            try:
                given = json.loads(given)
            except ValueError:
                raise _wrong("offsets", "it is not JSON") from None
        if not isinstance(given, Mapping) or not given:
            raise _wrong("offsets", "it has no topics")
        return dict(sorted(place for topic, partitions in given.items() for place in _places(topic, partitions)))


def starting_offsets(service: RouteService, route: Route, positions: EarlierPositions) -> str:
    """What Spark takes as ``startingOffsets`` on the cluster of a route; positions of that cluster stay as they are.

    Raises NotTranslatedError, OtherLinkError, OtherTopicsError, InvalidFieldError, and what the service refuses.
    """
    found = positions.read()
    if positions.cluster != route.cluster:
        found = _translated(service, route.cluster, positions, found)
    topics = {place.topic for place in found}
    if topics != set(route.topics.values()):
        raise OtherTopicsError(route.cluster, tuple(sorted(route.topics.values())), tuple(sorted(topics)))
    told: dict[str, dict[str, int]] = {}
    for place, offset in sorted(found.items()):
        told.setdefault(place.topic, {})[str(place.partition)] = offset
    return json.dumps(told)


def _places(topic: str, partitions: Any) -> Iterator[tuple[TopicPartition, int]]:
    if not isinstance(partitions, Mapping):
        raise _wrong(topic, "it has no partitions")
    for partition, offset in partitions.items():
        if not isinstance(partition, str) or not _NUMBER.fullmatch(partition):
            raise _wrong(topic, f"{partition!r} is no partition")
        if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
            # Each cluster has another beginning and another end: as positions they are as good as none.
            raise _wrong(f"{topic}-{partition}", f"{offset!r} is {_WORDS.get(offset, 'no offset')}")
        yield TopicPartition(topic, int(partition)), offset


def _wrong(name: str, problem: str) -> InvalidFieldError:
    return InvalidFieldError(_OPTION, name, problem, 'give the next offset to read of each: {"orders": {"0": 1234}}')


def _translated(
    service: RouteService, cluster: str, positions: EarlierPositions, asked: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    path, reverse = _way(service, cluster, positions)
    places, refused = list(asked), list[Untranslated]()
    found: dict[TopicPartition, int] = {}
    for first in range(0, len(places), _MOST):
        part = places[first : first + _MOST]
        questions = [{"topic": one.topic, "partition": one.partition, "offset": asked[one]} for one in part]
        told = service.ask("POST", f"{path}/translate", {"questions": questions, "reverse": reverse})
        for place, answer in zip(part, _answers(told, cluster, len(part)), strict=True):
            if (answer.get("partition"), answer.get("offset")) != (str(place), asked[place]):
                raise MalformedRouteError(_WHAT, f"it does not answer {place} at {asked[place]}")
            if answer.get("kind") == AnswerKind.EXACT:
                found.update([_exact(answer)])
            else:
                refused.append(_refusal(place, asked[place], answer))
    if refused:
        raise NotTranslatedError(positions.link, cluster, len(places), tuple(refused), reverse)
    if len(found) != len(places):
        raise MalformedRouteError(_WHAT, "two partitions have one place")
    return found


def _way(service: RouteService, cluster: str, positions: EarlierPositions) -> tuple[str, bool]:
    """The link's path, and whether it is gone backwards (T2)."""
    unknown: RouteProblemError | None = None
    was_found = False
    for target, source in ((cluster, positions.cluster), (positions.cluster, cluster)):
        path = f"/api/v1/clusters/{_quoted(target)}/links/{_quoted(positions.link)}"
        try:
            told = service.ask("GET", path)
        except RouteProblemError as error:
            if error.kind != _UNKNOWN_LINK:
                raise
            unknown = unknown or error
            continue
        was_found = True
        summary = told.get("summary") if isinstance(told, dict) else None
        if not isinstance(summary, dict) or not isinstance(summary.get("source"), str):
            raise MalformedRouteError("link", "it has no source")
        if summary["source"] == source:
            return path, target != cluster
    if unknown is not None and not was_found:
        raise unknown
    raise OtherLinkError(positions.link, positions.cluster, cluster)


def _quoted(name: str) -> str:
    return urllib.parse.quote(name, safe="")


def _answers(told: Any, cluster: str, number: int) -> list[dict[str, Any]]:
    answers = told.get("answers") if isinstance(told, dict) else None
    if not isinstance(answers, list) or len(answers) != number or not all(isinstance(one, dict) for one in answers):
        raise MalformedRouteError(_WHAT, "it has not an answer for each question")
    if told.get("cluster") != cluster:
        raise MalformedRouteError(_WHAT, f"its offsets are of cluster {told.get('cluster')}")
    return answers


def _exact(answer: Mapping[str, Any]) -> tuple[TopicPartition, int]:
    to, offset = answer.get("to"), answer.get("answer")
    topic, _, partition = to.rpartition("-") if isinstance(to, str) else ("", "", "")
    if not topic or not _NUMBER.fullmatch(partition) or isinstance(offset, bool) or not isinstance(offset, int):
        raise MalformedRouteError(_WHAT, "an exact answer without its place")
    return TopicPartition(topic, int(partition)), offset


def _refusal(place: TopicPartition, offset: int, answer: Mapping[str, Any]) -> Untranslated:
    try:
        kind = AnswerKind(str(answer.get("kind")))
    except ValueError:
        raise MalformedRouteError(_WHAT, f"kind {answer.get('kind')!r}") from None
    return Untranslated(str(place), offset, kind, str(answer.get("why", "")))
