"""Resume a comparison that was stopped or died, up to the same pins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from anabranch.config.verifyspec import Levels, ReaderKind, VerifyOptions
from anabranch.errors import RefusedError
from anabranch.kafka.cluster import Cluster
from anabranch.operations.verify.start import VerifyPlan, apply, idle, pinned
from anabranch.state.codecs.verified import NeverVerifiedError, RunState
from anabranch.verify.pins import Pin

__all__ = ["NothingToResumeError", "apply", "plan"]


@dataclass(eq=False)
class NothingToResumeError(RefusedError):
    """The last comparison of the link went to its end."""

    link: str
    run: str

    _message = "{run} of link {link!r} is done: there is nothing to resume"
    _hint = "`anabranch verify start {link}` compares what is new"


async def plan(source: Cluster, target: Cluster, link_id: str) -> VerifyPlan:
    """The lanes with the pins and options of the comparison that was stopped; ``apply`` is that of ``start``.

    Raises UnknownLinkError, VerifyRunningError, NothingToResumeError, NeverVerifiedError, ClusterError.
    """
    verified = await idle(target, link_id)
    last = verified.runs.get(link_id)
    if last is None:
        raise NeverVerifiedError(link_id)
    if last.state is RunState.DONE:
        raise NothingToResumeError(link_id, last.run)
    found = await pinned(source, target, verified, link_id, _options(last.options))
    pins = tuple(_cut(pin, last.pins[pin.lane]) for pin in found.pins if pin.lane in last.pins)
    return replace(found, pins=pins)


def _cut(pin: Pin, to: tuple[int, int]) -> Pin:
    """The pin up to where the stopped run's went."""
    return pin.up_to(max(pin.source_from, to[0]), max(pin.target_from, to[1]))


def _options(stored: Mapping[str, Any]) -> VerifyOptions:
    return VerifyOptions(
        ReaderKind(stored["reader"]),
        Levels(stored["levels"]),
        stored["rate_limit"],
        int(stored["samples"]),
        bool(stored["values"]),
    )
