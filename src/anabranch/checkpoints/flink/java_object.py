"""One object of Java's serialization, walked to its last byte: nothing is made of it, only its end is found.

The grammar is that of the Java Object Serialization Specification, chapter 6, as far as plain objects, enum constants
and strings go, which are all that a checkpoint's properties hold.
"""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.checkpoints.flink.reader import ByteReader

MAGIC = b"\xac\xed\x00\x05"
_NULL, _REFERENCE, _CLASS, _OBJECT, _STRING, _BLOCK, _END, _ENUM = 0x70, 0x71, 0x72, 0x73, 0x74, 0x77, 0x78, 0x7E
_KNOWN = "null, references, objects, enum constants and strings"
_FIRST_HANDLE = 0x7E0000
_WRITES_MORE, _SERIALIZABLE, _IS_ENUM = 0x01, 0x02, 0x10
_SIZES = {"B": 1, "C": 2, "D": 8, "F": 4, "I": 4, "J": 8, "S": 2, "Z": 1}
_MAX_DEPTH = 16


@dataclass(frozen=True, slots=True)
class _Class:
    """A class with the type codes of its own fields, and its superclass."""

    flags: int
    fields: str
    parent: _Class | None


def skip_object(reader: ByteReader) -> None:
    """Skip a stream of one object. Raises ``DamagedCheckpointError`` and ``UnknownVersionError``."""
    if reader.data[reader.at : min(reader.at + len(MAGIC), reader.end)] != MAGIC:
        reader.fail("a Java object does not begin as one")
    reader.skip(len(MAGIC))
    _Walk(reader).content(0)


class _Walk:
    def __init__(self, reader: ByteReader) -> None:
        self.reader = reader
        self.handles: list[_Class | None] = []
        """What can be referred to, in the order of the stream; None for all but classes."""

    def content(self, depth: int) -> None:
        reader, start = self.reader, self.reader.at
        if depth > _MAX_DEPTH:
            reader.fail("a Java object is nested too deep", start)
        kind = reader.u8()
        if kind == _NULL:
            return
        if kind == _REFERENCE:
            self._referred(start)
        elif kind == _STRING:
            self.handles.append(None)
            reader.utf()
        elif kind == _ENUM:
            self._class(depth + 1)
            self.handles.append(None)
            self._text(depth + 1)
        elif kind == _OBJECT:
            described = self._class(depth + 1)
            self.handles.append(None)
            self._fields(described, depth + 1)
        else:
            reader.unknown(f"the type {kind} of a Java object", _KNOWN, start)

    def _referred(self, start: int) -> _Class | None:
        at = self.reader.i32() - _FIRST_HANDLE
        if not 0 <= at < len(self.handles):
            self.reader.fail("a Java object refers to nothing", start)
        return self.handles[at]

    def _class(self, depth: int) -> _Class | None:
        """A class's description, or a reference to one; None for no class."""
        reader, start = self.reader, self.reader.at
        if depth > _MAX_DEPTH:
            reader.fail("a Java class is nested too deep", start)
        kind = reader.u8()
        if kind == _NULL:
            return None
        if kind == _REFERENCE:
            found = self._referred(start)
            if found is None:
                reader.fail("a Java object refers to no class", start)
            return found
        if kind != _CLASS:
            reader.unknown(f"the type {kind} of a Java class", "0x70, 0x71 and 0x72", start)
        reader.utf()
        reader.skip(8)
        number = len(self.handles)
        self.handles.append(None)
        flags_at, flags = reader.at, reader.u8()
        if not flags & _SERIALIZABLE or flags & ~(_WRITES_MORE | _SERIALIZABLE | _IS_ENUM):
            reader.unknown(f"the flags {flags} of a Java class", "those of plain classes and enums", flags_at)
        codes = ""
        for _ in range(reader.u16()):
            at, code = reader.at, chr(reader.u8())
            if code not in _SIZES and code not in "L[":
                reader.fail(f"{code!r} is no type of a Java field", at)
            reader.utf()
            if code in "L[":
                self._text(depth + 1)
            codes += code
        self._more(depth)
        found = _Class(flags, codes, self._class(depth + 1))
        self.handles[number] = found
        return found

    def _fields(self, described: _Class | None, depth: int) -> None:
        """The values of an object's fields, the outermost superclass first."""
        line: list[_Class] = []
        while described is not None:
            line.insert(0, described)
            described = described.parent
        for one in line:
            for code in one.fields:
                if code in _SIZES:
                    self.reader.skip(_SIZES[code])
                else:
                    self.content(depth)
            if one.flags & _WRITES_MORE:
                self._more(depth)

    def _more(self, depth: int) -> None:
        """What a class's own method wrote, up to its end mark."""
        reader = self.reader
        while (kind := reader.u8()) != _END:
            if kind == _BLOCK:
                reader.skip(reader.u8())
            else:
                reader.at -= 1
                self.content(depth + 1)

    def _text(self, depth: int) -> None:
        start = self.reader.at
        kind = self.reader.u8()
        if kind not in (_STRING, _REFERENCE):
            self.reader.fail("a Java text does not begin as one", start)
        self.reader.at = start
        self.content(depth)
