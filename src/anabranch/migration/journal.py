"""The journal of a run of steps as JSON values, as a store keeps it.

Invariant: ``run_of(run_fields(run)) == run``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.migration.ends import End
from anabranch.migration.run import WaveRun, WaveRunState, key_of
from anabranch.migration.steps import MigrationStep, Part, StepKind

_CALLED = {
    "prove that the source is gone": StepKind.PROVE_LOST,
    "find groups without the source": StepKind.LOST_GROUPS,
    "translate checkpoints without the source": StepKind.LOST_CHECKPOINTS,
    "prove that the source is back": StepKind.PROVE_FOUND,
}
"""What some steps were called while only a source could be left as lost; journals of then are kept."""


def run_fields(run: WaveRun) -> dict[str, Any]:
    """A journal as JSON values."""
    return {
        "id": run.id,
        "migration": run.migration,
        "wave": run.wave,
        "what": run.what,
        "steps": [[step.kind.value, step.subject, step.text] for step in run.steps],
        "began_ms": run.began_ms,
        "longest_ms": run.longest_ms,
        "state": run.state.value,
        "at": run.at,
        "is_begun": run.is_begun,
        "results": {key: dict(result) for key, result in run.results.items()},
        "why": run.why,
        "part": run.part.value,
        "leg": run.leg,
        "times": list(run.times),
        "over_ms": run.over_ms,
        "owed": list(run.owed),
        "lost": run.lost,
        "lost_end": run.lost_end.value,
    }


def run_of(fields: Mapping[str, Any]) -> WaveRun:
    """The journal that ``run_fields`` has written."""
    return WaveRun(
        fields["id"],
        fields["migration"],
        fields["wave"],
        fields["what"],
        tuple(MigrationStep(_kind(kind), subject, text) for kind, subject, text in fields["steps"]),
        fields["began_ms"],
        fields["longest_ms"],
        WaveRunState(fields["state"]),
        fields["at"],
        fields["is_begun"],
        {_key(key): result for key, result in fields["results"].items()},
        fields["why"],
        Part(fields["part"]),
        fields["leg"],
        tuple(fields["times"]),
        fields["over_ms"],
        tuple(fields.get("owed", ())),
        fields.get("lost", ""),
        End(fields.get("lost_end", End.SOURCE.value)),
    )


def _kind(called: str) -> StepKind:
    return _CALLED[called] if called in _CALLED else StepKind(called)


def _key(called: str) -> str:
    kind, _, subject = called.partition(": ")
    return key_of(_CALLED[kind], subject) if kind in _CALLED else called
