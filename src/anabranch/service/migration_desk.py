"""The service's own `MigrationDesk`: links and comparisons are its Spark jobs, hooks are the ones of its file.

Each may be asked again by whoever goes on with a run: what it has started is looked for first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from anabranch.errors import ConfigError, RefusedError
from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun
from anabranch.migration.spec import FenceKind
from anabranch.migration.steps import Part
from anabranch.model.clock import now_ms
from anabranch.model.counted import counted
from anabranch.model.link import UnknownLinkError
from anabranch.model.reasons import Reason, Severity
from anabranch.operations.jobs.outcome import last_error
from anabranch.operations.jobs.readerjob import ReaderJob
from anabranch.operations.links import run as link_run
from anabranch.operations.links import stop as link_stop
from anabranch.operations.links.run import LinkRunsError
from anabranch.operations.links.stop import StillRunningError
from anabranch.operations.migrations.engine import NotYetError
from anabranch.operations.verify import show as verify_show
from anabranch.operations.verify import start as verify_start
from anabranch.service.hooks import Unwanted, run_hook
from anabranch.service.launching import Launching
from anabranch.service.migration_against import against
from anabranch.service.migration_routes import MigrationRoutes
from anabranch.service.route_desk import ServiceDesk
from anabranch.state.codecs.verified import NeverVerifiedError, RunState, VerifyStatus
from anabranch.store.runs import RunKind
from anabranch.verify.findings import FindingKind
from anabranch.verify.report import ComparisonVerdict

STOP_S = 30.0
"""How long runs that were asked to end are waited for before that is told."""
BEGINS_MS = 60_000
"""How long lanes that have not begun, or are in doubt, are waited for: a link that was just started tells of them
within seconds.  Where one still does not, the comparison goes on without it, and says so."""
_NAMED = 3
"""Lanes that were not compared which a refusal names."""


@dataclass(eq=False)
class UnknownHookError(ConfigError):
    """A migration names a hook that the service does not have."""

    name: str

    _message = "the service has no hook {name!r}"
    _hint = "its operator adds it to the service's file (hooks), and starts the service again"


@dataclass(eq=False)
class DifferentCopyError(RefusedError):
    """A comparison found that the copy is not what the source holds, or could not tell."""

    link: str
    verdict: str
    why: str

    _message = "link {link}: the comparison says {verdict}{why}"
    _hint = "look at it: `anabranch verify show {link}`"


async def _wanted() -> str:
    return ""


@dataclass(frozen=True, slots=True)
class ServiceMigrationDesk:
    """``launching`` starts jobs in the name of ``account``; ``hooks`` are commands by name, with their arguments.

    ``unwanted`` says why what is under way is to be taken back.
    """

    launching: Launching
    route_desk: ServiceDesk
    hooks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    account: str = ""
    unwanted: Unwanted = _wanted

    async def run_link(self, target: str, link: str) -> None:
        """Have a link run; one that runs is left alone.  Raises NotYetError, JobFailedError, ClusterError."""
        cluster = self.launching.clusters.cluster(target)
        try:
            planned = await link_run.plan(cluster, link, self.launching.jobs.master)
        except LinkRunsError:
            return
        if await self.launching.processes.running(RunKind.LINK, target, link):
            raise NotYetError(f"link {link}: its job is being started")
        try:
            await self.launching.link(target, planned, self.account)
        except LinkRunsError as error:
            raise NotYetError(f"link {link}: its job is being started") from error

    async def stop_link(self, target: str, link: str) -> None:
        """Have no run of a link be there; one that is not stored has none.  Raises NotYetError, ClusterError."""
        cluster = self.launching.clusters.cluster(target)
        with suppress(UnknownLinkError):
            try:
                await link_stop.apply(cluster, await link_stop.plan(cluster, link, STOP_S))
            except StillRunningError as error:
                raise NotYetError(error.message) from error

    async def verify(self, target: str, link: str, since_ms: int) -> str:
        """Compare all that a link has copied; raises NotYetError while it is under way, DifferentCopyError."""
        source, cluster = await self.launching.clusters.pair(target, link)
        found: VerifyStatus | None = None
        with suppress(NeverVerifiedError):
            found = await verify_show.show(cluster, link)
        if found is not None and (found.running or await self._lives(found, target, link)):
            done, of = found.run.done, found.run.offsets
            raise NotYetError(f"link {link}: {done:,} of {of:,} offsets are compared, {found.run.differing:,} differ")
        if found is not None and found.run.started_at_ms >= since_ms:
            return _verdict(link, found)
        begun = await self.launching.processes.begun(RunKind.VERIFY, target, link, since_ms)
        if begun is not None and begun.ended_at is not None:
            why, _ = last_error(Path(begun.log), begun.exit_code)
            raise DifferentCopyError(link, "nothing", f": its job has ended: {why}")
        if begun is None:
            jobs, context = self.launching.jobs, self.launching.clusters.context
            directory = jobs.directory / "verify" / link
            job = ReaderJob(context(source.name), context(target), jobs.reader_master, directory, jobs.settings, True)
            planned = await verify_start.plan(source, cluster, link)
            if planned.doubts and now_ms() - since_ms < BEGINS_MS:
                lane, why = min(planned.doubts.items())
                raise NotYetError(f"link {link}: {lane}: {why}")
            started = await verify_start.apply(cluster, planned, job)
            await self.launching.processes.launched(RunKind.VERIFY, target, link, self.account, started.job)
        raise NotYetError(f"link {link}: the comparison is being started")

    async def _lives(self, found: VerifyStatus, target: str, link: str) -> bool:
        """Whether a comparison that has long told nothing still has its job: a machine may have too much to do."""
        runs = found.run.state is RunState.RUNNING
        return runs and await self.launching.processes.running(RunKind.VERIFY, target, link)

    async def hold(self, leg: Leg, run: WaveRun) -> None:
        """Have those of the SDK's clients pause that a run leads; raises NotYetError until all have, HoldLostError."""
        since = run.held_since_ms
        deadline = None if run.longest_ms is None or since is None else since + run.longest_ms
        await self._routes.hold(leg, run.part, run.id, deadline, is_lost=run.goes_without)

    async def handed(self, leg: Leg, run: WaveRun) -> Mapping[str, Mapping[str, int]]:
        """Up to where those that paused have read: by group, and TOPIC-PARTITION on the cluster that is left."""
        del leg
        return await self._routes.handed(run.id)

    async def groups_led(self, leg: Leg) -> frozenset[str]:
        """The groups of the SDK's clients of a wave's codes that are there now."""
        return await self._routes.groups_led(leg)

    async def bind(self, leg: Leg, run: WaveRun) -> None:
        """Have those that paused stay so until they are led; raises HoldLostError."""
        await self._routes.bind(leg, run.id)

    async def let_go(self, leg: Leg, run: WaveRun) -> None:
        """Have those that paused go on where they were."""
        await self._routes.let_go(leg, run.id)

    async def against(self, leg: Leg, part: Part) -> tuple[Reason, ...]:
        """Hooks that the service does not have, and why codes could not be led; raises ClusterError."""
        hooks = leg.wave.hooks
        wanted = [hooks.fence] if part is not Part.CONSUMERS and FenceKind.HOOK in leg.wave.fences else []
        missing = [UnknownHookError(name) for name in (*wanted, hooks.release) if name and name not in self.hooks]
        found = [Reason.found(Severity.ERROR, one.message, one.hint) for one in missing]
        return (*found, *(await against(self.route_desk, leg, part) if leg.wave.codes else ()))

    async def lead(self, leg: Leg, part: Part, run: WaveRun) -> None:
        """Publish that the applications of a wave's codes are led to the end of a leg; raises NotYetError until so."""
        await self._routes.lead(leg, part, run.id, is_lost=run.goes_without or bool(run.lost))

    @property
    def _routes(self) -> MigrationRoutes:
        return MigrationRoutes(replace(self.route_desk, author=self.account))

    async def hook(self, name: str, leg: Leg, at: str) -> None:
        """Run a hook, until its run is given up or holds applications up for too long.

        Raises UnknownHookError, HookFailedError.
        """
        command = self.hooks.get(name)
        if command is None:
            raise UnknownHookError(name)
        told = {
            "ANABRANCH_MIGRATION": leg.migration.name,
            "ANABRANCH_WAVE": leg.wave.name,
            "ANABRANCH_FROM": leg.here,
            "ANABRANCH_TO": leg.there,
            "ANABRANCH_AT": at,
        }
        await run_hook(name, command, told, self.unwanted)


def _findings(report: Mapping[str, Any]) -> Iterator[str]:
    """What a report tells beside its verdict: how many records of each kind that differs, and what was not compared."""
    differences = {kind.word for kind in FindingKind if kind.is_difference}
    yield from (f"{count:,} {kind}" for kind, count in report["counts"].items() if count and kind in differences)
    left = report["not_compared"]
    yield from (f"{one['lane']} was not compared: {one['reason']}" for one in left[:_NAMED])
    if len(left) > _NAMED:
        yield f"{counted(len(left) - _NAMED, 'more lane')} not compared"


def _verdict(link: str, found: VerifyStatus) -> str:
    """The comparison's id, if it found both sides equal; raises DifferentCopyError."""
    report = found.own_report
    if report is None:
        why = "its job is gone, and has not told how it ended" if found.run.state is RunState.RUNNING else found.run.why
        raise DifferentCopyError(link, "nothing", f": {why}" if why else "")
    verdict = ComparisonVerdict(report["verdict"])
    if verdict is not ComparisonVerdict.EQUAL:
        raise DifferentCopyError(link, verdict.value, "".join(f"; {one}" for one in _findings(report)))
    return found.run.run
