"""What a person wants of a migration's copying, as it is kept, and the links that are slowed down for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.migration.kept import OPERATOR, StoredRun
from anabranch.migration.spec import Migration
from anabranch.migration.standing import WaveState, WaveVerb
from anabranch.migration.throttle import OperatorThrottle
from anabranch.operations.migrations.known import standings


def wish_of(wave: str | None) -> str:
    """The part of a migration's throttle that says what a person wants of all of it, or of a wave."""
    return OPERATOR if wave is None else f"{OPERATOR}:{wave}"


def operator_in(throttle: Mapping[str, Any], wave: str | None = None) -> OperatorThrottle:
    """What a person wants of a migration's copying, or of a wave's."""
    wish = throttle.get(wish_of(wave)) or {}
    return OperatorThrottle(
        wish.get("rate"), wish.get("is_paused", False), wish.get("since_ms"), wish.get("longest_ms")
    )


def copying_links(migration: Migration, runs: Sequence[StoredRun]) -> dict[str, str]:
    """The links that read the source, each with its wave.

    They are those of waves whose applications are there, once they are being started.  And that of a wave that was
    switched without its source, while the two are reconciled: what slowed it down as the source was lost would hold it
    back for ever otherwise.  One that was led back without its target has none.
    """
    found = {}
    for stands in standings(migration, runs).values():
        begins = stands.open is not None and stands.open.what == WaveVerb.START.value
        is_over = stands.state is WaveState.COMPLETED or (stands.state is WaveState.PLANNED and not begins)
        if not stands.leg.leads_back and not is_over and stands.lost is None:
            found[stands.leg.link] = stands.wave.name
        elif stands.open is not None and stands.open.what == WaveVerb.RECONCILE.value:
            found[stands.leg.at(stands.open.leg).link] = stands.wave.name
    return found
