"""How the service starts Spark jobs: by its own settings, never by a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from anabranch.operations.jobs.stream_launchers import DEFAULT, NoLauncherError, StreamLauncher, default_launcher
from anabranch.operations.jobs.submission import Submission
from anabranch.streams.catalog.attached import attached, attached_otherwise


@dataclass(frozen=True, slots=True)
class JobSettings:
    """How the service starts Spark jobs: never by a request, for Spark's settings can run anything.

    ``master`` runs links, ``reader_master`` comparisons and streams of the default launcher; ``launchers`` has the
    others by name.  ``directory`` gets specifications and logs.  ``running_streams`` is how many streams may run at
    once, None for any number.
    """

    master: str
    reader_master: str
    directory: Path
    settings: Mapping[str, str] = field(default_factory=dict, hash=False)
    launchers: Mapping[str, StreamLauncher] = field(default_factory=dict, hash=False)
    running_streams: int | None = None

    @property
    def maps(self) -> Path:
        """The directory of the maps that `offsets.rebuild` made."""
        return self.directory / "maps"

    @property
    def submission(self) -> Submission:
        """How the job of a link is submitted."""
        return Submission(self.master, self.settings, None, (), False)

    @property
    def catalogs(self) -> dict[str, dict[str, str]]:
        """The catalogs of Spark's own, with the connector that writes there, by launcher.

        Those of the service's settings are the default launcher's; another one has what it attaches otherwise.
        """
        found = {DEFAULT: attached(self.settings)}
        for name, launcher in self.launchers.items():
            found[name] = attached_otherwise(launcher.submission.settings, self.settings)
        return {name: catalogs for name, catalogs in found.items() if catalogs}

    def launcher(self, name: str) -> StreamLauncher:
        """How a stream is started that names this; raises NoLauncherError."""
        if name == DEFAULT:
            return default_launcher(self.reader_master, self.settings)
        if name not in self.launchers:
            raise NoLauncherError(name, (DEFAULT, *sorted(self.launchers)))
        return self.launchers[name]
