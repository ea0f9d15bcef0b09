"""``__anabranch_verified`` on a target: made when it is first written to, read as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from anabranch.kafka.cluster import Cluster
from anabranch.kafka.log import KeyedLog
from anabranch.state.codecs import topics
from anabranch.state.codecs import verified as codec
from anabranch.state.codecs.verified import LaneVerified, VerifyRecordKind, VerifyRun
from anabranch.state.topics.control import ensure_topics, present, write


class VerifiedTopic:
    """What was verified on this target, by lane key and link."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._log: KeyedLog | None = None
        self.lanes: dict[str, LaneVerified] = {}
        self.runs: dict[str, VerifyRun] = {}
        self.stops: dict[str, str] = {}
        self.reports: dict[str, dict[str, Any]] = {}

    async def sync(self) -> None:
        """Read what changed; nothing where nothing was ever verified."""
        if self._log is None:
            if not await present(self._cluster, [topics.VERIFIED]):
                return
            self._log = KeyedLog(self._cluster, topics.VERIFIED)
        for entry in await self._log.read():
            name, about = codec.parse_key(entry.key)
            if entry.value is None:
                for held in (self.lanes,) if about is None else (self._held(about),):
                    held.pop(name, None)
            elif about is None:
                self.lanes[name] = codec.decode_lane(entry.key, entry.value)
            elif about is VerifyRecordKind.RUN:
                self.runs[name] = codec.decode_run(entry.key, entry.value)
            elif about is VerifyRecordKind.STOP:
                self.stops[name] = codec.decode_stop(entry.value)
            else:
                self.reports[name] = codec.decode_report(entry.value)

    def _held(self, about: VerifyRecordKind) -> dict[str, Any]:
        held: dict[VerifyRecordKind, dict[str, Any]] = {
            VerifyRecordKind.RUN: self.runs,
            VerifyRecordKind.STOP: self.stops,
            VerifyRecordKind.REPORT: self.reports,
        }
        return held[about]

    async def ensure(self) -> None:
        """Make the topic if it is not there; returns when it can be written to."""
        await ensure_topics(self._cluster, [topics.VERIFIED])

    async def persist(
        self, run: VerifyRun, lanes: Iterable[LaneVerified], report: Mapping[str, Any] | None = None
    ) -> None:
        """Store how far lanes are, then the report, last the run: one that reads as done has its report.

        Raises ControlLostError.
        """
        entries: list[tuple[bytes, bytes | None]] = [
            (codec.lane_key(lane.lane), codec.encode_lane(lane)) for lane in lanes
        ]
        if report is not None:
            entries.append((codec.link_key(run.link, VerifyRecordKind.REPORT), codec.encode_report(report)))
        entries.append((codec.link_key(run.link, VerifyRecordKind.RUN), codec.encode_run(run)))
        await write(self._writable(), entries)

    async def ask_to_stop(self, link: str, run: str) -> None:
        """Store the wish that a run stops; raises ControlLostError."""
        await write(self._writable(), [(codec.link_key(link, VerifyRecordKind.STOP), codec.encode_stop(run))])

    async def forget(self, lanes: Iterable[str]) -> None:
        """Forget lanes, so that they are compared from their start; raises ControlLostError."""
        await write(self._writable(), [(codec.lane_key(lane), None) for lane in lanes])

    def _writable(self) -> KeyedLog:
        if self._log is None:
            self._log = KeyedLog(self._cluster, topics.VERIFIED)
        return self._log
