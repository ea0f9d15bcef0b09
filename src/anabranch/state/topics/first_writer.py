"""Which records of the links topic count where two change a link at once: those of the first in the log.

A broker appends whatever comes, so a change that rests on what somebody else has changed meanwhile cannot be kept out
of the log.  Each record of a change has a header that says up to which offset its writer had read the topic.

    void      a record of the link's own key that counts lies at or after that offset: nobody takes the record
    certain   no record at all of that key lies between that offset and the record: everybody takes it

Invariant: whoever has read the whole topic takes the same records, and of two changes that rest on the same state the
later one is void.  Without the header, as older versions write, a record always counts.

The race: compaction keeps the last record of a key, also a void one, and then a new reader would take that.  So each
writer reads back, and where its record is not certain it writes what stands once more, until a certain record of each
key that is in doubt follows; only then does it return, or say that somebody was faster.  Where it dies before that, the
next change of the link and each plan of a run do the same.  What remains is a writer that dies in this moment, of a
link that nobody runs or changes until its void record alone is left: its change counts then and the other one is lost.
"""

from __future__ import annotations

from collections import defaultdict

from anabranch.kafka.log import Headers, LogEntry
from anabranch.state.codecs.errors import MalformedRecordError
from anabranch.state.codecs.topics import LINKS

_READ = "read"


def read_up_to(offset: int) -> Headers:
    """The header of a change whose writer has read everything below an offset."""
    return ((_READ, str(offset).encode()),)


def _read_of(entry: LogEntry) -> int | None:
    for name, value in entry.headers:
        if name == _READ:
            if value is None or not value.isdigit():
                raise MalformedRecordError(f"{LINKS} at offset {entry.offset:,}", f"its header {_READ} is {value!r}")
            return int(value)
    return None


class FirstWriter:
    """Judges the records of the links topic, each once and in order."""

    def __init__(self) -> None:
        self._counted: dict[str, int] = {}
        self._last: dict[str, int] = {}
        self._void: set[int] = set()
        self._uncertain: set[int] = set()
        self._in_doubt: dict[str, dict[bytes, None]] = defaultdict(dict)

    def counts(self, link: str, entry: LogEntry, *, is_own: bool) -> bool:
        """Whether a record about a link is not void; ``is_own`` says that its key is the link's own.

        Raises MalformedRecordError.
        """
        read = _read_of(entry)
        counts = read is None or self._counted.get(link, -1) < read
        certain = read is None or self._last.get(link, -1) < read
        if certain:
            self._in_doubt[link].pop(entry.key, None)
        else:
            self._in_doubt[link][entry.key] = None
        if is_own:
            self._last[link] = entry.offset
            if counts:
                self._counted[link] = entry.offset
            else:
                self._void.add(entry.offset)
            if not certain:
                self._uncertain.add(entry.offset)
        return counts

    def is_void(self, offset: int) -> bool:
        """Whether the link's own record at an offset is void."""
        return offset in self._void

    def is_certain(self, offset: int) -> bool:
        """Whether everybody takes the link's own record at an offset."""
        return offset not in self._uncertain

    def in_doubt(self, link: str) -> list[bytes]:
        """The keys of a link whose last record is not certain."""
        return list(self._in_doubt[link])
