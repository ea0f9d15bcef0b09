"""Operator ids: murmur3 x64 128 of a uid with seed 0, as ``StreamGraphHasherV2`` makes them (guava's byte order)."""

from __future__ import annotations

_MASK = (1 << 64) - 1
_C1 = 0x87C37B91114253D5
_C2 = 0x4CF5AD432745937F


def operator_id(uid: str) -> bytes:
    """The 16 bytes under which an operator with this uid keeps its state; their hex is the id that Flink shows."""
    return murmur3_128(uid.encode("utf-8", "surrogatepass"))


def murmur3_128(data: bytes) -> bytes:
    """murmur3_x64_128, seed 0; both halves little-endian, as guava's ``HashCode.asBytes`` gives them."""
    h1 = h2 = 0
    whole = len(data) // 16 * 16
    for at in range(0, whole, 16):
        h1 ^= _k1(int.from_bytes(data[at : at + 8], "little"))
        h1 = (_rotl(h1, 27) + h2) * 5 + 0x52DCE729 & _MASK
        h2 ^= _k2(int.from_bytes(data[at + 8 : at + 16], "little"))
        h2 = (_rotl(h2, 31) + h1) * 5 + 0x38495AB5 & _MASK
    tail = data[whole:]
    h2 ^= _k2(int.from_bytes(tail[8:], "little"))
    h1 ^= _k1(int.from_bytes(tail[:8], "little"))
    h1 ^= len(data)
    h2 ^= len(data)
    h1 = h1 + h2 & _MASK
    h2 = h2 + h1 & _MASK
    h1, h2 = _mix(h1), _mix(h2)
    h1 = h1 + h2 & _MASK
    h2 = h2 + h1 & _MASK
    return h1.to_bytes(8, "little") + h2.to_bytes(8, "little")


def _rotl(value: int, by: int) -> int:
    return (value << by | value >> (64 - by)) & _MASK


def _k1(value: int) -> int:
    return _rotl(value * _C1 & _MASK, 31) * _C2 & _MASK


def _k2(value: int) -> int:
    return _rotl(value * _C2 & _MASK, 33) * _C1 & _MASK


def _mix(value: int) -> int:
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCD & _MASK
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return value ^ value >> 33
