"""What a class file of Java says of its class: its names and generic signature (JVM specification 17, chapter 4)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_MAGIC = 0xCAFEBABE
_PUBLIC, _INTERFACE, _ABSTRACT = 0x0001, 0x0200, 0x0400
_UTF8, _CLASS = 1, 7
_WIDE = frozenset({5, 6})
"""A long and a double take two places in the constant pool."""
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}


@dataclass(frozen=True, slots=True)
class JavaClass:
    """A class by its names as ``java/lang/String``; ``signature`` is empty where it has no type parameters.

    ``major`` is the version of the format: 61 is of Java 17.
    """

    name: str
    parent: str
    interfaces: tuple[str, ...]
    signature: str
    major: int
    is_usable: bool
    """Whether others can make an instance of it: it is public, and no interface and not abstract."""


def java_class(data: bytes) -> JavaClass | None:
    """The class of a class file; None where it is none that can be read."""
    try:
        return _Reader(data).read()
    except (struct.error, IndexError, KeyError, UnicodeDecodeError):
        return None


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._texts: dict[int, str] = {}
        self._classes: dict[int, int] = {}

    def read(self) -> JavaClass | None:
        """The class."""
        if self._number(4) != _MAGIC:
            return None
        self._number(2)
        major = self._number(2)
        self._constants()
        flags, this, parent = (self._number(2) for _ in range(3))
        interfaces = tuple(self._class(self._number(2)) for _ in range(self._number(2)))
        for _ in range(2):  # fields, then methods
            for _ in range(self._number(2)):
                self._skip(6)
                self._attributes()
        signature = self._attributes()
        is_usable = bool(flags & _PUBLIC) and not flags & (_INTERFACE | _ABSTRACT)
        return JavaClass(self._class(this), self._class(parent), interfaces, signature, major, is_usable)

    def _constants(self) -> None:
        count, index = self._number(2), 1
        while index < count:
            tag = self._number(1)
            if tag == _UTF8:
                size = self._number(2)
                # Java's own UTF-8 writes some characters otherwise; none of them is in a name that is looked for.
                self._texts[index] = self._bytes(size).decode("utf-8", "replace")
            elif tag == _CLASS:
                self._classes[index] = self._number(2)
            else:
                self._skip(_SIZES[tag])
            index += 2 if tag in _WIDE else 1

    def _attributes(self) -> str:
        """Past them all; returns the text of ``Signature``, empty where there is none."""
        found = ""
        for _ in range(self._number(2)):
            name, size = self._texts.get(self._number(2), ""), self._number(4)
            if name == "Signature" and size == 2:
                found = self._texts[self._number(2)]
            else:
                self._skip(size)
        return found

    def _class(self, index: int) -> str:
        return self._texts[self._classes[index]] if index else ""

    def _number(self, size: int) -> int:
        return int.from_bytes(self._bytes(size), "big")

    def _bytes(self, size: int) -> bytes:
        found = self._data[self._at : self._at + size]
        if len(found) != size:
            raise IndexError(self._at)
        self._at += size
        return found

    def _skip(self, size: int) -> None:
        self._bytes(size)
