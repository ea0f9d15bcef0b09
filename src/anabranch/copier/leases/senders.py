"""The senders of a worker: one for each connection over which a lane was won, with its task."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from anabranch.copier.lane.lane import Lane
from anabranch.copier.leases.tasks import cancelled
from anabranch.copier.target.partition import TargetPartition
from anabranch.copier.target.sender import Sender
from anabranch.copier.write_gate import WriteGate
from anabranch.kafka.connection import Connection


class Senders:
    """Begins a sender with the first lane of its connection; ``on_room`` and ``on_ended`` are what senders call."""

    def __init__(self, gate: WriteGate, on_room: Callable[[], None], on_ended: Callable[[], None]) -> None:
        self._gate = gate
        self._on_room = on_room
        self._on_ended = on_ended
        self._senders: dict[Connection, tuple[Sender, asyncio.Task[None]]] = {}

    def send(self, lane: Lane, connection: Connection, target: TargetPartition) -> None:
        """Send the batches of a lane that was won over this connection."""
        found = self._senders.get(connection)
        if found is None:
            sender = Sender(connection, self._gate, self._on_room, self._on_ended)
            task = asyncio.create_task(sender.run(), name=f"send-{connection.node}")
            found = self._senders[connection] = (sender, task)
        found[0].add(lane, target)

    def remove(self, lane: Lane) -> None:
        """Send nothing more of a lane."""
        for sender, _ in self._senders.values():
            sender.remove(lane)

    def wake(self) -> None:
        """Something has changed for all."""
        for sender, _ in self._senders.values():
            sender.wake()

    def wake_for(self, connections: Iterable[Connection]) -> None:
        """Lanes of these connections have something to send."""
        for connection in connections:
            found = self._senders.get(connection)
            if found is not None:
                found[0].wake()

    def check(self) -> None:
        """Raise what a sender raised; those whose connection ended are forgotten."""
        for connection, (sender, task) in list(self._senders.items()):
            if task.done():
                task.result()
                sender.close()
                del self._senders[connection]

    async def cancel(self) -> None:
        """Nothing is sent any more; answers may still come."""
        await cancelled([task for _, task in self._senders.values()])

    @property
    def idle(self) -> bool:
        """Whether no answer is awaited."""
        return all(sender.idle for sender, _ in self._senders.values())

    def close(self) -> None:
        """Forget all senders."""
        for sender, _ in self._senders.values():
            sender.close()
        self._senders = {}

    def abort(self, why: str) -> None:
        """End the connections whose answers have not come."""
        for connection, (sender, _) in self._senders.items():
            if not sender.idle:
                connection.abort(why)
