"""Access rules and quotas are carried over between real clusters: planned, applied, kept up, taken back."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeVar

import pytest

from anabranch.config.migration_file import migration_fields
from anabranch.config.yaml_file import write
from anabranch.kafka.acls import create_acls, delete_acls, describe_acls
from anabranch.kafka.cluster import Cluster
from anabranch.kafka.errors import PermissionDeniedError
from anabranch.kafka.quotas import alter_quotas, describe_quotas
from anabranch.migration.access.values import Made, QuotaKey, WaveName, quota_values
from anabranch.migration.journal import run_fields
from anabranch.migration.kept import StoredRun
from anabranch.migration.legs import Leg
from anabranch.migration.run import WaveRun, WaveRunState
from anabranch.migration.spec import AccessCarryOver, CopyRules, FenceKind, Limits, Migration, Wave
from anabranch.migration.standing import WaveVerb, standing
from anabranch.migration.wave_steps import steps_for
from anabranch.model.acls import Acl, AclOperation, AclPermission, PatternType, ResourceType
from anabranch.model.clock import now_ms
from anabranch.model.plugins import PluginSpec
from anabranch.model.quotas import PRODUCER_BYTE_RATE, USER, quota_entity
from anabranch.model.reasons import Reason, Severity
from anabranch.operations.migrations import access
from anabranch.operations.migrations.fencing import denials
from anabranch.sandbox import ClusterSpec, SandboxCluster
from anabranch.service import carrying
from anabranch.service.access_audit import AccessAudit
from anabranch.service.access_looks import AccessLook, looks_of
from anabranch.service.acting import LEASE
from anabranch.service.carrying import Carrying
from anabranch.service.clusters import ClusterPool
from anabranch.service.hub import Hub
from anabranch.service.stored import Stored
from anabranch.state.topics.access import AccessRecord
from anabranch.store.database import open_database
from qa.blocking import between, on
from qa.brokers import STEADY
from qa.service import until
from qa.timeouts import TIMEOUT_S
from tests.integration.console import Run, console
from tests.integration.kafka.security import context_of
from tests.simulated import clusters

pytestmark = pytest.mark.test

T = TypeVar("T")
SHOP = Wave("shop", ("shop.orders", "shop.payments"), ("billing",), fences=(FenceKind.ACL, FenceKind.OBSERVE))
MIGRATION = Migration(
    "move",
    "old",
    "new",
    (SHOP,),
    copy=CopyRules(PluginSpec("prefix")),
    limits=Limits(quiet_ms=200),
    access=AccessCarryOver(True, {"User:alice": "User:shop"}, True),
)


def rule(name: str, operation: AclOperation = AclOperation.READ, principal: str = "User:alice", **more: Any) -> Acl:
    """Alice may read a topic, or something else."""
    plain = Acl(ResourceType.TOPIC, name, PatternType.LITERAL, principal, "*", operation, AclPermission.ALLOW)
    return replace(plain, **more)


def rate_of(user: str) -> QuotaKey:
    """A user's rate of bytes."""
    return QuotaKey(quota_entity({USER: user}), PRODUCER_BYTE_RATE)


USERS = {"alice": "a", "carrier": "c"}
HERE = (
    rule("shop.orders", AclOperation.WRITE),
    rule("shop.", AclOperation.READ, pattern=PatternType.PREFIXED),
    rule("billing", resource_type=ResourceType.GROUP),
    rule("till", AclOperation.WRITE, resource_type=ResourceType.TRANSACTIONAL_ID, pattern=PatternType.PREFIXED),
    rule("kafka-cluster", AclOperation.ALTER, resource_type=ResourceType.CLUSTER),
    rule("clicks", principal="User:bob"),
)
THERE = (
    rule("old.shop.orders", AclOperation.WRITE, "User:shop"),
    rule("old.shop.", AclOperation.READ, "User:shop", pattern=PatternType.PREFIXED),
    rule("billing", principal="User:shop", resource_type=ResourceType.GROUP),
    rule("till", AclOperation.WRITE, "User:shop", resource_type=ResourceType.TRANSACTIONAL_ID, pattern=HERE[3].pattern),
)
FOREIGN = rule("old.shop.orders", AclOperation.DELETE, "User:shop")


@dataclass(frozen=True)
class Guarded:
    """Two clusters whose rules say who may do what; the target has no user of the name that alice is given."""

    old: SandboxCluster
    new: SandboxCluster

    def between(self, ask: Callable[[Cluster, Cluster], Awaitable[T]]) -> T:
        """What comes of asking both as their administrator."""
        return between(context_of(self.old), context_of(self.new), ask)

    def there(self, ask: Callable[[Cluster], Awaitable[T]]) -> T:
        """What comes of asking the target."""
        return on(context_of(self.new), ask)

    def plan(self, migration: Migration = MIGRATION) -> access.AccessPlan:
        """What would be done now."""
        return self.between(lambda old, new: access.plan(old, new, migration))

    def applied(self, migration: Migration = MIGRATION) -> access.AccessReport:
        """What was done."""

        async def go(old: Cluster, new: Cluster) -> access.AccessReport:
            return await access.apply(old, new, await access.plan(old, new, migration))

        return self.between(go)

    def changed(self, cluster: SandboxCluster, add: tuple[Acl, ...] = (), remove: tuple[Acl, ...] = ()) -> None:
        """Rules of somebody else's, added and taken away; returns when the cluster tells it."""

        async def go(client: Cluster) -> None:
            await create_acls(client, add)
            await delete_acls(client, remove)
            async with asyncio.timeout(TIMEOUT_S):
                while not {*add} <= (told := set(await describe_acls(client))) or told & {*remove}:
                    await asyncio.sleep(0.02)

        on(context_of(cluster), go)

    def quota(self, cluster: SandboxCluster, key: QuotaKey, value: float | None) -> None:
        """A quota that somebody else set."""

        async def go(client: Cluster) -> None:
            await alter_quotas(client, {key.entity: {key.name: value}})
            async with asyncio.timeout(TIMEOUT_S):
                while quota_values(await describe_quotas(client)).get(key) != value:
                    await asyncio.sleep(0.02)

        on(context_of(cluster), go)

    def rules(self) -> set[Acl]:
        """The target's."""
        return set(self.there(describe_acls))

    def quotas(self) -> dict[QuotaKey, float]:
        """The target's."""
        return quota_values(self.there(describe_quotas))

    def record(self) -> dict[WaveName, Made]:
        """What is written down on the target, of waves of which something is."""

        async def go(new: Cluster) -> dict[WaveName, Made]:
            record = AccessRecord(new)
            await record.sync()
            return {owner: made for owner, made in record.made.items() if made.rules or made.quotas}

        return self.there(go)


@pytest.fixture(scope="module")
def guarded(request: pytest.FixtureRequest) -> Iterator[Guarded]:
    """The source keeps alice's rules, a quota of hers, and others'; the target a rule that somebody made by hand."""
    specs = [
        ClusterSpec(name, security="SCRAM-SHA-512", authorizer=True, users=USERS, overrides=STEADY)
        for name in ("old", "new")
    ]
    with clusters(request.config, *specs) as (old, new):
        made = Guarded(old, new)
        made.changed(old, HERE)
        made.changed(new, (FOREIGN,))
        made.quota(old, rate_of("alice"), 4096.0)
        yield made


def warned(reasons: tuple[Reason, ...]) -> list[str]:
    """What a person should look at."""
    return [reason.what for reason in reasons if reason.severity is Severity.WARNING]


def test_rules_are_carried_over_kept_up_and_taken_back(guarded: Guarded) -> None:
    """By a plan and again by nothing; a rule removed on the source goes, and none that somebody else has made."""
    before = guarded.rules()
    fence = denials(SHOP, SHOP.topics, HERE, "User:admin")
    guarded.changed(guarded.old, fence)
    found = guarded.plan()
    (wave,) = found.waves
    assert ({*wave.changes.create}, wave.changes.delete) == ({*THERE}, ())
    assert {one.rule for one in wave.refused} == {HERE[4], *fence}
    told = warned(found.reasons)
    assert any("it is about the whole cluster: ALLOW ALTER on LITERAL CLUSTER" in one for one in told), told
    assert any("1 user (shop) with a SCRAM password on old and none on new" in one for one in told), told
    done = guarded.applied()
    assert ({*done.created}, done.deleted) == ({*THERE}, ())
    assert [(change.key, change.value) for change in done.quotas] == [(rate_of("shop"), 4096.0)]
    assert guarded.rules() == before | {*THERE}
    assert guarded.record() == {
        WaveName("move", "shop"): Made(frozenset(THERE), {rate_of("shop"): frozenset({4096.0})})
    }
    again = guarded.applied()
    assert (again.created, again.deleted, again.quotas) == ((), (), ())
    guarded.changed(guarded.old, remove=(HERE[1], *fence))
    assert guarded.applied().deleted == (THERE[1],)
    assert guarded.rules() == before | {*THERE} - {THERE[1]}
    guarded.quota(guarded.new, rate_of("shop"), 1.0)
    assert any("somebody else set it, and it stays" in one for one in warned(guarded.plan().reasons))
    guarded.changed(guarded.new, (later := rule("old.shop.orders", AclOperation.ALTER, "User:shop"),))
    guarded.there(lambda new: access.take_back(new, Leg(MIGRATION, SHOP)))
    assert (guarded.rules(), guarded.quotas(), guarded.record()) == (before | {later}, {rate_of("shop"): 1.0}, {})
    guarded.quota(guarded.new, rate_of("shop"), None)
    guarded.changed(guarded.new, remove=(later,))
    guarded.changed(guarded.old, (HERE[1],))


CARRIER = "User:carrier"


def granted(kind: ResourceType, name: str, *operations: AclOperation) -> tuple[Acl, ...]:
    """What the carrier may do; with topics of a prefix."""
    pattern = PatternType.PREFIXED if kind is ResourceType.TOPIC else PatternType.LITERAL
    allowed = AclPermission.ALLOW
    return tuple(Acl(kind, name, pattern, CARRIER, "*", operation, allowed) for operation in operations)


def test_it_needs_the_rights_that_the_page_names_and_each_of_them(guarded: Guarded) -> None:
    """Those of docs/reference/permissions.md; without one nothing is made, nor taken for made when others make it."""
    cluster, control = (ResourceType.CLUSTER, "kafka-cluster"), (ResourceType.TOPIC, "__anabranch_")
    here = (
        *granted(*cluster, AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS),
        *granted(*control, AclOperation.READ),
    )
    there = (
        *granted(*cluster, AclOperation.ALTER, AclOperation.ALTER_CONFIGS),
        *granted(*control, AclOperation.CREATE, AclOperation.READ, AclOperation.WRITE),
    )
    guarded.changed(guarded.old, here)
    guarded.changed(guarded.new, there)
    before = guarded.rules()
    contexts = context_of(guarded.old, "carrier"), context_of(guarded.new, "carrier")

    async def go(old: Cluster, new: Cluster) -> access.AccessReport:
        return await access.apply(old, new, await access.plan(old, new, MIGRATION))

    for server, one in [*((guarded.old, one) for one in here), *((guarded.new, one) for one in there)]:
        if one.operation in (AclOperation.CREATE, AclOperation.ALTER_CONFIGS):
            continue  # the topic is there by now; quotas are changed after rules are made
        guarded.changed(server, remove=(one,))
        with pytest.raises(PermissionDeniedError, match="User:carrier may not"):
            between(*contexts, go)
        guarded.changed(server, (one,))
        assert (guarded.rules(), guarded.record()) == (before, {}), one
    assert {*between(*contexts, go).created} == {*THERE}
    assert between(*contexts, go).created == ()
    guarded.there(lambda new: access.take_back(new, Leg(MIGRATION, SHOP)))
    guarded.changed(guarded.old, remove=here)
    guarded.changed(guarded.new, remove=there)


@pytest.fixture
def run(guarded: Guarded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """``anabranch migrate`` with contexts of the administrator, and of a user without rights."""
    for name, value in (guarded.old.environment() | guarded.new.environment()).items():
        monkeypatch.setenv(name, value)
    contexts = {"old": guarded.old.context(), "new": guarded.new.context(), "as-alice": guarded.new.context("alice")}
    return console(contexts, tmp_path, monkeypatch, capsys, "migrate")


def test_the_verb_shows_what_it_does_and_does_it(guarded: Guarded, run: Run, tmp_path: Path) -> None:
    """As it is typed: a dry run, the plan's hash, another hash, and nothing to do in the end."""
    path = tmp_path / "move.yaml"
    write(path, migration_fields(MIGRATION))
    before = guarded.rules()
    code, out, err = run("access", "-f", str(path))
    assert code == 0, err
    lines = [line.split() for line in out.splitlines()]
    assert ["make", "ALLOW", "READ", "TOPIC", "old.shop.", "PREFIXED", "User:shop", "*"] in lines
    assert [PRODUCER_BYTE_RATE, "user", "'shop'", "-", "4,096"] in lines
    assert "Dry run. Apply with: anabranch migrate access -f" in err
    assert guarded.rules() == before
    code, out, err = run("access", "-f", str(path), "--execute", "--plan", "0" * 16)
    assert (code, out) == (3, ""), err
    hash_ = guarded.plan().hash
    code, out, err = run("access", "-f", str(path), "--execute", "--plan", hash_, "-o", "json")
    assert code == 0, err
    assert len(json.loads(out)["created"]) == len(THERE)
    code, out, err = run("access", "-f", str(path), "--execute")
    assert code == 0 and "nothing to do on new; plan " in out, err
    guarded.there(lambda new: access.take_back(new, Leg(MIGRATION, SHOP)))


def test_a_plan_tells_what_is_carried_over_and_what_forbids_it(run: Run, tmp_path: Path) -> None:
    """Numbers as information; who may not look at the target's rules cannot begin."""
    path = tmp_path / "move.yaml"
    write(path, migration_fields(MIGRATION))
    code, out, err = run("plan", "-f", str(path), "--watch", "0s", "--steps")
    assert "wave shop: 4 access rules to make on new, 0 to delete, 0 there; 1 quota to change" in out, err
    assert "carry over access rules and quotas of wave shop from old to new" in out
    write(path, migration_fields(replace(MIGRATION, target="as-alice")))
    code, out, err = run("plan", "-f", str(path), "--watch", "0s")
    assert code == 3, (out, err)
    assert "error: access rules cannot be carried over: cluster as-alice: User:alice may not Describe on cluster" in out


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[Stored]:
    """An empty store."""
    database = open_database(str(tmp_path / "store.db"))
    yield Stored(database)
    database.close()


class Rounds:
    """The rounds of an instance that acts, soon after each other, in a loop of their own."""

    def __init__(self, stored: Stored, contexts: Path) -> None:
        self._stored = stored
        self._pool = ClusterPool(contexts)
        self.carrying = Carrying(stored, self._pool, AccessAudit(stored, Hub()), "here", lambda: True)
        self._over = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    async def _run(self) -> None:
        watch = asyncio.create_task(self.carrying.watch())
        await asyncio.to_thread(self._over.wait)
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
        self._pool.close()

    def __enter__(self) -> Self:
        self._stored.leases.take(LEASE, "here", now_ms(), 3_600_000)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(TIMEOUT_S)

    def looks(self) -> dict[str, AccessLook]:
        """What they came to."""
        return looks_of(self._stored.migrations.get("move").access)

    def look(self, condition: Callable[[AccessLook], bool]) -> AccessLook:
        """What one came to for the wave, once it is so."""
        until(lambda: (one := self.looks().get("shop")) is not None and condition(one))
        return self.looks()["shop"]


def run_of(number: int, verb: WaveVerb, earlier: tuple[WaveRun, ...]) -> WaveRun:
    """A run of the wave, as it begins."""
    found = steps_for(standing(MIGRATION, SHOP, earlier), verb)
    return WaveRun(f"r{number}", "move", "shop", verb.value, found.steps, 0, leg=found.leg.number)


def take_back(guarded: Guarded) -> None:
    """Have nothing on the target that was made for the wave."""
    guarded.there(lambda new: access.take_back(new, Leg(MIGRATION, SHOP)))


def keep(stored: Stored, run: WaveRun) -> WaveRun:
    """It begins."""
    kept = run.id, "move", "shop", True, run.state.value, 1, 0, "mei", "", run_fields(run)
    stored.migrations.begin(StoredRun(*kept))
    return run


def end(stored: Stored, run: WaveRun) -> WaveRun:
    """It is done."""
    done = replace(run, state=WaveRunState.DONE)
    stored.migrations.keep(run.id, 1, done.state.value, run_fields(done), is_open=False)
    return done


def test_what_changes_on_the_source_is_carried_over_by_itself_while_a_wave_copies(
    guarded: Guarded, stored: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made, deleted, and somebody else's left alone; who may not look says so, and it heals; never once it switches."""
    for name, value in (guarded.old.environment() | guarded.new.environment()).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(carrying, "ACCESS_EVERY_S", 0.05)
    later = rule("shop.payments", AclOperation.DESCRIBE)
    copied = rule("old.shop.payments", AclOperation.DESCRIBE, "User:shop")
    take_back(guarded)  # what an attempt that failed has left
    guarded.changed(guarded.old, (HERE[1],), (later,))
    before, contexts = guarded.rules(), tmp_path / "contexts.yaml"

    def lead(user: str) -> None:
        """Have the source asked by a user."""
        found = {"old": guarded.old.context(user), "new": guarded.new.context()}
        (tmp_path / "other.yaml").write_text(json.dumps({"contexts": found}))
        (tmp_path / "other.yaml").chmod(0o600)
        (tmp_path / "other.yaml").replace(contexts)

    lead("admin")
    stored.migrations.add("move", migration_fields(MIGRATION), "mei", 0)
    started = end(stored, keep(stored, run_of(1, WaveVerb.START, ())))
    with Rounds(stored, contexts) as rounds:
        first = rounds.look(lambda one: one.created > 0)
        assert (first.created, first.deleted, first.quotas, first.why) == (len(THERE), 0, 1, "")
        assert guarded.rules() == before | {*THERE}
        lead("alice")
        failed = rounds.look(lambda one: one.why != "")
        assert "User:alice may not DescribeConfigs on cluster" in failed.why
        assert (failed.created, rounds.carrying.failures["move"] > 0) == (len(THERE), True)
        guarded.changed(guarded.old, (later,), (HERE[1],))
        assert guarded.rules() == before | {*THERE}
        lead("admin")
        healed = rounds.look(lambda one: one.why == "" and guarded.rules() == (before | {*THERE, copied}) - {THERE[1]})
        assert (healed.created, healed.deleted, healed.good_ms) == (1, 1, healed.at_ms)
        assert before <= guarded.rules()
        said = [(one.account, one.subject, one.detail) for one in stored.audit.entries(9)]
        assert said[0] == ("(service)", "migration move", f"wave shop: made {copied}; deleted {THERE[1]}")

        switching = keep(stored, run_of(2, WaveVerb.SWITCH, (started,)))
        guarded.changed(guarded.old, (HERE[1],), (later,))
        seen = rounds.looks()["shop"].at_ms
        until(lambda: now_ms() > seen + 500)
        end(stored, switching)
        until(lambda: rounds.looks() == {})
        assert guarded.rules() == (before | {*THERE, copied}) - {THERE[1]}
    take_back(guarded)
    assert guarded.rules() == before
