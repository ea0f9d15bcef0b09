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
    Mutant(
        "sink-end-of-a-fenced-owner",
        "kafka/transactional.py",
        '    _check(cluster, producer, answer.error_code, "EndTxn", f"transactional id {producer.transactional_id}")',
        '    _check(cluster, producer, 0, "EndTxn", f"transactional id {producer.transactional_id}")',
        "a batch counts as written whose transaction was aborted, and is lost",
    ),
    Mutant(
        "sink-timed-out-is-no-fence",
        "kafka/transactional.py",
        "FENCED = frozenset({47, 48, 49, 90})",
        "FENCED = frozenset({47, 49, 90})",
        "a query whose transaction has timed out is told something else than what to do about it",
    ),
    Mutant(
        "sink-former-leader-asked-for-ever",
        "kafka/transactional_write.py",
        "            self._leaders.pop(partition, None)\n            self.retries",
        "            self.retries",
        "a batch fails once its partition has another leader",
    ),
)
