"""Links seen from streams: what the board knows of them, as jobs beside streams."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from anabranch.config.contexts import UnknownContextError
from anabranch.errors import AnabranchError
from anabranch.service.board import Board, SeenCluster, SeenLink
from anabranch.store.streams import StoredStreams
from anabranch.streams.kept import NoStreamError
from anabranch.streams.links import NameOfLinkError, NameOfStreamError, NotOfLinkError, SeveralLinksError


@dataclass(frozen=True, slots=True)
class StreamLinks:
    """The links of the clusters that were read; a link and a stream of one name are told apart by the link's target."""

    board: Board

    def every(self) -> Sequence[tuple[SeenCluster, SeenLink]]:
        """Every link, by target and id."""
        return [(cluster, cluster.links[name]) for cluster in self.board.seen for name in sorted(cluster.links)]

    def named(self, name: str) -> tuple[SeenCluster, SeenLink] | None:
        """The link of a name; None where no cluster that was read has it.  Raises SeveralLinksError."""
        found = [(cluster, cluster.links[name]) for cluster in self.board.seen if name in cluster.links]
        if len(found) > 1:
            raise SeveralLinksError(name, tuple(cluster.name for cluster, _ in found))
        return found[0] if found else None

    def check_free(self, name: str) -> None:
        """Raise NameOfLinkError where a link that is known has the name."""
        for cluster in self.board.seen:
            if name in cluster.links:
                raise NameOfLinkError(name, cluster.name)

    def is_gone(self, name: str, target: str) -> bool:
        """Whether there is no such link: its cluster was just read without it, or is no context any more."""
        try:
            cluster = self.board.cluster(target)
        except UnknownContextError:
            return True
        except AnabranchError:
            return False
        return cluster.problem is None and cluster.read_at_ms is not None and name not in cluster.links

    def why_never_read(self, target: str) -> str:
        """Why a cluster could not be read since this service began; empty where it was, or was not tried yet."""
        never = (one for one in self.board.seen if one.name == target and one.read_at_ms is None)
        problem = next((one.problem for one in never if one.problem is not None), None)
        return "" if problem is None else f"cluster {target} is not read: {problem.detail}"

    @contextmanager
    def refusing(self, verb: str) -> Iterator[None]:
        """Raise NotOfLinkError where a verb of streams finds no stream, and a link has that name."""
        try:
            yield
        except NoStreamError as error:
            found = self.named(error.name)
            if found is not None:
                raise NotOfLinkError(error.name, found[0].name, verb) from error
            raise


async def meant(
    streams: StoredStreams, links: StreamLinks, name: str, target: str | None
) -> tuple[SeenCluster, SeenLink] | None:
    """The link that is meant, None for a stream, which comes before a link of its name where no target is given.

    Raises NoStreamError where there is neither, SeveralLinksError, and what the board raises of a target.
    """
    if target:
        return links.board.link(target, name)
    try:
        await asyncio.to_thread(streams.get, name)
    except NoStreamError:
        found = links.named(name)
        if found is None:
            raise
        return found
    return None


async def check_no_stream(streams: StoredStreams, link: str) -> None:
    """Raise NameOfStreamError where a link would have the name of a stream; raises StoreError."""
    try:
        await asyncio.to_thread(streams.get, link)
    except NoStreamError:
        return
    raise NameOfStreamError(link)
