"""What all plans of a change share: one kind of hash, and one refusal where a plan no longer holds.

A plan is data, made without effects.  Its hash covers what it rests on and nothing that moves by itself, so that the
same look a minute later has the same hash unless something that matters changed.  Applying looks again, and refuses
another hash before anything is done.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Protocol

from anabranch.errors import RefusedError

HASH_DIGITS = 16
REQUEST = {"request": True}
"""Metadata of a plan's field that only ``apply`` needs, to look again: it is not written out with the plan."""


class Plan(Protocol):
    """A change as data."""

    @property
    def hash(self) -> str:
        """``HASH_DIGITS`` hexadecimal digits of what the plan rests on."""
        ...


@dataclass(eq=False)
class PlanChangedError(RefusedError):
    """A plan that was shown no longer holds; ``again`` is the command that shows the one of now.

    ``now`` is empty where ``what`` itself was found to be another, and nobody planned again.
    """

    what: str
    planned: str
    now: str
    again: str = ""

    @property
    def message(self) -> str:
        told = f"{self.what} changed since plan {self.planned}"
        return f"{told}: it would be plan {self.now} now" if self.now else told

    @property
    def hint(self) -> str:
        return f"look again: `{self.again}`" if self.again else ""


def plan_hash(*seen: object) -> str:
    """The hash of JSON values that a plan rests on; the same wherever it is computed."""
    text = json.dumps(seen, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS]


def check_holds(what: str, planned: Plan, now: Plan, again: str = "") -> None:
    """Raise PlanChangedError where the plan of now is another one."""
    if planned.hash != now.hash:
        raise PlanChangedError(what, planned.hash, now.hash, again)
