"""What of a migration needs the word of a second person, where its file names approvers.

It is what leads applications, and what cannot be taken back: that a wave stays where it is, or that records are
appended, or topics deleted.  So does another list of approvers: else one person could do without the others.
"""

from __future__ import annotations

from anabranch.migration.options import TailChoice
from anabranch.migration.run import WaveRun
from anabranch.migration.spec import Migration
from anabranch.migration.standing import LEADS, WaveVerb
from anabranch.migration.steps import StepKind
from anabranch.service.reach import Reach
from anabranch.service.verbs.migration_shapes import NotApprovedError


def needs_approval(run: WaveRun) -> bool:
    """Whether one of the approvers has to apply a run that somebody else has planned."""
    if WaveVerb(run.what) in (*LEADS, WaveVerb.COMPLETE):
        return True
    return any(
        step.kind is StepKind.PURGE or (step.kind, step.subject) == (StepKind.FIND_TAIL, TailChoice.APPEND.value)
        for step in run.steps
    )


def changes_approvers(before: Migration, after: Migration) -> bool:
    """Whether another file would let others approve, or nobody; where there were none anybody may name some."""
    return bool(before.approvers) and set(before.approvers) != set(after.approvers)


def check_approved(reach: Reach, migration: Migration) -> None:
    """Raise NotApprovedError unless an approver applies what somebody else has planned; none need to be named."""
    if not migration.approvers:
        return
    is_author = reach.account == reach.planned_by
    if is_author or reach.account not in migration.approvers:
        raise NotApprovedError(migration.name, reach.account, migration.approvers, is_author)
