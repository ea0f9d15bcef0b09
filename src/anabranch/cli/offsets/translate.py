"""``anabranch offsets translate``: where on the other side a reader goes on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from anabranch.cli import port
from anabranch.cli.completing import link_partitions, source_groups
from anabranch.cli.offsets import render as render_offsets
from anabranch.cli.options import LinkArgument, TargetOption, contexts, target
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.config import offsets_file
from anabranch.errors import InvalidFieldError, RefusedError
from anabranch.model.cluster import ClusterContext
from anabranch.model.start import parse_offset


@dataclass(eq=False)
class NotAllExactError(RefusedError):
    """Some of the answers are refusals; the exact ones were written all the same."""

    refused: int
    asked: int
    kept_from: str = ""

    exit_code: ClassVar[int] = 6

    @property
    def message(self) -> str:
        text = f"{self.refused:,} of {self.asked:,} offsets have no exact answer"
        return f"{text}; {self.kept_from} was not written" if self.kept_from else text

    @property
    def hint(self) -> str:
        return "each of those answers says why; what was not copied yet has an answer later"


def translate(
    ctx: typer.Context,
    link: LinkArgument,
    offsets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TOPIC-PARTITION:OFFSET",
            help="Next offsets to read.",
            autocompletion=link_partitions,
            show_default=False,
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(help="What this group has committed.", autocompletion=source_groups, show_default=False),
    ] = None,
    file: Annotated[Path | None, typer.Option("-f", "--file", help="Offsets file to translate.")] = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="From the target to the source.")] = False,
    records: Annotated[
        bool, typer.Option("--records", help="Ask for the very records, not for where a reader goes on.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the answers as an offsets file, if all are exact.")
    ] = None,
    target_name: TargetOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Translate offsets of the source to the target; what is not exact is refused with its reason."""
    if sum((bool(offsets), group is not None, file is not None)) != 1:
        fix = f"anabranch offsets translate {link} orders-0:1234"
        raise InvalidFieldError("offsets translate", "OFFSET", "give offsets, or --group, or --file: one of them", fix)
    if records and group is not None:
        fix = "leave --records away: a commit is the next offset to read"
        raise InvalidFieldError("offsets translate", "--records", "commits are positions, not records", fix)
    cluster = target(ctx, target_name)
    if group is not None:
        source = contexts(ctx).get(port.links().show(cluster, link).spec.source.context)
        found = port.offsets().translate_group(source, cluster, link, group, reverse=reverse)
    else:
        questions = [parse_offset(one) for one in offsets or ()]
        if file is not None:
            _right_side(cluster, link, file, reverse)
            questions = list(offsets_file.load(file).items())
        found = port.offsets().translate(cluster, link, questions, reverse=reverse, records=records)
    emit(found, render_offsets.translation(found), output)
    if found.refused:
        raise NotAllExactError(found.refused, len(found.answers), "" if out is None else str(out))
    if out is not None:
        offsets_file.save(out, found.offsets, found.cluster)
        typer.echo(f"{len(found.offsets):,} offsets are in {out}", err=True)


def _right_side(cluster: ClusterContext, link: str, file: Path, reverse: bool) -> None:
    """Refuse a file that names the link's other cluster: its offsets would lead somewhere, and not where they lie."""
    named = offsets_file.cluster_of(file)
    if named is None:
        return
    spec = port.links().show(cluster, link).spec
    asked, other = (spec.target, spec.source) if reverse else (spec.source, spec.target)
    if named == other.context != asked.context:
        problem = f"its offsets are those of {named}, and this translates offsets of {asked.context}"
        fix = "leave --reverse away" if reverse else "add --reverse"
        raise InvalidFieldError(str(file), "cluster", problem, f"{fix}, or correct the file's cluster")
