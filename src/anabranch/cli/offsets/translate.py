"""``anabranch offsets translate``: the offset on the other cluster at which a reader resumes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from anabranch.cli.completing import link_partitions, source_groups
from anabranch.cli.offsets import render as render_offsets
from anabranch.cli.options import LinkArgument, TargetOption
from anabranch.cli.output import Format, FormatOption, emit
from anabranch.cli.running import on_both, on_target, run
from anabranch.config import offsets_file
from anabranch.errors import InvalidFieldError, RefusedError
from anabranch.model.link import LinkSpec
from anabranch.model.positions import Translation
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

    _hint = "each of those answers says why; what was not copied yet has an answer later"


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
    """Translate offsets of the source to the target; what is not exact is refused with its reason.

    Translates the offsets that are given, those of an offsets file (docs/reference/offsets-file.md), or all that a
    group has committed. --out writes a file only if all answers are exact. See docs/how-to/translate-offsets.md.
    """
    if sum((bool(offsets), group is not None, file is not None)) != 1:
        fix = f"anabranch offsets translate {link} orders-0:1234"
        raise InvalidFieldError("offsets translate", "OFFSET", "give offsets, or --group, or --file: one of them", fix)
    if records and group is not None:
        fix = "leave --records away: a commit is the next offset to read"
        raise InvalidFieldError("offsets translate", "--records", "commits are positions, not records", fix)
    if group is not None:
        asking = _of_group(ctx, link, group, reverse, target_name)
    else:
        asking = _of_offsets(ctx, link, offsets or (), file, reverse, records, target_name)
    found = run(asking)
    emit(found, render_offsets.translation(found), output)
    if found.refused:
        raise NotAllExactError(found.refused, len(found.answers), "" if out is None else str(out))
    if out is not None:
        offsets_file.save(out, found.offsets, found.cluster)
        typer.echo(f"{len(found.offsets):,} offsets are in {out}", err=True)


async def _of_group(ctx: typer.Context, link: str, group: str, reverse: bool, target_name: str | None) -> Translation:
    from anabranch.operations.offsets import translate as operation

    async with on_both(ctx, link, target_name) as (source, target):
        return await operation.translate_group(source, target, link, group, reverse=reverse)


async def _of_offsets(
    ctx: typer.Context,
    link: str,
    offsets: Sequence[str],
    file: Path | None,
    reverse: bool,
    records: bool,
    target_name: str | None,
) -> Translation:
    from anabranch.operations.links import show
    from anabranch.operations.offsets import translate as operation

    questions = [parse_offset(one) for one in offsets]
    async with on_target(ctx, target_name) as target:
        if file is not None:
            named = offsets_file.cluster_of(file)
            if named is not None:
                _check_side((await show.show(target, link)).spec, file, named, reverse)
            questions = list(offsets_file.load(file).items())
        return await operation.translate(target, link, questions, reverse=reverse, records=records)


def _check_side(spec: LinkSpec, file: Path, named: str, reverse: bool) -> None:
    """Refuse a file that names the link's other cluster: its offsets would be translated the wrong way."""
    asked, other = (spec.target, spec.source) if reverse else (spec.source, spec.target)
    if named == other.context != asked.context:
        problem = f"its offsets are those of {named}, and this translates offsets of {asked.context}"
        fix = "leave --reverse away" if reverse else "add --reverse"
        raise InvalidFieldError(str(file), "cluster", problem, f"{fix}, or correct the file's cluster")
