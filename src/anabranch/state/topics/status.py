"""A link as the control topics that were read tell of it."""

from __future__ import annotations

from anabranch.model.reports import LinkStatus
from anabranch.state.topics.control import Links, Progress


def status_of(links: Links, progress: Progress, link: str, read_at_ms: int) -> LinkStatus:
    """A link that is among ``links``, with its lanes as they stand at ``read_at_ms``."""
    lanes = links.standing(link, progress.lanes.of(link))
    return LinkStatus(
        links.links[link],
        tuple(sorted(lanes, key=lambda lane: lane.source)),
        progress.plans.get(link),
        read_at_ms,
    ).as_read()
