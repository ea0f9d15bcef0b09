"""A break: one piece of one file, and what stands there instead."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Mutant:
    """``old`` occurs exactly once in ``file`` (below ``src/anabranch``); ``why`` says what goes wrong with ``new``.

    ``survives`` is the reason why no test without processes can find it, for the few of which that is so.
    """

    name: str
    file: str
    old: str
    new: str
    why: str
    survives: str = ""

    @property
    def package(self) -> str:
        """The package below ``anabranch`` that it breaks."""
        return self.file.split("/")[0]


class StaleMutantError(ValueError):
    """A mutant does not fit the code any more."""


def broken(mutant: Mutant, source: Path) -> str:
    """The text of the mutant's file with the break in it; raises StaleMutantError."""
    text = (source / "anabranch" / mutant.file).read_text(encoding="utf-8")
    if (count := text.count(mutant.old)) != 1:
        raise StaleMutantError(f"mutant {mutant.name}: its piece occurs {count} times in {mutant.file}, not once")
    return text.replace(mutant.old, mutant.new)
