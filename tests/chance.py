"""Seeds: the same in every run of CI, new ones in ``make full``; and what the machine did not let come about."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import settings

from qa.inconclusive import InconclusiveError

ARE_NEW = os.environ.get("ANABRANCH_SEEDS") == "new"
SHARE = 1 if ARE_NEW else 8
"""Of the examples that a law is tried on with new seeds, CI tries one in so many, always the same."""
T = TypeVar("T")


def examples(count: int, **more: Any) -> settings:
    """Settings of hypothesis for a law that is worth ``count`` examples with new seeds."""
    return settings(max_examples=max(10, count // SHARE), deadline=None, **more)


def seed(fixed: int) -> int:
    """A test's seed; a new one is printed, so that a failure is reproduced by writing it here."""
    if not ARE_NEW:
        return fixed
    drawn = random.SystemRandom().randrange(1, 1 << 31)
    print(f"seed {drawn} (in CI: {fixed})")
    return drawn


def is_full(config: pytest.Config) -> bool:
    """Whether every version and kind may be asked for, so that a fixture begins them all."""
    return config.getoption("--only-tier") in {None, "full"} and config.getoption("--tier") == "full"


def conclusive(attempt: Callable[[int], T], tries: int = 3) -> T:
    """What an attempt comes to; tried again, with the number of the attempt, where the machine did not do its part.

    A test whose faults never struck says nothing of the product: after the last attempt it is skipped as inconclusive,
    which the run's summary names.
    """
    reasons = []
    for number in range(tries):
        try:
            return attempt(number)
        except InconclusiveError as error:
            reasons.append(error.reason)
    pytest.skip(f"INCONCLUSIVE {tries} times: {'; '.join(reasons)}")
