"""What a change of a table's columns breaks for those who read it, or for what was written before.

Invariants
    G2  a table that keeps its columns breaks nothing, and neither does one that has a nullable column more.
    G3  every column that readers could use and no longer find, or no longer read as they did, is named.
"""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.model.reasons import Reason, Severity
from anabranch.streams.sqltypes import Field, is_wider, read_column, text_of
from anabranch.streams.tables import Column


def breaks(before: Sequence[Column], after: Sequence[Column]) -> tuple[Reason, ...]:
    """Errors where a reader of the table breaks, warnings where it may; raises TypeTextError.

    A table that does not say what its columns are breaks nothing that can be known.
    """
    if not before or not after:
        return ()
    old, new = _fields(before), _fields(after)
    found = [_broken(one, new.get(name)) for name, one in old.items()]
    found += [_added(one) for name, one in new.items() if name not in old]
    return tuple(reason for reason in found if reason is not None)


def _fields(columns: Sequence[Column]) -> dict[str, Field]:
    return {one.name.lower(): read_column(one.name, one.type) for one in columns}


def _broken(old: Field, new: Field | None) -> Reason | None:
    if new is None:
        return Reason.found(
            Severity.ERROR,
            f"column {old.name} goes: who reads it fails",
            "keep it until nobody reads it",
        )
    if not is_wider(new.type, old.type):
        return Reason.found(
            Severity.ERROR,
            f"column {old.name} was {text_of(old.type)} and would be {text_of(new.type)}, which does not hold what it "
            "held",
            "take a wider type, or add another column",
        )
    if old.nullable and not new.nullable:
        return Reason.found(
            Severity.ERROR,
            f"column {old.name} would be NOT NULL: records that have none are there already",
            "leave it nullable",
        )
    if new.nullable and not old.nullable:
        return Reason.found(Severity.WARNING, f"column {old.name} may be null from now on: readers may not expect that")
    if new.type != old.type:
        return Reason.found(
            Severity.WARNING,
            f"column {old.name} becomes {text_of(new.type)} from {text_of(old.type)}: a stream that keeps it in its "
            "state cannot go on from its checkpoint",
        )
    return None


def _added(new: Field) -> Reason | None:
    if new.nullable:
        return None
    return Reason.found(
        Severity.ERROR,
        f"column {new.name} is new and NOT NULL: records that have none are there already",
        "leave it nullable",
    )
