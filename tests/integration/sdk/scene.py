"""Two real clusters, and a service that says what it is told to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from anabranch.sandbox import SandboxCluster
from qa.service import until
from tests.integration.sdk.fake_service import FakeService, route_json
from tests.integration.sdk.lab import TwoClusters


@dataclass
class Scene(TwoClusters):
    """The two clusters, and a service that says what it is told to."""

    service: FakeService = field(kw_only=True)

    def route(self, cluster: SandboxCluster, version: int) -> Any:
        """A route that leads there."""
        return route_json(cluster.spec.name, version, bootstrap=[cluster.bootstrap])

    def prepare(self, switch: str, clients: int = 1) -> None:
        """Ask those that watch to pause."""
        until(lambda: self.service.watching == clients)
        self.service.prepare(switch)

    def go(self, switch: str, starts: Any = None) -> None:
        """Have them go on on the new cluster."""
        self.service.go(switch, self.route(self.new, 2), starts)

    def ready(self, switch: str) -> list[Any]:
        """Who has paused for it."""
        return [one for one in self.service.bodies("POST", "/ready") if one["switch"] == switch]
