"""Breaks of the exactly-once Kafka sink: of its transactions, and of what its next start knows."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "sink-number-not-in-the-transaction",
        "spark/streams/kafka_sink/session.py",
        "        await commit_note(self._cluster, owner, owner.transactional_id, place, note, self._retried)",
        "        assert note",
        "after a kill between the commit and the checkpoint the batch is written a second time",
    ),
    Mutant(
        "sink-number-not-waited-for",
        "kafka/transactional.py",
        "    named = await patiently(lambda: committed(cluster, [group], partitions=places)) if places else {group: {}}",
        "    named = {group: {}}",
        "a start that comes while the first commit is being taken up writes its batch a second time",
    ),
    Mutant(
        "sink-duplicate-refused",
        "kafka/transactional_write.py",
        "            if answers[0].code in (0, _DUPLICATE):",
        "            if answers[0].code == 0:",
        "a batch that is sent again and is told to be in the log already fails its micro-batch",
    ),
)
