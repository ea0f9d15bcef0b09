"""The bytes of a rewrite: whole new files, in the order in which they are to be written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anabranch.checkpoints.spark.compose import Composed
from anabranch.checkpoints.spark.contents import Contents, LoggedBatch, initial_path
from anabranch.checkpoints.spark.initial import new_initial_file
from anabranch.checkpoints.spark.local_crc import crc_of, crc_path
from anabranch.checkpoints.spark.restart import STARTS, stored
from anabranch.checkpoints.spark.shape import Line, SourceShape, twins_of


@dataclass(frozen=True, slots=True)
class NewLine:
    """A source of the rewritten query: where it starts, where an uncommitted batch of it ends, and the rest."""

    line: Line
    start: Composed | None
    end: Composed | None
    previous: Composed | None
    initial: Composed | None


def writes(contents: Contents, shape: SourceShape, lines: tuple[NewLine, ...]) -> Iterator[tuple[str, bytes | None]]:
    """The files that change: beginnings, the file before the last, the last, and then all checksums.

    A restart begins on the old cluster until the last file is written; a rewrite that breaks off leaves a file whose
    checksum is of other bytes, which is a refusal of the next one.
    """
    files: dict[str, bytes | None] = dict(_initial_files(contents, shape, lines))
    if contents.previous is not None:
        files[contents.previous.path] = _previous_file(contents, contents.previous, lines)
    if contents.last is not None:
        files[contents.last.path] = _last_file(contents, contents.last, lines)
    changed = {path: content for path, content in files.items() if content != _old(contents, path)}
    yield from changed.items()
    for path, content in changed.items():
        if path in contents.checksummed:
            yield crc_path(path), None if content is None else crc_of(content)


def _old(contents: Contents, path: str) -> bytes | None:
    for batch in (contents.last, contents.previous):
        if batch is not None and batch.path == path:
            return batch.file.emit()
    for directory, initial in contents.initials.items():
        if initial_path(directory) == path:
            return initial.emit()
    return None


def _last_file(contents: Contents, last: LoggedBatch, lines: tuple[NewLine, ...]) -> bytes:
    """offsets/L: where the next batch begins, or where the one that was not committed ends."""
    texts = []
    for new in lines:
        source = last.file.by_id[new.line.parts[0].source]
        composed = new.start if contents.uncommitted is None else new.end
        changed = source.kafka is not None and composed is not None and not composed.unchanged
        texts.append((new.line.source, composed.text if changed and composed is not None else source.text))
    return last.file.emit(texts)


def _previous_file(contents: Contents, previous: LoggedBatch, lines: tuple[NewLine, ...]) -> bytes:
    """The file before: where the batch that was not committed begins, else what it says as far as it is known."""
    texts = []
    by_id = previous.file.by_id
    last = contents.last.file.by_id if contents.last is not None else {}
    same = list(by_id) == list(last)
    for new in lines:
        first = new.line.parts[0].source
        source = by_id.get(first) if same else None
        composed = new.previous if contents.uncommitted is None else new.start
        if source is None:
            # The file before has other sources: a rewrite changed them, and nothing depends on it any more.
            composed = new.start
            text = last[first].text if composed is None or composed.unchanged else composed.text
        elif source.kafka is None or composed is None or composed.unchanged:
            text = source.text
        else:
            text = composed.text
        texts.append((new.line.source, text))
    if not same and all(new.start is None or new.start.unchanged for new in lines):
        return previous.file.emit()
    return previous.file.emit(texts)


def _initial_files(
    contents: Contents, shape: SourceShape, lines: tuple[NewLine, ...]
) -> Iterator[tuple[str, bytes | None]]:
    """sources/<i or name>/0 of every Kafka source that has one."""
    if not contents.initials:
        return
    written = set()
    if not shape.changed or not twins_of(contents):
        for new in lines:
            composed = new.initial
            if composed is None and new.start is not None and _starts_at_initial(contents, new.line):
                composed = new.start
            directory = new.line.source if shape.changed else contents.directories.get(new.line.source)
            if composed is None or directory is None:
                continue
            written.add(directory)
            old = contents.initials.get(directory)
            if old is None:
                yield initial_path(directory), new_initial_file(composed.text)
            elif shape.changed or not composed.unchanged:
                yield initial_path(directory), old.emit(composed.text)
    if shape.changed:
        for directory in contents.initials.keys() - written:
            yield initial_path(directory), None


def _starts_at_initial(contents: Contents, line: Line) -> bool:
    return any(
        each.source == line.parts[0].source and each.role in STARTS and each.path.startswith("sources/")
        for each in stored(contents)
    )
