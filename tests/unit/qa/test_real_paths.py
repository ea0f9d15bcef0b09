"""Each verb that talks to a cluster is run on a real one by some test, which this names; the others say why not."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
import typer

from anabranch.cli.app import app

pytestmark = pytest.mark.unit

TESTS = Path(__file__).parents[2]
REAL_PLACES = ("integration", "fault", "contract")
BEGINNINGS = frozenset({"SandboxCluster.start", "start_clusters", "clusters"})
"""What begins brokers' processes; ``tests.simulated.clusters`` does in ``make full``."""

FILE = "it changes or tells a contexts file"
STORE = "it asks the service's store alone"
JOURNAL = "it asks the service's store alone; what it changes there, the next verb obeys"

REAL: Mapping[str, tuple[str, str]] = {
    "serve": ("integration/service/test_route_cli.py", "'serve'"),
    "context test": ("integration/links/test_spark.py", "'context', 'test'"),
    "link create": ("integration/links/test_spark.py", "'link', 'create'"),
    "link list": ("integration/links/test_changes.py", "engine.list_links("),
    "link show": ("integration/links/test_spark.py", "'link', 'show'"),
    "link wait": ("integration/links/test_spark.py", "'link', 'wait'"),
    "link run": ("integration/links/test_run.py", "'link', 'run'"),
    "link stop": ("integration/links/test_run.py", "'link', 'stop'"),
    "link pause": ("integration/links/test_spark.py", "'link', 'pause'"),
    "link resume": ("integration/links/test_spark.py", "'link', 'resume'"),
    "link set": ("integration/links/test_changes.py", "engine.set_wanted("),
    "link accept": ("integration/links/test_decisions.py", "accept.apply("),
    "link abort-transaction": ("integration/links/test_hanging.py", "abort_transaction("),
    "link delete": ("integration/links/test_spark.py", "'link', 'delete'"),
    "link metrics": ("integration/links/test_spark.py", "'link', 'metrics'"),
    "groups list": ("integration/links/test_groups.py", "engine.list_groups("),
    "groups show": ("integration/links/test_groups.py", "engine.show("),
    "groups baseline": ("integration/links/test_groups.py", "engine.baseline("),
    "groups plan": ("integration/links/test_groups.py", "engine.plan_sync("),
    "groups sync": ("integration/links/test_groups.py", "engine.sync("),
    "groups create": ("integration/links/test_groups.py", "engine.create("),
    "groups undo": ("integration/links/test_groups.py", "engine.undo("),
    "mm2 report": ("integration/mm2/test_mm2_offsets_real.py", "judge("),
    "mm2 translate": ("integration/mm2/test_mm2_offsets_real.py", "translate(source, target, "),
    "mm2 publish": ("integration/mm2/test_mm2_offsets_real.py", "publish(target, "),
    "offsets translate": ("integration/links/test_way_back.py", "offset_engine.translate("),
    "offsets ranges": ("integration/links/test_maps.py", "offset_engine.ranges("),
    "offsets export": ("integration/checkpoints/test_workflow.py", "'offsets', 'export'"),
    "offsets rebuild": ("integration/links/test_run.py", "'offsets', 'rebuild'"),
    "checkpoint inspect": ("integration/checkpoints/test_workflow.py", "'checkpoint', 'inspect'"),
    "checkpoint advise": ("integration/links/test_checkpoint_advice.py", "operation.advise("),
    "checkpoint plan": ("integration/checkpoints/test_workflow.py", "'checkpoint', 'plan'"),
    "checkpoint rewrite": ("integration/checkpoints/test_workflow.py", "'checkpoint', 'rewrite'"),
    "checkpoint verify": ("integration/checkpoints/test_workflow.py", "'checkpoint', 'verify'"),
    "checkpoint undo": ("integration/checkpoints/test_workflow.py", "'checkpoint', 'undo'"),
    "verify start": ("integration/links/test_run.py", "'verify', 'start'"),
    "verify show": ("fault/ends/test_ended_verbs.py", "'verify', 'show'"),
    "verify stop": ("integration/verify/test_verbs.py", "verbs('stop')"),
    "verify resume": ("integration/links/test_run.py", "'verify', 'resume'"),
    "migrate discover": ("integration/migrations/test_migrate_cli.py", "run('discover'"),
    "migrate plan": ("integration/migrations/test_migrate_cli.py", "run('plan'"),
    "migrate access": ("integration/migrations/test_access.py", "run('access'"),
    "migrate rehearse": ("integration/service/test_migrations.py", "typed(run, 'rehearse'"),
    "migrate start": ("integration/service/test_migrations.py", "typed(run, 'start'"),
    "migrate verify": ("integration/service/test_migrations.py", "typed(run, 'verify'"),
    "migrate switch": ("integration/service/test_migrations.py", "typed(run, 'switch'"),
    "migrate reverse": ("integration/service/test_migrations.py", "typed(run, 'reverse'"),
    "migrate reconcile": ("integration/service/test_source_lost.py", "typed(run, 'reconcile'"),
    "migrate complete": ("integration/service/test_migrations.py", "typed(run, 'complete'"),
    "migrate cancel": ("integration/service/test_migrations.py", "typed(run, 'cancel'"),
    "migrate status": ("integration/service/test_migrations.py", "typed(run, 'status'"),
    "migrate show": ("integration/service/test_source_lost.py", "'migrate', 'show'"),
    "migrate throttle": ("integration/links/test_migration_throttle.py", "MigrationThrottle("),
    "migrate resume": ("integration/links/test_migration_throttle.py", "MigrationThrottle("),
    "route apply": ("integration/sdk/test_typed_moves.py", "'route', 'apply'"),
    "route rollback": ("integration/sdk/test_typed_moves.py", "'route', 'rollback'"),
    "stream create": ("integration/service/test_alerts.py", "done('create'"),
    "stream edit": ("integration/streams/test_life.py", "done('edit'"),
    "stream publish": ("integration/streams/test_life.py", "done('publish'"),
    "stream rollback": ("integration/streams/test_life.py", "done('rollback'"),
    "stream delete": ("integration/streams/test_life.py", "done('delete'"),
    "stream validate": ("integration/streams/test_stream_jobs.py", "'stream', 'validate'"),
    "stream preview": ("integration/streams/test_stream_jobs.py", "'stream', 'preview'"),
    "stream run": ("integration/streams/test_stream_jobs.py", "'stream', 'run'"),
    "stream try": ("integration/streams/test_tried_versions.py", "run('try'"),
    "stream start": ("integration/streams/test_life.py", "done('start'"),
    "stream stop": ("integration/streams/test_life.py", "done('stop'"),
    "stream restart": ("integration/streams/test_life.py", "done('restart'"),
    "catalog create": ("integration/streams/test_catalog.py", "planned(served, 'admin', 'create'"),
    "catalog import": ("integration/streams/test_catalog.py", "do(served, 'admin', 'import'"),
    "catalog drop": ("integration/streams/test_catalog.py", "planned(served, 'admin', 'drop'"),
    "sandbox up": ("integration/sandbox/test_sandbox_processes.py", "run_cli(tmp_path, 'up'"),
    "sandbox status": ("integration/sandbox/test_sandbox_processes.py", "run_cli(tmp_path, 'status'"),
    "sandbox logs": ("integration/sandbox/test_sandbox_processes.py", "run_cli(tmp_path, 'logs'"),
    "sandbox down": ("integration/sandbox/test_sandbox_processes.py", "run_cli(tmp_path, 'down'"),
    "sandbox proxy": ("integration/sandbox/test_sandbox_processes.py", "run_cli(tmp_path, 'proxy'"),
    "sandbox replay": ("integration/sandbox/test_sandbox_replay.py", "replay("),
}
"""By verb, the test file, below ``tests``, and the command or the operation that is called in it."""
NONE: Mapping[str, str] = {
    **dict.fromkeys(("context list", "context show", "context add", "context use", "context remove"), FILE),
    "link package": "it makes a file",
    **dict.fromkeys(("migrate set", "migrate hold", "migrate release", "migrate approve"), JOURNAL),
    **{f"route {one}": STORE for one in ("show", "versions", "explain", "clients", "switches", "cancel")},
    **{f"stream {one}": STORE for one in ("list", "show", "versions", "diff", "lineage", "abandon", "alerts")},
    "stream logs": "it reads a file",
    "stream checkpoint": "it copies and deletes files",
    **{f"artifact {one}": STORE for one in ("upload", "list", "show", "download", "delete")},
    **{f"catalog {one}": STORE for one in ("list", "show", "versions", "set", "grants", "grant", "revoke")},
    **{f"catalog {one}": STORE for one in ("groups", "group")},
    **{f"account {one}": STORE for one in ("list", "add", "set")},
    **{f"token {one}": STORE for one in ("list", "create", "revoke")},
}
"""Why a verb needs no cluster."""


def verbs() -> Iterator[str]:
    """All verbs, with their groups."""

    def below(command: object, path: tuple[str, ...]) -> Iterator[str]:
        commands = getattr(command, "commands", None)
        if commands is None:
            yield " ".join(path)
            return
        for name, one in commands.items():
            yield from below(one, (*path, name))

    yield from below(typer.main.get_command(app), ())


@cache
def code(file: Path) -> str:
    """A file as Python writes it again: without comments, and without texts that stand alone."""
    tree = ast.parse(file.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [one for one in node.body if not is_text(one)] or [ast.Pass()]
    return ast.unparse(tree)


def is_text(node: ast.stmt) -> bool:
    """Whether a statement is a text that does nothing."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def calls(tree: ast.Module) -> set[str]:
    """The names of what a file calls."""
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


@cache
def begins_brokers(file: Path) -> bool:
    """Whether a test file begins brokers' processes: itself, by what it imports of the tests, or by a fixture."""
    seen, waiting = {TESTS / "simulated.py"}, [file]
    while waiting:
        one = waiting.pop()
        if one in seen or not one.exists():
            continue
        seen.add(one)
        tree = ast.parse(one.read_text("utf-8"))
        if calls(tree) & BEGINNINGS:
            return True
        waiting += [parent / "conftest.py" for parent in one.parents if parent.is_relative_to(TESTS)]
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("tests.", "qa.")):
                waiting.append(TESTS.parent / f"{str(node.module).replace('.', '/')}.py")
    return False


def test_every_verb_has_a_real_path_or_a_reason() -> None:
    """A new verb is written down here; one that is gone is taken away."""
    known = list(verbs())
    assert sorted(known) == sorted([*REAL, *NONE])
    assert not set(REAL) & set(NONE)


@pytest.mark.parametrize("verb", sorted(REAL))
def test_a_verb_is_run_on_a_real_cluster(verb: str) -> None:
    """The file is there, begins brokers, and calls it; a comment or a docstring that names it is no call."""
    name, call = REAL[verb]
    assert name.split("/")[0] in REAL_PLACES and name.rpartition("/")[2].startswith("test_")
    file = TESTS / name
    assert call in code(file), f"{name} does not hold {call}"
    assert begins_brokers(file), f"{name} begins no brokers"
