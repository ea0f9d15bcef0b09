"""A consumer that names a cluster by its code and follows the code's route, with confluent-kafka's own interface.

It pauses between two messages, in the application's own ``poll`` or ``consume``: what the application has stored or
committed is committed, the group is left, and the next message comes from where the route leads by then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from anabranch.model.clock import monotonic
from anabranch.sdk import peers
from anabranch.sdk.errors import (
    PartedTransactionError,
    StaleMessageError,
    StaleOffsetError,
    SwitchingError,
    UndoneMessagesError,
)
from anabranch.sdk.names import place_of
from anabranch.sdk.orders import Phase
from anabranch.sdk.partitions import Subscribed
from anabranch.sdk.reader import SLICE_S, RoutedReader
from anabranch.sdk.standing import Left


class Consumer(RoutedReader):
    """``confluent_kafka.Consumer`` with ``cluster.code`` in place of ``bootstrap.servers``.

    ``route_age_s`` is how long ago the route was told; ``route_problem`` why the service leads it nowhere, or None.
    """

    def __init__(self, *args: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._late: Exception | None = None
        if type(self).poll is Consumer.poll:
            self.__dict__["poll"] = self._poll  # a call of it is one frame, and not two

    def poll(self, timeout: float | None = None) -> Any:
        """As confluent-kafka's; while a switch is under way there are no messages.  Raises MayNotError too."""
        return self._poll(-1 if timeout is None else timeout)

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Any]:
        """As confluent-kafka's; of what is asked to pause it gives out less."""
        until = None if timeout < 0 else monotonic() + timeout
        found: list[Any] = []
        if self._late is not None:
            late, self._late = self._late, None
            raise late
        while len(found) < num_messages:
            left = None if until is None else max(0.0, until - monotonic())
            if self._due and (found or not self._ready(left)):
                break
            try:
                found += self._consume(num_messages - len(found), SLICE_S if left is None else min(SLICE_S, left))
            except Exception as error:
                if not found:
                    raise
                self._late = error  # what was read is given out, and counts as such
                break
            if until is not None and monotonic() >= until:
                break
        self._consumed.records += len(found)
        self._consumed.bytes += sum(map(len, found))
        return found

    def _consume(self, number: int, timeout: float) -> list[Any]:
        era, names = self._era, self._names  # as in ``_read``
        inner = self._inner
        if inner is None:
            return []
        try:
            if self._settling.is_on:
                self._settle(inner)
            found: list[Any] = inner.consume(number, timeout)
        except RuntimeError as error:
            if not self.was_left(error):
                raise
            return []
        return found if self._is_as_is(inner) else [self.given(one, era, names) for one in found]

    def subscribe(self, topics: list[str], on_assign: Any = None, on_revoke: Any = None, on_lost: Any = None) -> None:
        """As confluent-kafka's; raises MayNotError, RouteProblemError, NoRouteError."""
        given = {"on_assign": on_assign, "on_revoke": on_revoke, "on_lost": on_lost}
        self._settling.end()
        self._subscribed = Subscribed(tuple(topics), {name: one for name, one in given.items() if one is not None})
        self._ask_for(tuple(topics))
        with self._changed:
            inner = self._inner if self._orders.phase is Phase.OPEN or self._leaves else None
        if inner is not None:
            self._subscribe(inner)
        else:
            self._ready(0.0)

    def unsubscribe(self) -> None:
        """As confluent-kafka's."""
        self._settling.end()
        self._subscribed = Subscribed()
        self._usable().unsubscribe()

    def assign(self, partitions: list[Any]) -> None:
        """As confluent-kafka's."""
        for one in partitions:
            self._check(one)
        if self._leaves or self._was_called_back():
            self._was_assigned = True
            there = self._partitions.placed(self._inner, [self._names.to(one) for one in partitions])
            self._begins(there)
            self._inner.assign(there)
            return
        before = self._parts()
        self._subscribed = Subscribed(by_hand=list(partitions))
        self._left = Left()
        self._ask_for(tuple(dict.fromkeys(one.topic for one in partitions)))
        if self._inner is not None and self._orders.phase is Phase.OPEN:
            there = [self._names.to(one) for one in partitions]
            self._ends(self._inner, before)
            self._partitions.begins(there)
            self._begins(there)
            self._inner.assign(there)
        else:
            self._ready(0.0)

    def _was_called_back(self) -> bool:
        return bool(self._subscribed.topics)

    def unassign(self) -> None:
        """As confluent-kafka's."""
        self._was_assigned = True
        inner = self._usable()
        self._ends(inner, self._parts())
        if self._subscribed.by_hand is not None:
            self._subscribed = Subscribed()
        inner.unassign()

    def incremental_assign(self, partitions: list[Any]) -> None:
        """As confluent-kafka's."""
        for one in partitions:
            self._check(one)
        self._was_assigned = True
        if not self._was_called_back():
            by_hand = self._subscribed.by_hand or []
            self._subscribed = Subscribed(by_hand=[*by_hand, *partitions])
            self._ask_for(tuple(dict.fromkeys(one.topic for one in (*by_hand, *partitions))))
        inner, there = self._usable(), [self._names.to(one) for one in partitions]
        if self._was_called_back():
            there = self._partitions.placed(inner, there)
        else:
            self._partitions.begins(there)
        self._begins(there)
        inner.incremental_assign(there)

    def incremental_unassign(self, partitions: list[Any]) -> None:
        """As confluent-kafka's."""
        self._was_assigned = True
        if self._subscribed.by_hand is not None:
            gone = {place_of(one) for one in partitions}
            left = [one for one in self._subscribed.by_hand if place_of(one) not in gone]
            self._subscribed = Subscribed(by_hand=left)
        inner, there = self._usable(), [self._names.to(one) for one in partitions]
        self._ends(inner, there)
        inner.incremental_unassign(there)

    def assignment(self) -> list[Any]:
        """As confluent-kafka's; empty while a switch is under way."""
        return [] if self._inner is None else self._back(self._inner.assignment())

    def pause(self, partitions: list[Any]) -> None:
        """As confluent-kafka's; it holds after a switch, too."""
        self._stopped |= {place_of(one): one for one in partitions}
        if self._inner is not None:
            self._inner.pause([self._names.to(one) for one in partitions])

    def resume(self, partitions: list[Any]) -> None:
        """As confluent-kafka's."""
        for one in partitions:
            self._stopped.pop(place_of(one), None)
        if self._inner is not None:
            self._inner.resume([self._names.to(one) for one in partitions])

    def seek(self, partition: Any) -> None:
        """As confluent-kafka's; raises StaleOffsetError for an offset that may be of before a switch."""
        self._check(partition)
        inner, there = self._usable(), self._names.to(partition)
        self._ends(inner, [there])
        with self._changed:
            was_open = place_of(there) in self._floors.open
            self._begins_at(place_of(there), there.offset if there.offset >= 0 else None)
            self._heed()
        try:
            inner.seek(there)
        except KafkaException:
            if not was_open:
                self._ends(inner, [there])
            raise

    # -- offsets ---------------------------------------------------------------------------------------

    def commit(
        self, message: Any = None, offsets: list[Any] | None = None, asynchronous: bool = True, **more: Any
    ) -> Any:
        """As confluent-kafka's; raises StaleMessageError, StaleOffsetError for what is of before a switch."""
        self._commits_itself = True
        is_asynchronous = more.get("async", asynchronous)
        try:
            return self._commit(message, offsets, is_asynchronous)
        except KafkaException as error:
            if error.args[0].code() != KafkaError._NO_OFFSET:  # else there was nothing to commit
                self.reported(str(error))
            raise

    def _commit(self, message: Any, offsets: list[Any] | None, asynchronous: bool) -> Any:
        def act(inner: Any, **what: Any) -> Any:
            if asynchronous:
                return inner.commit(asynchronous=True, **what)

            def commit() -> Any:
                return inner.commit(asynchronous=False, **what)

            # In a callback it is not answered to another thread before the callback has ended.
            found = commit() if self._callbacks.are_running else self._waiting.answer(commit)
            with self._changed:
                if inner is self._inner:
                    self._era.noted(found)
            return self._back(found)

        if message is not None and offsets is None:
            return self._with_current(message, lambda inner, raw: act(inner, message=raw))
        if offsets is not None:
            for one in offsets:
                self._check(one)
            there = [self._names.to(one) for one in offsets]
            return act(self._usable(), message=message, offsets=there)
        inner = self._inner
        if inner is not None:
            try:
                return act(inner)
            except RuntimeError as error:
                if not self.was_left(error):
                    raise
        raise KafkaException(KafkaError(KafkaError._NO_OFFSET, "a switch is under way: nothing is assigned"))

    def store_offsets(self, message: Any = None, offsets: list[Any] | None = None) -> None:
        """As confluent-kafka's; raises what ``commit`` raises."""
        self._commits_itself = True
        if message is not None and offsets is None:
            self._with_current(message, lambda inner, raw: inner.store_offsets(message=raw))
            return
        for one in offsets or ():
            self._check(one)
        there = None if offsets is None else [self._names.to(one) for one in offsets]
        self._usable().store_offsets(message=message, offsets=there)

    def committed(self, partitions: list[Any], timeout: float = -1) -> list[Any]:
        """As confluent-kafka's."""
        there = [self._names.to(one) for one in partitions]
        return self._known_now(self._usable(timeout).committed(there, timeout))

    def position(self, partitions: list[Any]) -> list[Any]:
        """As confluent-kafka's."""
        return self._known_now(self._usable().position([self._names.to(one) for one in partitions]))

    def offsets_for_times(self, partitions: list[Any], timeout: float = -1) -> list[Any]:
        """As confluent-kafka's."""
        there = [self._names.to(one) for one in partitions]
        return self._known_now(self._usable(timeout).offsets_for_times(there, timeout))

    def get_watermark_offsets(self, partition: Any, timeout: float = -1, cached: bool = False) -> Any:
        """As confluent-kafka's."""
        there = self._names.to(partition)
        found = self._usable(timeout).get_watermark_offsets(there, timeout, cached)
        if found is not None and not self._plain:
            self._era.known.told(place_of(there), found)
        return found

    def consumer_group_metadata(self) -> Any:
        """As confluent-kafka's.

        Where a switch is under way it waits, but not for one that waits for a transaction of this process: raises
        SwitchingError.
        """
        self._commits_itself = True  # in transactions
        with self._changed:
            inner, era = self._inner, self._era
        found = None
        if inner is not None:  # also where it is to pause: it does not here, in the middle of a transaction
            try:
                found = inner.consumer_group_metadata()
            except RuntimeError as error:
                if not self.was_left(error):
                    raise
        if found is None:
            if self._orders.switch and peers.may_have_open(self):
                raise SwitchingError(0.0, "the consumer has paused, and the transaction that is open is waited for")
            found, era = self._usable().consumer_group_metadata(), self._era
        self._gave.append((found, era))
        return found

    def of_transaction(self, metadata: object, positions: Sequence[Any], cluster: str) -> list[Any]:
        """Positions that a transaction on a cluster commits, by the names there.

        Raises StaleOffsetError, PartedTransactionError, UndoneMessagesError (X1 of ``peers``).
        """
        era = next(era for one, era in self._gave if one is metadata)
        if self._undone is not None and self._undone is not self._era:
            raise UndoneMessagesError(self._undone.cluster, self._goes_to())
        for one in positions:
            if era is not self._era:
                raise StaleOffsetError(one.topic, one.partition, one.offset, self._goes_to())
            self._check(one)
        if era.cluster != cluster:
            raise PartedTransactionError(cluster, era.cluster)
        there = [self._names.to(one) for one in positions]
        self._sent |= {place_of(one): one.offset for one in there}
        return there

    def _with_current(self, message: Any, act: Callable[[Any, Any], Any]) -> Any:
        """Act on the client and its own message of one that was given out here; raises StaleMessageError."""
        inner, raw = self._inner, self._era.raw_of(message, self._names, self._floors)
        if inner is not None and raw is not None:
            try:
                return act(inner, raw)
            except RuntimeError as error:
                if not self.was_left(error):
                    raise
        raise StaleMessageError(str(message.topic()), message.partition(), message.offset(), self._goes_to())

    def _check(self, one: Any) -> None:
        """Raise StaleOffsetError for a number that may be of before a change of cluster, or of another log there."""
        if self._era.takes(one, self._names):
            return
        era, inner = self._era, self._inner
        if inner is not None and one.offset >= 0:
            # What was given out as it is was not noted.
            there = self._names.to(one)
            for stands in inner.position([TopicPartition(there.topic, there.partition)]):
                era.known.reached(place_of(stands), stands.offset)
        if not self._era.takes(one, self._names):
            raise StaleOffsetError(one.topic, one.partition, one.offset, self._goes_to())

    # -- the rest --------------------------------------------------------------------------------------

    def memberid(self) -> Any:
        """As confluent-kafka's."""
        return self._usable().memberid()

    def close(self) -> None:
        """As confluent-kafka's; and be forgotten by the route service."""
        if self._closed:
            return
        inner = self._inner
        try:
            if inner is not None:
                self._leaves = True
                inner.close()
        except RuntimeError as error:
            if not self.was_left(error):
                raise
        finally:  # whatever a callback raises
            with self._changed:
                self._closed, self._leaves, self._inner = True, False, None
                self._heed()
            self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()
