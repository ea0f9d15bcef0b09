"""Every verb that the service offers, a module a noun."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.service.verb import Verb
from anabranch.service.verbs import checkpoints, groups, links, mirrormaker, verify

VERBS: Mapping[str, Verb[Any, Any]] = {
    verb.name: verb for verb in (*links.VERBS, *groups.VERBS, *mirrormaker.VERBS, *verify.VERBS, *checkpoints.VERBS)
}
"""By their names."""
