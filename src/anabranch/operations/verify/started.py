"""A comparison that was started: followed to its end, which it is told of on the target wherever its job could not."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from anabranch.errors import ClusterError
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import passing
from anabranch.operations.jobs.outcome import JobFailedError, how_it_ended, last_error
from anabranch.operations.jobs.startedjob import END_S, StartedJob
from anabranch.operations.verify.ending import conclude
from anabranch.operations.verify.show import LOOK_S, TellStatus, nobody, show
from anabranch.state.codecs.verified import NeverVerifiedError, RunState, VerifyStatus
from anabranch.verify.report import ComparisonVerdict

COULD_NOT_TELL = ComparisonVerdict.UNKNOWN.exit_code


@dataclass(eq=False)
class NoComparisonError(JobFailedError):
    """A comparison ended, or was killed, without a report; 0 and 1 are verdicts, and never its exit code."""

    exit_code: ClassVar[int] = COULD_NOT_TELL

    def __post_init__(self) -> None:
        vars(self)["exit_code"] = max(self.code or 0, COULD_NOT_TELL)


@dataclass(frozen=True, slots=True)
class StartedComparison:
    """A comparison of a link, and its job; ``directory`` gets its specification, log, report and page."""

    link: str
    directory: Path
    job: StartedJob

    @property
    def run(self) -> str:
        """Its name."""
        return self.job.run

    async def ended(self, target: Cluster, tell: TellStatus = nobody, look_s: float = LOOK_S) -> VerifyStatus:
        """Follow it until it has a report, and return its status with that; ``tell`` hears what each look finds.

        A job that is killed is told of on the target, so that the comparison can be resumed at once.  Raises
        NoComparisonError, ClusterError.  A target that is away for a while is no end: the job may reach it again.
        """
        found = await self._followed(target, tell, look_s)
        if found is not None and found.own_report is not None:
            return found
        # The job may have persisted its failure, and be about to end, or hang as it does.
        code = await self.job.ended_within(END_S)
        if code is not None:
            with suppress(ClusterError):
                found = await conclude(target, self.link, self.run, how_it_ended(code)) or found
        if found is not None and found.own_report is not None:
            return found
        raise self._failed(found, code)

    async def _followed(self, target: Cluster, tell: TellStatus, look_s: float) -> VerifyStatus | None:
        """What is known as its end is told, or its process is gone; None where it has told nothing."""
        while True:
            code = self.job.code  # before the look, which finds what it told before its end
            found = await self._look(target)
            if code is not None or (found is not None and found.run.state is not RunState.RUNNING):
                return found
            if found is not None:
                await tell(found)
            await self.job.ended_within(look_s)

    async def _look(self, target: Cluster) -> VerifyStatus | None:
        """Its status; None as long as the last comparison of the link is an earlier one, or the target is away."""
        try:
            found = await show(target, self.link)
        except NeverVerifiedError:
            return None
        except ClusterError as error:
            if not passing(error):
                raise
            return None
        return found if found.run.run == self.run else None

    def _failed(self, found: VerifyStatus | None, code: int | None) -> NoComparisonError:
        """Why there is no report: in the job's own words, where it has some."""
        why, fix = last_error(self.job.log, code)
        if found is not None and found.run.state is RunState.FAILED and found.run.why != how_it_ended(code):
            why = found.run.why or why
        fix = fix or f"read {self.job.log}; then: anabranch verify resume {self.link}"
        return NoComparisonError(f"{self.run} made no comparison", code, why, fix)
