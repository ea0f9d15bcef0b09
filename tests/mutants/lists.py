"""All mutants, by what they break."""

from __future__ import annotations

from tests.mutants import (
    checkpoints,
    copying,
    drawn,
    formats,
    groups,
    migrations,
    offsets,
    routes,
    sinks,
    stores,
    surface,
    verify,
)
from tests.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *copying.MUTANTS,
    *formats.MUTANTS,
    *offsets.MUTANTS,
    *groups.MUTANTS,
    *checkpoints.MUTANTS,
    *migrations.MUTANTS,
    *routes.MUTANTS,
    *stores.MUTANTS,
    *sinks.MUTANTS,
    *verify.MUTANTS,
    *surface.MUTANTS,
    *drawn.MUTANTS,
)
