"""Every verb that the service offers, a module a noun."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from anabranch.service.verb import Verb
from anabranch.service.verbs import (
    artifacts,
    catalog,
    checkpoints,
    groups,
    links,
    migrations,
    mirrormaker,
    offsets,
    routes,
    streams,
    verify,
)
from anabranch.store.works import NoPlanError, PlanNote

_NOUNS = (links, groups, mirrormaker, verify, offsets, checkpoints, routes, migrations, streams, artifacts, catalog)
VERBS: Mapping[str, Verb[Any, Any]] = {verb.name: verb for noun in _NOUNS for verb in noun.VERBS}
"""By their names."""


def asked(shown: PlanNote) -> tuple[Verb[Any, Any], Any]:
    """The verb of a plan and its request; raises NoPlanError for one of a version that had other verbs."""
    verb = VERBS.get(shown.verb)
    if verb is None:
        raise NoPlanError(shown.id)
    # Read as JSON, as it was when it was asked: a number may be a key there.
    return verb, verb.request.model_validate_json(json.dumps(shown.request))
