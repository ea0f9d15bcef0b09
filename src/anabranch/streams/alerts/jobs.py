"""Whose alerts they are: a stream, or a link beside streams."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.streams.alerts.rules import AlertKind

OF_LINKS = (AlertKind.ALIVE, AlertKind.LAG, AlertKind.RESTARTS)


@dataclass(frozen=True, slots=True, order=True)
class AlertedJob:
    """A stream, or where ``target`` is not empty the link of that name to it."""

    name: str
    target: str = ""

    @property
    def kinds(self) -> tuple[AlertKind, ...]:
        """The alerts that it has; a link has no trigger that it could be slower than."""
        return OF_LINKS if self.target else tuple(AlertKind)

    @property
    def words(self) -> str:
        """In words."""
        return f"link {self.name} to {self.target}" if self.target else f"stream {self.name}"
