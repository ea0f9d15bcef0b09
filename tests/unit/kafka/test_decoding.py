"""Responses that threads of one process decode."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from anabranch.kafka import connection
from anabranch.kafka.connection import decoded

pytestmark = pytest.mark.unit


class Counting:
    """A kind of response whose decoding sees whether another thread could decode meanwhile."""

    def __init__(self) -> None:
        self.kept_out: list[bool] = []

    def decode(self, body: bytes, version: int) -> tuple[bytes, int]:
        """Note whether all others are kept out."""
        self.kept_out.append(connection._DECODING.locked())
        return body, version


def test_threads_decode_one_at_a_time() -> None:
    """Two that make the decoder of one kind of response at once break it for the life of the process."""
    kind, together = Counting(), threading.Barrier(4)

    def decode(number: int) -> tuple[bytes, int]:
        together.wait()
        answer: tuple[bytes, int] = decoded(kind, bytes([number]), number)
        return answer

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(decode, range(4))) == [(bytes([number]), number) for number in range(4)]
    assert kind.kept_out == [True] * 4


def test_a_body_that_does_not_decode_keeps_nobody_out() -> None:
    """The next response is decoded as if nothing had been."""

    class Torn:
        def decode(self, body: bytes, version: int) -> None:
            raise ValueError("torn")

    with pytest.raises(ValueError, match="torn"):
        decoded(Torn(), b"", 0)
    assert decoded(Counting(), b"x", 1) == (b"x", 1)
