"""A password that is changed while a link runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from anabranch.model.cluster import ClusterContext, PasswordLogin
from anabranch.model.secrets import SecretKind, SecretRef
from qa.simulation.life import MOVER, Life
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

    with patch.object(Life, "context", context), watched(1, guarded=True) as link:
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
