"""What the machine, and not the product, failed to do: a fault or a speculative attempt that never happened."""

from __future__ import annotations

from dataclasses import dataclass

EXIT_CODE = 3
"""Of a program that found nothing wrong, but not all of whose faults struck."""


@dataclass(eq=False)
class InconclusiveError(Exception):
    """Nothing can be said of the product: what was to happen to it did not happen."""

    reason: str

    def __str__(self) -> str:
        return self.reason
