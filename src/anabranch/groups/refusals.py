"""Why a group is not moved: because of its kind, or because it is active."""

from __future__ import annotations

from anabranch.model.groups import Group, GroupKind
from anabranch.model.reasons import Reason, ReasonKind

_ADVICE = {
    GroupKind.SHARE: (
        "a share group keeps a state for each record, which no offset can express",
        "drain it on the source, then `kafka-share-groups --reset-offsets` on the target where its records begin",
    ),
    GroupKind.STREAMS: (
        "a Streams application's position is its offsets and its changelogs together",
        "copy its internal topics through the link too, stop it, and start it on the target with the same "
        "application.id; or reset it there by `kafka-streams-application-reset`",
    ),
    GroupKind.CONNECT: (
        "Connect workers keep offsets and configurations in topics of their own",
        "stop the connector, read `GET /connectors/NAME/offsets`, and set the translated ones on the other Connect "
        "cluster by `PATCH`; `anabranch offsets translate` translates them",
    ),
    GroupKind.SCHEMAS: (
        "a schema registry reads all of _schemas again at each start",
        "copy _schemas through the link with equal offsets, and start the registry on the target",
    ),
}


def kind_refusal(group: Group, cluster: str) -> Reason | None:
    """Why a group of this kind is not moved, with advice; None for kinds whose position is their commits alone."""
    if group.kind.is_movable:
        return None
    what, fix = _ADVICE[group.kind]
    return Reason(ReasonKind.KIND, f"{group.name} is a {group.kind.value} group on the {cluster}: {what}", fix)


def active_refusal(group: Group | None) -> Reason | None:
    """Why a group that is active on the target is not moved; None if it is inactive."""
    if group is None or not (group.state.is_active or group.members):
        return None
    number = "1 member" if len(group.members) == 1 else f"{len(group.members):,} members"
    return Reason(
        ReasonKind.ACTIVE,
        f"{group.name} is {group.state.value} on the target, with {number}: only its members may commit",
        "stop the consumers that read on the target",
    )
