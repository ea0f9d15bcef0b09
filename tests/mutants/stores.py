"""Breaks of the store, on SQLite, and of the client SDK where a switch is obeyed."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "store-commit-not-on-the-disk",
        "store/database.py",
        '        connection.execute("PRAGMA synchronous=FULL")',
        '        connection.execute("PRAGMA synchronous=OFF")',
        "after a power cut the journal of a run that is past its point of no return is gone",
    ),
    Mutant(
        "store-transaction-dropped",
        "store/database.py",
        "            with engine.begin() as connection:\n",
        '            with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:\n',
        "what failed in the middle is kept in part",
    ),
    Mutant(
        "store-lease-fence-not-raised",
        "store/leases.py",
        "found.fence if found.holder == holder else found.fence + 1",
        "found.fence",
        "an instance that lost its name is taken for the one that has it",
    ),
    Mutant(
        "store-lease-taken-without-skew",
        "store/leases.py",
        "now_ms < found.until + SKEW_MS:",
        "now_ms < found.until:",
        "two instances act at once where their clocks differ",
    ),
    Mutant(
        "store-migration-revision-not-checked",
        "store/waves.py",
        ".where(MIGRATIONS.c.name == changed.name, MIGRATIONS.c.revision == changed.revision)",
        ".where(MIGRATIONS.c.name == changed.name)",
        "of two people who change a migration the first one's change is lost",
    ),
    Mutant(
        "store-journal-revision-not-checked",
        "store/waves.py",
        "MIGRATION_RUNS.c.id == run, MIGRATION_RUNS.c.revision == revision, MIGRATION_RUNS.c.open",
        "MIGRATION_RUNS.c.id == run, MIGRATION_RUNS.c.open",
        "two engines go on with one run",
    ),
    Mutant(
        "store-two-runs-of-a-wave-open",
        "store/waves.py",
        'return f"{run.migration}/{run.wave}" if run.is_open else None',
        'return f"{run.migration}/{run.wave}/{run.id}" if run.is_open else None',
        "a wave is switched twice at once",
    ),
    Mutant(
        "store-switch-revision-not-checked",
        "store/switches.py",
        "ROUTE_SWITCHES.c.revision == revision, ROUTE_SWITCHES.c.open == 1",
        "ROUTE_SWITCHES.c.open == 1",
        "an instance that lost a switch writes over what its successor has done",
    ),
    Mutant(
        "store-publishes-while-a-switch-is-open",
        "store/routes.py",
        "                check_none_open(connection)\n                made = insert_version(",
        "                made = insert_version(",
        "clients that a switch holds are led elsewhere by another table",
    ),
    Mutant(
        "store-version-over-another",
        "store/routes.py",
        "    if newest != base:\n",
        "    if newest < base:\n",
        "who publishes over what he has not seen is not told who was first",
    ),
    Mutant(
        "store-operation-without-audit",
        "store/works.py",
        "            audit.write(connection, replace(began, plan=plan.id, hash=plan.hash, operation=made.id))\n",
        "",
        "what was done is not in the audit",
    ),
    Mutant(
        "store-plan-applied-twice",
        "store/works.py",
        "            if plan.operation is not None:\n",
        "            if plan.operation == plan.id:\n",
        "an approval that is sent twice does its work twice",
    ),
    Mutant(
        "store-first-handover-not-kept",
        "store/switches.py",
        "        except IntegrityError:  # it said so before, and has not heard that it was heard\n            pass\n",
        "        except IntegrityError:\n            raise\n",
        "a client that answers again, as it did not hear, is told of a failure",
    ),
    Mutant(
        "sdk-ready-while-calls-are-inside",
        "sdk/gate.py",
        "return entered == left",
        "return entered >= left",
        "a record is on its way to the old cluster after its client said that it had paused",
    ),
    Mutant(
        "sdk-gate-not-waited-for",
        "sdk/gate.py",
        "            if monotonic() >= until:\n                return False\n",
        "            if monotonic() >= until:\n                return True\n",
        "a client says that it has paused although a call of it has not handed over",
    ),
    Mutant(
        "sdk-goes-on-before-it-has-paused",
        "sdk/orders.py",
        "        if self.phase is Phase.OPEN:\n            self.phase = Phase.PAUSING\n",
        "        if self.phase is Phase.OPEN:\n            self.phase = Phase.PAUSED\n",
        "a client leaves in the middle of what it hands over",
    ),
    Mutant(
        "sdk-another-switch-is-obeyed",
        "sdk/orders.py",
        '        elif self.switch in ("", switch):\n',
        "        else:\n",
        "a client goes where a switch led that was given up",
    ),
    Mutant(
        "sdk-route-that-was-told-while-held-is-forgotten",
        "sdk/orders.py",
        "        if self.target is not None:\n            self.told, self.begins = self.target, self.starts\n",
        "",
        "a client goes on by the route of before the switch that was refused it",
    ),
)
