"""A password that is changed while a link runs, and a cluster that refuses it for a while."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from anabranch.model.cluster import ClusterContext, PasswordLogin
from anabranch.model.secrets import SecretKind, SecretRef
from qa.simulation.life import MOVER, Life
from tests.chance import seed
from tests.simulation.watched import watched

pytestmark = pytest.mark.test


def test_a_link_goes_on_with_a_password_that_was_changed_in_its_file(tmp_path: Path) -> None:
    """Connections that are opened later read the file again, in the driver and in the workers that are there."""
    file = tmp_path / "password"
    file.write_text("secret\n")
    usual = Life.context

    def context(self: Life, name: str) -> ClusterContext:
        found = usual(self, name)
        login = found.security.login
        if not isinstance(login, PasswordLogin):
            return found
        login = replace(login, password=SecretRef(SecretKind.FILE, str(file)))
        return replace(found, security=replace(found.security, login=login))

    with patch.object(Life, "context", context), watched(seed(1), guarded=True) as link:
        run = link.run(5.0)
        link.until(lambda: link.end_of("target") > 50)
        workers = [slot.process.name for slot in run.workers]
        link.world.clusters["target"].access.users[MOVER] = "another"
        file.write_text("another\n")
        for wire in list(link.world.network.wires):
            wire.reset()
        before = link.end_of("target")
        link.pass_(30.0)
        assert link.end_of("target") > before + 50
        assert [slot.process.name for slot in run.workers] == workers
        link.end(run)


@pytest.mark.parametrize("away_s", [20.0, 90.0])
def test_a_worker_that_begins_while_the_login_is_refused_waits_until_it_is_taken(away_s: float) -> None:
    """The driver was let in, so it passes: brokers that cannot look a user up say the same as to a stranger."""
    with watched(seed(1), guarded=True) as link:
        run = link.run(5.0)
        link.until(lambda: link.end_of("target") > 50)
        access = link.world.clusters["target"].access
        access.users[MOVER] = "another"
        for wire in list(link.world.network.wires):
            wire.reset()
        for slot in run.workers:
            slot.process.kill()
        before = link.end_of("target")
        link.pass_(away_s)
        assert run.exits == [] and not run.is_over
        assert len(run.workers) > 1
        assert link.end_of("target") == before
        access.users[MOVER] = "secret"
        link.pass_(40.0)
        assert link.end_of("target") > before + 50
        assert link.judge() == []
        link.end(run)
