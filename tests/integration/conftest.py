"""What all tests on clusters share."""

from collections.abc import Iterator

import pytest

from tests.chance import is_full

PERSIST_S, SETTLE_S = 0.25, 0.3


@pytest.fixture(scope="module", autouse=True)
def _connections(patient_connections: None) -> None:
    """Open them with patience."""


@pytest.fixture(scope="module", autouse=True)
def _in_haste(request: pytest.FixtureRequest) -> Iterator[None]:
    """What runs in this process waits for less, as nobody is there who is slow.

    Workers of links persist four times a second, for which tests wait, and consumer groups are looked at for a third
    of a second, whether they commit.  Where everything is asked for, all waits as long as in production.
    """
    if is_full(request.config):
        yield
        return
    from anabranch.copier import worker
    from anabranch.copier.leases import runner
    from anabranch.kafka.groups import snapshot

    with pytest.MonkeyPatch.context() as patch:
        for module in (runner, worker):
            patch.setattr(module, "PERSIST_S", PERSIST_S)
        patch.setattr(snapshot, "SETTLE_S", SETTLE_S)
        yield
