"""Access rules and quotas of a migration's waves: carried over to the target, as ``anabranch migrate access`` does."""

from __future__ import annotations

from typing import Any

from anabranch.migration.check import check_sound
from anabranch.model.accounts import Role
from anabranch.operations.migrations import access
from anabranch.operations.migrations.access import AccessPlan, AccessReport
from anabranch.service.reach import Reach
from anabranch.service.verb import Verb
from anabranch.service.verbs.migration_known import FILE, both_clusters, file_subject, files
from anabranch.service.verbs.migration_shapes import FileRequest
from anabranch.service.words import command


async def _plan(reach: Reach, request: FileRequest) -> AccessPlan:
    wanted = request.wanted()
    check_sound(wanted)
    return await access.plan(*both_clusters(reach, wanted), wanted)


async def _apply(reach: Reach, _: FileRequest, planned: AccessPlan) -> AccessReport:
    return await access.apply(*both_clusters(reach, planned.request), planned)


VERBS: tuple[Verb[Any, Any], ...] = (
    Verb(
        "migrations.access",
        "Carry access rules and quotas of waves that are not switched yet over to the target",
        Role.APPROVER,
        FileRequest,
        AccessPlan,
        AccessReport,
        file_subject,
        lambda _: command("migrate", "access", options=[("--file", FILE)]),
        _plan,
        _apply,
        files=files,
    ),
)
