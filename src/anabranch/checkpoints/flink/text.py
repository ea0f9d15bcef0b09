"""Java's modified UTF-8: U+0000 is C0 80, and a character beyond U+FFFF is two surrogates of three bytes each."""

from __future__ import annotations


def decode(data: bytes) -> str:
    """Text of ``DataOutput.writeUTF`` without its length; raises ``ValueError`` for what no Java writes.

    Invariant: ``encode(decode(data)) == data`` for everything that it lets pass, so a text is never altered by reading.
    """
    text = data.replace(b"\xc0\x80", b"\x00").decode("utf-8", "surrogatepass")
    if not text.isascii():
        text = text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")
    if encode(text) != data:
        raise ValueError("not modified UTF-8")
    return text


def encode(text: str) -> bytes:
    """The bytes that ``DataOutput.writeUTF`` puts after the length."""
    if text.isascii():
        return text.encode().replace(b"\x00", b"\xc0\x80")
    units = text.encode("utf-16-be", "surrogatepass")
    characters = (chr(int.from_bytes(units[at : at + 2], "big")) for at in range(0, len(units), 2))
    return "".join(characters).encode("utf-8", "surrogatepass").replace(b"\x00", b"\xc0\x80")
