"""A switch as its clients see it: who is held, who is asked, and what those hear who were away at its end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any


@dataclass
class FakeSwitch:
    """``named`` were there when it began, ``held`` came since; ``end`` is how it ended, or empty."""

    id: str
    named: set[str]
    held: set[str] = field(default_factory=set)
    ready: dict[str, Any] = field(default_factory=dict)
    follows: set[str] = field(default_factory=set)
    end: str = ""
    starts: dict[str, int] = field(default_factory=dict)

    def concerns(self, client: str) -> bool:
        """Whether it moves this one."""
        return client in self.named or client in self.held

    def asks(self, client: str) -> bool:
        """Whether it waits for this one."""
        return not self.end and client in self.named and client not in self.ready

    def hold(self, client: str) -> str | None:
        """What one that registers is told: all wait for the end."""
        if self.end:
            return None
        if client not in self.named:
            self.held.add(client)
        return self.id

    def takes(self, client: str, body: Any) -> bool:
        """Take an answer; whether it is under way."""
        if self.end or body["switch"] != self.id:
            return False
        if client in self.named:
            self.ready.setdefault(client, body)
        return True

    def ended(self, end: str, starts: dict[str, int]) -> FakeSwitch:
        """The same once it has ended so."""
        assert not self.end
        return replace(self, end=end, starts=starts)

    def ending(self, route: Any) -> Any:
        """What one is told that this concerns."""
        if self.end == "cancel":
            return {"switch": self.id, "why": "a test"}
        return {"switch": self.id, "route": route, "starts": self.starts}

    def missed_starts(self, client: str) -> Any:
        """Where one begins that may not have heard the end."""
        if self.end != "go" or client in self.follows or not self.starts or not self.concerns(client):
            return None
        return {"switch": self.id, "starts": self.starts}
