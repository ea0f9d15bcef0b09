"""Every verb that the service offers, a module a noun."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.service.verb import Verb
from anabranch.service.verbs import checkpoints, groups, links, mirrormaker, offsets, verify

_NOUNS = (links, groups, mirrormaker, verify, offsets, checkpoints)
VERBS: Mapping[str, Verb[Any, Any]] = {verb.name: verb for noun in _NOUNS for verb in noun.VERBS}
"""By their names."""
