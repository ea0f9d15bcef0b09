"""Rows as commands of Redis: scripts that check the writer and write, in one step of the server.

Invariant
    R1  Rows are written only while the state names their batch and their start as the one that writes: what an earlier
        start, or an earlier connection, has still under way changes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.spark.streams.sinks.keys import key_text, plain_text
from anabranch.spark.streams.sinks.state import BatchState

FENCED = "ANABRANCHFENCED"
BEGIN = """
local state = redis.call('HMGET', KEYS[1], 'fence', 'checkpoint', 'batch')
if not state[1] or tonumber(state[1]) <= tonumber(ARGV[1]) then
  redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'writer', ARGV[2])
end
return state
"""
COMMIT = f"""
if redis.call('HGET', KEYS[1], 'writer') ~= ARGV[1] then return redis.error_reply('{FENCED} another writes') end
redis.call('HSET', KEYS[1], 'checkpoint', ARGV[2], 'batch', ARGV[3])
return 1
"""
WRITE = f"""
if redis.call('HGET', KEYS[1], 'writer') ~= ARGV[1] then return redis.error_reply('{FENCED} another writes') end
local seconds, at = tonumber(ARGV[2]), 3
while at <= #ARGV do
  local key, sets, gone = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  at = at + 3
  if sets == 1 then
    redis.call('SET', key, ARGV[at])
  else
    redis.call('HSET', key, unpack(ARGV, at, at + sets - 1))
    if gone > 0 then redis.call('HDEL', key, unpack(ARGV, at + sets, at + sets + gone - 1)) end
  end
  at = at + sets + gone
  if seconds > 0 then redis.call('EXPIRE', key, seconds) end
end
return 1
"""
_COUNT_BYTES = 4
MOST_COLUMNS = 1000
"""A script cannot hand more words than some thousands to a command."""


def sha(script: str) -> str:
    """By what the server knows a script."""
    return hashlib.sha1(script.encode()).hexdigest()


def tag(state: BatchState) -> str:
    """A batch of a start, as the state names it."""
    return f"{state.fence} {state.batch} {state.checkpoint}"


def command(words: Sequence[bytes]) -> bytes:
    """A command as the server reads it."""
    return b"*%d\r\n%b" % (len(words), b"".join(map(_word, words)))


def _word(word: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(word), word)


@dataclass(frozen=True, slots=True)
class RedisRows:
    """An encoder of rows into commands that write them; ``document``: each row is one string, its last column."""

    names: tuple[str, ...]
    keys: tuple[int, ...]
    prefix: str
    seconds: int
    state: str
    writer: str
    document: bool

    def rows(self, columns: Sequence[Sequence[Any]]) -> Iterator[bytes]:
        names = [name.encode() for name in self.names]
        for row in zip(*columns, strict=True):
            key = (self.prefix + key_text([row[n] for n in self.keys])).encode()
            if self.document:
                words = [key, b"1", b"0", row[-1].encode()]
            else:
                has = [(name, field_bytes(value)) for name, value in zip(names, row, strict=True) if value is not None]
                gone = [name for name, value in zip(names, row, strict=True) if value is None]
                words = [
                    key,
                    b"%d" % (2 * len(has)),
                    b"%d" % len(gone),
                    *(word for pair in has for word in pair),
                    *gone,
                ]
            yield len(words).to_bytes(_COUNT_BYTES, "big") + b"".join(map(_word, words))

    def chunk(self, rows: Sequence[bytes]) -> bytes:
        before = [
            b"EVALSHA",
            sha(WRITE).encode(),
            b"1",
            self.state.encode(),
            self.writer.encode(),
            b"%d" % self.seconds,
        ]
        count = len(before) + sum(int.from_bytes(row[:_COUNT_BYTES], "big") for row in rows)
        words = b"".join(map(_word, before))
        return b"*%d\r\n%b%b" % (count, words, b"".join(row[_COUNT_BYTES:] for row in rows))


def field_bytes(value: Any) -> bytes:
    """A value of a hash: bytes as they are, all else as text."""
    return bytes(value) if isinstance(value, bytes | bytearray | memoryview) else plain_text(value).encode()
