"""Seeds: the same in every run of CI, new ones in ``make full``; and what the machine did not let come about.

``ANABRANCH_SEEDS`` says which.  Without it each test has its fixed seed.  With ``new`` a number is drawn for the whole
run, and every seed follows from it and from the fixed one.  With that number, which a failed test and the run's summary
print, they are the same again: ``ANABRANCH_SEEDS=NUMBER python -m pytest FILE::TEST``, whatever ran before the test.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import settings

from qa.inconclusive import InconclusiveError

_VARIABLE = "ANABRANCH_SEEDS"


def number_of_run() -> int | None:
    """What the seeds of this run follow from; None where they are the fixed ones."""
    said = os.environ.get(_VARIABLE, "")
    if said == "new":
        said = str(random.SystemRandom().randrange(1, 1 << 31))
        # Workers of this run, and what they start, have the same.
        os.environ[_VARIABLE] = said
    return int(said) if said else None


NUMBER = number_of_run()
ARE_NEW = NUMBER is not None
SHARE = 1 if ARE_NEW else 8
"""Of the examples that a law is tried on with new seeds, CI tries one in so many, always the same."""
T = TypeVar("T")


def examples(count: int, **more: Any) -> settings:
    """Settings of hypothesis for a law that is worth ``count`` examples with new seeds."""
    return settings(max_examples=max(10, count // SHARE), deadline=None, **more)


def derived(number: int, fixed: int) -> int:
    """The seed of a run of this number, where CI has the fixed one."""
    return random.Random(f"{number} {fixed}").randrange(1, 1 << 31)


def seed(fixed: int, *, is_chosen: bool = False) -> int:
    """A test's seed; a new one is printed, beside what programs that tests begin answer on their standard output.

    One that was chosen since it leads where the test looks is never new.
    """
    if NUMBER is None or is_chosen:
        return fixed
    drawn = derived(NUMBER, fixed)
    print(f"seed {drawn} (in CI: {fixed}), again with {_VARIABLE}={NUMBER}", file=sys.stderr)
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
