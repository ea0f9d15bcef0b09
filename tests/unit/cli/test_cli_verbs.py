"""The verbs, from flags to operations and back to text and exit codes."""

from __future__ import annotations

import json
import shlex
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml

from anabranch import __version__
from anabranch.cli import main as cli
from anabranch.errors import AnabranchError, ClusterError, ProtocolError, RefusedError
from anabranch.groups.continuous_sync import SyncState
from anabranch.groups.freshness import SyncRound
from anabranch.kafka.errors import AuthenticationError, UnreachableError
from anabranch.model.cluster import ClusterContext
from anabranch.model.link import ClusterRef, GroupRules, LinkRecord, LinkSpec, WantedState
from anabranch.model.plugins import PluginSpec
from anabranch.model.reasons import Reason, Severity
from anabranch.model.reports import ClusterFacts, DeletePlan, DeleteReport, LinkPlan, LinkStatus, StopPlan, StopReport
from anabranch.model.runevents import LogFormat
from anabranch.operations.jobs import launcher
from anabranch.operations.jobs.startedjob import StartedJob
from anabranch.operations.jobs.submission import Submission
from anabranch.operations.links import run as running
from anabranch.operations.links.change import PAUSE, RESUME, ChangeLinkPlan, ChangeLinkReport, WantedChanges
from anabranch.operations.links.create import CreateLinkPlan, CreateLinkReport

pytestmark = pytest.mark.unit

SPEC = LinkSpec("old-new", ClusterRef("old", "A"), ClusterRef("new", "B"), lease_seconds=45)
STATUS = LinkStatus(LinkRecord(WantedState(SPEC), ("A",), 0), (), None, 0)


class Engine:
    """The operations, filled with values; keeps what it was asked.  Clusters are the contexts that lead to them."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.findings: tuple[Reason, ...] = ()
        self.fails: BaseException | None = None
        self.status = STATUS
        self.code = 0
        self.runs = False
        self.runs_that_stop: tuple[str, ...] = ()

    async def plan_create(
        self, source: ClusterContext, target: ClusterContext, spec: LinkSpec, adopt: tuple[Any, ...]
    ) -> CreateLinkPlan:
        self._ask("plan create", source.name, target.name, spec)
        facts = ClusterFacts("old", "A", "3.9.1", 1)
        return CreateLinkPlan(spec, facts, facts, (), self.findings, "cafe", spec, adopt)

    async def create(self, source: ClusterContext, target: ClusterContext, planned: CreateLinkPlan) -> CreateLinkReport:
        self._ask("create", source.name, target.name, planned.spec)
        return CreateLinkReport(planned, LinkRecord(WantedState(planned.spec), ("A",), 0))

    async def read(self, standing: Any) -> list[LinkStatus]:
        self._ask("list", standing._cluster.name)
        return [STATUS]

    async def of(self, standing: Any, link_id: str) -> LinkStatus:
        self._ask("show", standing._cluster.name, link_id)
        return self.status

    async def plan_change(self, target: ClusterContext, link_id: str, changes: WantedChanges) -> ChangeLinkPlan:
        wanted = self.status.wanted
        return ChangeLinkPlan(link_id, wanted, changes.of(wanted), "cafe", changes)

    async def change(self, target: ClusterContext, planned: ChangeLinkPlan) -> ChangeLinkReport:
        self._ask("change", target.name, planned.link, planned.changes)
        return ChangeLinkReport(planned.link, planned.after)

    async def plan_delete(self, target: ClusterContext, link_id: str) -> DeletePlan:
        self._ask("plan delete", target.name, link_id)
        return DeletePlan(link_id, (), {}, {"__anabranch_links": 1}, self.runs, "cafe")

    async def delete(self, target: ClusterContext, planned: DeletePlan) -> DeleteReport:
        self._ask("delete", target.name, planned.link, planned.hash)
        return DeleteReport(planned, self.findings)

    def start_link(
        self,
        target: ClusterContext,
        source: ClusterContext,
        link_id: str,
        how: Submission,
        lease_seconds: int,
        directory: Path,
        log_format: LogFormat,
        detached: bool = False,
    ) -> StartedJob:
        self.directory, self.how = directory, how
        if not detached:
            self._ask("run", target.name, source.name, link_id, how.master, lease_seconds, log_format.value)
            ended = SimpleNamespace(poll=lambda: self.code, wait=lambda: self.code)
            return StartedJob("run-1", directory, cast(Any, ended))
        self._ask("start", link_id, how.master, detached)
        directory.mkdir(parents=True, exist_ok=True)
        log = directory / "run-1.log"
        log.write_text("noise\nerror: no master answers\nhint: check --master\n")
        plan = LinkPlan(link_id, "run-1", 1, 0, 2)
        process = SimpleNamespace(pid=4711, poll=lambda: self._begin(plan), wait=lambda: self.code)
        return StartedJob("run-1", log, cast(Any, process))

    def job_spec(self, target: ClusterContext, source: ClusterContext, link_id: str, lease_seconds: float) -> str:
        self._ask("spec", target.name, source.name, link_id, lease_seconds)
        return "{}"

    def _begin(self, plan: LinkPlan) -> int | None:
        """The job ends with its code, or has planned by the next look."""
        self.status = replace(self.status, plan=plan)
        return self.code or None

    async def plan_stop(self, target: ClusterContext, link_id: str, wait_s: float) -> StopPlan:
        return StopPlan(link_id, self.runs_that_stop, wait_s, "cafe")

    async def stop(self, target: ClusterContext, planned: StopPlan) -> StopReport:
        self._ask("stop", target.name, planned.link, planned.wait_s)
        return StopReport(planned.link, planned.runs, ended=planned.wait_s > 0)

    def _ask(self, *what: Any) -> None:
        self.asked.append(what)
        if self.fails is not None:
            raise self.fails


@pytest.fixture
def engine(no_clusters: list[str], monkeypatch: pytest.MonkeyPatch) -> Engine:
    """The operations that the verbs reach."""
    made = Engine()
    links = "anabranch.operations.links"
    for verb in ("create", "change", "delete", "stop"):
        monkeypatch.setattr(f"{links}.{verb}.plan", getattr(made, f"plan_{verb}"))
        monkeypatch.setattr(f"{links}.{verb}.apply", getattr(made, verb))

    async def of(standing: Any, link_id: str) -> LinkStatus:  # for a test may replace the engine's
        return await made.of(standing, link_id)

    async def read(standing: Any) -> list[LinkStatus]:
        return await made.read(standing)

    monkeypatch.setattr(f"{links}.status.LinkStatusReader.of", of)
    monkeypatch.setattr(f"{links}.status.LinkStatusReader.read", read)
    for name in ("start_link", "job_spec"):
        monkeypatch.setattr(f"anabranch.operations.jobs.launcher.{name}", getattr(made, name))
    return made


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the console script's function with arguments; answers exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    for name in ("ANABRANCH_CONTEXTS", "ANABRANCH_TARGET"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "200")
    clusters = {"old": {"bootstrap": ["o:1"]}, "new": {"bootstrap": ["n:1"]}}
    (tmp_path / "anabranch.yaml").write_text(yaml.safe_dump({"contexts": clusters, "target": "new"}))

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["anabranch", *arguments])
        with pytest.raises(SystemExit) as left:
            cli.main()
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    return call


def test_version(run: Run) -> None:
    """The program says which it is."""
    assert run("--version") == (0, f"anabranch {__version__}\n", "")


def test_every_verb_has_help(run: Run) -> None:
    """Each verb explains itself, without reaching a cluster."""
    for verb in ("create", "list", "show", "run", "pause", "resume", "set", "delete"):
        assert run("link", verb, "--help")[0] == 0
    for verb in ("list", "show", "add", "use", "remove"):
        assert run("context", verb, "--help")[0] == 0


def test_shell_completion_is_on(run: Run) -> None:
    """The shells' completion can be installed."""
    assert "--install-completion" in run("--help")[1]


def test_no_flag_takes_a_secret(run: Run) -> None:
    """Secrets have only flags that name where they are."""
    flags = {word for word in run("context", "add", "--help")[1].split() if word.startswith("--")}
    for secret in ("--password", "--client-secret", "--key-password", "--token"):
        assert secret not in flags
        assert {f"{secret}-env", f"{secret}-file"} <= flags


class Odd(AnabranchError):
    """An error of no branch."""


@pytest.mark.parametrize(
    ("error", "code"), [(Odd(), 1), (RefusedError(), 3), (ClusterError(), 4), (ProtocolError(), 5)]
)
def test_errors_become_exit_codes(run: Run, engine: Engine, error: AnabranchError, code: int) -> None:
    """Each branch of the errors has its code, and its text goes to standard error only."""
    engine.fails = error
    assert run("link", "show", "old-new") == (code, "", f"error: {type(error).__name__}\n")


def test_errors_tell_the_fix_on_a_line_of_its_own(run: Run) -> None:
    """error: and hint: can be cut out by a script, however long they are."""
    code, out, err = run("link", "show", "old-new", "--target", "p" * 60)
    lines = err.splitlines()
    assert (code, out, len(lines)) == (2, "", 2)
    assert lines[0].startswith(f"error: no cluster context {'p' * 60!r} in ")
    assert lines[1] == f"hint: anabranch context add {'p' * 60} --bootstrap HOST:PORT"


def test_wrong_usage_is_exit_code_2(run: Run) -> None:
    """An unknown verb or flag is the user's error, as a wrong file is."""
    assert run("link", "destroy")[0] == 2
    assert run("link", "show", "x", "--password", "y")[0] == 2


def test_contexts_are_added_listed_used_and_removed(run: Run, tmp_path: Path) -> None:
    """The file follows the verbs."""
    assert run("context", "add", "prod", "--bootstrap", "a:1, b:1", "--protocol", "SASL_SSL")[0] == 2
    login = ("--mechanism", "SCRAM-SHA-512", "--username", "u", "--password-env", "P", "--ca-file", "ca.pem")
    added = run("context", "add", "prod", "--bootstrap", "a:1, b:1", "--protocol", "SASL_SSL", *login)
    assert added[0] == 0
    _code, out, _ = run("context", "show", "prod", "-o", "json")
    assert json.loads(out) == {
        "name": "prod",
        "bootstrap": ["a:1", "b:1"],
        "security": {
            "protocol": "SASL_SSL",
            "tls": {"ca_file": str(tmp_path / "ca.pem")},
            "sasl": {"mechanism": "SCRAM-SHA-512", "username": "u", "password_env": "P"},
        },
    }
    assert "security.sasl.password_env" in run("context", "show", "prod", "-o", "table")[1]
    assert run("context", "use", "prod")[0] == 0
    listed = run("context", "list")[1]
    assert any(line.split()[:2] == ["*", "prod"] for line in listed.splitlines())
    assert "project file" in listed
    assert json.loads(run("context", "list", "-o", "json")[1])["target"] == "prod"
    assert run("context", "remove", "prod")[0] == 0
    assert yaml.safe_load(run("context", "list", "-o", "yaml")[1])["contexts"].keys() == {"old", "new"}


def test_a_contexts_file_that_is_named_and_not_there_is_an_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty list would be an answer about another file; only ``context add`` makes a new one."""
    code, out, err = run("--contexts", "typo.yaml", "context", "list")
    assert (code, out) == (2, "")
    assert "there is no contexts file typo.yaml, which --contexts names" in err
    assert run("--contexts", "typo.yaml", "link", "show", "x")[0] == 2
    assert run("--contexts", "new.yaml", "context", "add", "x", "--bootstrap", "x:1")[0] == 0
    assert run("--contexts", "new.yaml", "context", "list")[0] == 0
    monkeypatch.setenv("ANABRANCH_CONTEXTS", "typo.yaml")
    assert "ANABRANCH_CONTEXTS names" in run("context", "list")[2]


def test_a_protocol_that_needs_a_login_says_how_to_give_one(run: Run) -> None:
    """By flags, as it was tried."""
    code, _, err = run("context", "add", "prod", "--bootstrap", "a:1", "--protocol", "SASL_SSL")
    assert code == 2
    assert "hint: say how to log in: --mechanism" in err


def test_the_contexts_flag_comes_before_the_project(run: Run, tmp_path: Path) -> None:
    """Another file is used whole."""
    other = tmp_path / "other.yaml"
    assert run("--contexts", str(other), "context", "add", "x", "--bootstrap", "x:1")[0] == 0
    assert list(json.loads(run("--contexts", str(other), "context", "list", "-o", "json")[1])["contexts"]) == ["x"]


def test_the_environment_comes_before_the_file(
    run: Run, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the target, and for which file the contexts are in; a flag comes before both."""
    monkeypatch.setenv("ANABRANCH_TARGET", "old")
    assert run("link", "list")[0] == 0
    assert run("link", "list", "--target", "new")[0] == 0
    other = tmp_path / "other.yaml"
    other.write_text(yaml.safe_dump({"contexts": {"third": {"bootstrap": ["t:1"]}}, "target": "third"}))
    monkeypatch.delenv("ANABRANCH_TARGET")
    monkeypatch.setenv("ANABRANCH_CONTEXTS", str(other))
    assert run("link", "list")[0] == 0
    assert engine.asked == [("list", "old"), ("list", "new"), ("list", "third")]


def test_a_planned_link_is_not_stored(run: Run, engine: Engine) -> None:
    """Both clusters are probed; the command that stores it is the one that was typed, and a word more."""
    code, _, err = run("link", "create", "--source", "old", "--include", "a.*")
    command = "anabranch link create --source old --include 'a.*' --execute --plan cafe"
    assert (code, err) == (0, f"Dry run. Apply with: {command}\n")
    assert [asked[0] for asked in engine.asked] == ["plan create"]
    assert run(*shlex.split(command)[1:])[2] == ""
    assert [asked[0] for asked in engine.asked[1:]] == ["plan create", "create"]


def test_only_the_plan_that_is_named_is_applied(run: Run, engine: Engine) -> None:
    """Another one is refused before anything is done, with the command that shows it; it requires --execute."""
    create = ("link", "create", "--source", "old")
    for verb, again in ((create, " ".join(create)), (("link", "delete", "old-new"), "link delete old-new")):
        code, out, err = run(*verb, "--execute", "--plan", "beef")
        assert (code, out) == (3, "")
        assert "changed since plan beef: it would be plan cafe now" in err and f"look again: `anabranch {again}`" in err
        assert run(*verb, "--plan=cafe")[0] == 2
    assert {asked[0] for asked in engine.asked} == {"plan create", "plan delete"}


def test_a_link_is_created_from_flags(run: Run, engine: Engine) -> None:
    """Flags become the same spec as a file's fields."""
    code, out, _ = run(
        *("link", "create", "--source", "old", "--id", "mirror", "--include", "a.*", "--include", "b"),
        *("--exclude", "c", "--naming", "{source}-{topic}", "--replication-factor", "2", "--start", "latest"),
        *("--mode", "mapped", "--rate-limit", "50MB/s", "--lease-seconds", "20", "--execute"),
    )
    assert code == 0
    name, source, target, spec = engine.asked[-1]
    assert (name, source, target) == ("create", "old", "new")
    assert spec.filter == PluginSpec("regex", {"include": ["a.*", "b"], "exclude": ["c"]})
    assert spec.naming == PluginSpec("template", {"template": "{source}-{topic}"})
    assert (spec.id, spec.replication_factor, spec.rate_limit, spec.lease_seconds) == ("mirror", 2, 50_000_000, 20)
    assert "anabranch link run mirror" in out


def test_a_link_is_created_from_a_file(run: Run, engine: Engine, tmp_path: Path) -> None:
    """The file says all, and flags beside it are refused."""
    (tmp_path / "link.yaml").write_text("{source: old, target: new, naming: {kind: prefix}}")
    code, out, _ = run("link", "create", "-f", "link.yaml", "-o", "json")
    assert code == 0
    assert (json.loads(out)["hash"], "asked" in json.loads(out)) == ("cafe", False)
    assert [asked[0] for asked in engine.asked] == ["plan create"]
    assert engine.asked[0][3].naming == PluginSpec("prefix")
    assert run("link", "create", "-f", "link.yaml", "--mode", "auto")[2].startswith("error: link create: --mode")
    assert run("link", "create")[2].startswith("error: link create: --source: missing")


def test_a_link_that_is_not_created_is_an_error(run: Run, engine: Engine) -> None:
    """The report is printed whole, and the exit code says that nothing was stored."""
    engine.findings = (
        Reason.found(Severity.ERROR, "no topic matches the filter", "anabranch link create --include ..."),
    )
    assert run("link", "create", "--source", "old", "--execute")[0] == 3
    code, out, err = run("link", "create", "--source", "old")
    assert (code, {asked[0] for asked in engine.asked}) == (3, {"plan create"})
    assert "error: no topic matches the filter\n  fix: anabranch link create" in out
    assert err.startswith("error: link 'old-new' was not created: 1 error was found\nhint: ")


def test_links_are_listed_and_shown(run: Run, engine: Engine) -> None:
    """As tables, JSON and YAML, from the target that is named or the file's."""
    assert "not running" in run("link", "list")[1]
    assert json.loads(run("link", "list", "-o", "json")[1])[0]["record"]["wanted"]["spec"]["id"] == "old-new"
    assert "no lanes yet" in run("link", "show", "old-new", "-t", "old")[1]
    assert yaml.safe_load(run("link", "show", "old-new", "-o", "yaml")[1])["lanes"] == []
    assert [asked[1] for asked in engine.asked] == ["new", "new", "old", "new"]
    assert run("link", "show", "old-new", "--watch", "-o", "json")[0] == 2


def test_the_live_view_ends_with_ctrl_c(run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaving the view is no error."""
    shown = engine.of

    async def look(standing: Any, link_id: str) -> LinkStatus:
        signal.raise_signal(signal.SIGINT)
        return await shown(standing, link_id)

    monkeypatch.setattr(engine, "of", look)
    code, out, err = run("link", "show", "old-new", "--watch")
    assert (code, err, engine.asked) == (0, "", [("show", "new", "old-new")])
    assert out.splitlines()[-1] == "detached; the link is as it was"


def test_a_running_link_is_changed(run: Run, engine: Engine) -> None:
    """Filter and rate are changed, pause and resume take effect; no change is an error."""
    assert run("link", "set", "old-new", "--include", "a", "--rate-limit", "none")[0] == 0
    assert run("link", "set", "old-new", "--rate-limit", "1MB")[0] == 0
    assert run("link", "pause", "old-new")[0] == 0
    assert run("link", "resume", "old-new")[0] == 0
    assert engine.asked == [
        ("show", "new", "old-new"),
        ("change", "new", "old-new", WantedChanges(PluginSpec("regex", {"include": ["a"]}), None)),
        ("change", "new", "old-new", WantedChanges(rate_limit=1_000_000)),
        ("change", "new", "old-new", PAUSE),
        ("change", "new", "old-new", RESUME),
    ]
    assert run("link", "set", "old-new")[0] == 2
    assert run("link", "set", "old-new", "--include", "[")[0] == 2
    assert [asked[0] for asked in engine.asked[5:]] == ["show"]


def test_a_change_tells_what_is_another_by_it(run: Run, engine: Engine) -> None:
    """What was given and is so already is no change."""
    engine.status = LinkStatus(
        LinkRecord(WantedState(replace(SPEC, filter=PluginSpec("regex", {"include": ["a"]}))), ("A",), 0), (), None, 0
    )
    same = ("link", "set", "old-new", "--include", "a")
    assert run(*same, "--rate-limit", "5MB/s")[1] == "link old-new: rate limit changed\n"
    assert run(*same, "--rate-limit", "none")[1] == "link old-new is so already\n"
    assert run("link", "set", "old-new", "--include", "b", "--rate-limit", "1MB")[1].endswith(
        "old-new: rate limit and filter changed\n"
    )


def test_of_a_filter_only_the_list_that_is_given_is_replaced(run: Run, engine: Engine) -> None:
    """To leave one topic more out takes in no others; what a plug-in selects cannot be kept, and is refused."""
    kept = {"include": ["a.*"], "exclude": ["ab"]}

    def changed(before: PluginSpec, *flags: str) -> Any:
        wanted = WantedState(replace(SPEC, filter=before))
        engine.status = LinkStatus(LinkRecord(wanted, ("A",), 0), (), None, 0)
        code = run("link", "set", "old-new", *flags)[0]
        return engine.asked[-1][3].filter.options if code == 0 else code

    assert changed(PluginSpec("regex", kept), "--exclude", "ac") == {"include": ["a.*"], "exclude": ["ac"]}
    assert changed(PluginSpec("regex", kept), "--include", "b") == {"include": ["b"], "exclude": ["ab"]}
    assert changed(PluginSpec("theirs", {"x": 1}), "--include", "b") == {"include": ["b"]}
    assert changed(PluginSpec("theirs", {"x": 1}), "--exclude", "b") == 2
    assert engine.asked[-1][0] == "show"


def test_a_link_begins_and_ends_to_follow_groups_while_it_runs(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New patterns replace the old ones, an interval alone keeps them, none ends it; `link show` tells how it goes."""

    async def last_sync(target: ClusterContext, link_id: str) -> SyncRound:
        return SyncRound(link_id, "run-1", 99_000, 98_000, 40, 10_000, 2, {SyncState.IN_SYNC: 2})

    def follows(rules: GroupRules | None) -> None:
        wanted = WantedState(replace(SPEC, groups=rules))
        engine.status = LinkStatus(LinkRecord(wanted, ("A",), 0), (), None, 100_000)

    monkeypatch.setattr("anabranch.operations.links.show.last_sync", last_sync)
    assert run("link", "set", "old-new", "--sync-groups", "a.*", "--sync-interval", "1s")[0] == 0
    assert engine.asked[-1][3] == WantedChanges(groups=GroupRules(("a.*",), interval_ms=1000))
    follows(GroupRules(("a.*",), ("b",), 5000))
    assert run("link", "set", "old-new", "--sync-interval", "1min", "--checkpoints")[0] == 0
    assert engine.asked[-1][3] == WantedChanges(groups=GroupRules(("a.*",), ("b",), 60_000, True))
    assert run("link", "set", "old-new", "--sync-groups", "none")[0] == 0
    assert engine.asked[-1][3] == WantedChanges(groups=None)
    code, out, _ = run("link", "show", "old-new")
    assert (code, "continuous sync: 2 in sync; positions of 2.0 s ago" in out) == (0, True)
    value = json.loads(run("link", "show", "old-new", "-o", "json")[1])
    assert value["sync"]["interval_ms"] == 10_000
    follows(None)
    assert run("link", "set", "old-new", "--sync-interval", "1s")[0] == 2
    assert run("link", "set", "old-new", "--sync-groups", "a", "--sync-interval", "500ms")[0] == 2


def test_a_deletion_is_only_shown_without_execute(run: Run, engine: Engine) -> None:
    """With it the plan is shown and applied; an answer as JSON is what came of it."""
    code, out, err = run("link", "delete", "old-new")
    assert (code, engine.asked) == (0, [("plan delete", "new", "old-new")])
    assert "__anabranch_links: 1 records forgotten" in out
    assert err == "Dry run. Apply with: anabranch link delete old-new --execute --plan cafe\n"
    code, out, _ = run("link", "delete", "old-new", "--execute")
    assert engine.asked[1:] == [("plan delete", "new", "old-new"), ("delete", "new", "old-new", "cafe")]
    assert "__anabranch_links: 1 records forgotten" in out and "done: link old-new is deleted" in out
    assert json.loads(run("link", "delete", "old-new", "--execute", "-o", "json")[1])["plan"]["hash"] == "cafe"


def test_what_a_deletion_could_not_give_back_is_told(run: Run, engine: Engine) -> None:
    """With its fix, beside that the link is gone."""
    engine.findings = (Reason.found(Severity.WARNING, "topic orders: may not Alter", "kafka-acls --add"),)
    code, out, _ = run("link", "delete", "old-new", "--execute", "--plan", "cafe")
    assert (code, out.splitlines()) == (
        0,
        ["warning: topic orders: may not Alter", "  fix: kafka-acls --add", "done: link old-new is deleted"],
    )


def test_a_link_is_run_with_its_own_lease(run: Run, engine: Engine) -> None:
    """The source is found by the stored context; flags come first."""
    assert run("link", "run", "old-new", "--master", "local[2]")[0] == 0
    assert run("link", "run", "old-new", "--lease-seconds", "5")[0] == 0
    assert [a for a in engine.asked if a[0] == "run"] == [
        ("run", "new", "old", "old-new", "local[2]", 45, "text"),
        ("run", "new", "old", "old-new", "local[*,8]", 5, "text"),
    ]


def test_a_run_answers_with_the_jobs_own_code(run: Run, engine: Engine) -> None:
    """A clean stop says how to go on; a failure is passed on as it is."""
    assert run("link", "run", "old-new") == (0, "", "go on with: anabranch link run old-new\n")
    assert run("link", "run", "old-new", "--log-format", "json") == (0, "", "")
    engine.code = 4
    assert run("link", "run", "old-new") == (4, "", "")


def test_sparks_log_is_in_the_users_state_directory(run: Run, engine: Engine, tmp_path: Path) -> None:
    """One directory a link."""
    run("link", "run", "old-new")
    assert engine.directory == tmp_path / "state" / "anabranch" / "link" / "old-new"


def test_who_runs_a_link_that_runs_is_told_so(run: Run, engine: Engine) -> None:
    """It is no refusal: the other may be dead for some seconds."""
    engine.status = replace(STATUS, plan=LinkPlan("old-new", "run-7", 1, 0, 2))
    code, _, err = run("link", "run", "old-new", "--target", "new")
    assert code == 0
    assert "run-7 has reported" in err and "anabranch link stop old-new --target new" in err


def test_a_link_that_is_detached_is_left_once_it_has_planned(run: Run, engine: Engine) -> None:
    """So that `link stop` finds it."""
    code, _, err = run("link", "run", "old-new", "--detach")
    assert (code, ("start", "old-new", "local[*,8]", True) in engine.asked) == (0, True)
    assert "run-1 starts as process 4711" in err and "run-1.log" in err
    assert err.splitlines()[-1] == "it runs; end it with: anabranch link stop old-new"


def test_a_detached_link_that_does_not_begin_says_why(run: Run, engine: Engine) -> None:
    """With the job's own words and code, from its log."""
    engine.code = 2
    code, _, err = run("link", "run", "old-new", "-d")
    assert code == 2
    assert err.splitlines()[-2:] == [
        "error: run-1 did not begin: the job ended with 2: no master answers",
        "hint: check --master",
    ]


def test_a_submitted_driver_is_not_waited_for_for_ever(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It may have failed, or wait for room; the name of its run is drawn there."""
    submitted = SimpleNamespace(pid=4711, poll=lambda: 0, wait=lambda: 0)
    monkeypatch.setattr(running, "PLAN_S", 0.0)
    monkeypatch.setattr(launcher, "start_link", lambda *_, **__: StartedJob("run-1", tmp_path, cast(Any, submitted)))
    code, out, err = run("link", "run", "old-new", "--master", "yarn", "--deploy-mode", "cluster", "--detach")
    assert (code, out) == (0, "") and "run-1" not in err and "spark-submit starts as process 4711" in err
    assert "submitted; it has not planned yet" in err and "anabranch link show old-new; on YARN: yarn app" in err
    assert "yarn application -kill" in err


def test_a_target_that_is_away_for_a_moment_ends_no_wait(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run goes on meanwhile; what does not pass is told."""
    monkeypatch.setattr(running, "LOOK_S", 0.0)
    looks: list[AnabranchError | None] = [None, None, UnreachableError("new", ("n:1: refused",)), None]
    show = engine.of

    async def look(standing: Any, link_id: str) -> LinkStatus:
        if (error := looks.pop(0)) is not None:
            raise error
        return await show(standing, link_id)

    monkeypatch.setattr(engine, "of", look)
    code, _, err = run("link", "run", "old-new", "--detach")
    assert (code, looks) == (0, []) and err.splitlines()[-1].startswith("it runs; ")
    looks += [None, None, AuthenticationError("new", "User:ann", "PLAIN", "wrong credentials")]
    assert run("link", "run", "old-new", "--detach")[0] == 4


def test_a_link_is_stopped_from_anywhere(run: Run, engine: Engine) -> None:
    """What was asked, and whether it has ended; one that does not run is no error."""
    assert run("link", "stop", "old-new")[:2] == (0, "link old-new does not run\n")
    engine.runs_that_stop = ("run-1", "run-2")
    code, out, _ = run("link", "stop", "old-new")
    assert (code, out) == (0, "run-1, run-2 have ended; go on with: anabranch link run old-new\n")
    assert run("link", "stop", "old-new", "--wait", "0")[1] == "run-1, run-2 are asked to stop\n"
    assert [asked[3] for asked in engine.asked if asked[0] == "stop"] == [120, 120, 0]


def test_ctrl_c_before_anything_runs_is_130(run: Run, engine: Engine) -> None:
    """What shells expect of an interrupted command."""
    engine.fails = KeyboardInterrupt()
    assert run("link", "list")[0] == 130


@pytest.mark.parametrize(("ended", "code"), [(0, 0), (2, 2), (3, 3), (4, 4), (5, 5), (130, 130), (-9, 5), (-15, 5)])
def test_a_run_exits_as_its_job_did(run: Run, engine: Engine, ended: int, code: int) -> None:
    """Only a clean stop is 0 and says so; a job that was killed is told as that."""
    engine.code = ended
    found, _, err = run("link", "run", "old-new")
    assert found == code
    assert ("go on with: " in err) == (ended == 0)
    assert ("the job was killed by SIG" in err) == (ended < 0)


def test_who_deletes_a_link_that_runs_is_told_so(run: Run, engine: Engine) -> None:
    """Before and after, and also where the answer is JSON."""
    engine.runs = True
    assert "it is running: its workers stop" in run("link", "delete", "old-new")[1]
    _, out, _ = run("link", "delete", "old-new", "--execute")
    assert "it is running" in out and "it was running, and its job ends by itself" in out
    assert "link old-new is running" in run("link", "delete", "old-new", "--execute", "-o", "json")[2]
    engine.runs = False
    assert "running" not in "".join(run("link", "delete", "old-new", "--execute")[1:])


def test_verify_with_a_link_and_no_verb_names_the_verb(run: Run) -> None:
    """A word that is no verb is most likely the link."""
    code, _, err = run("verify", "old-new")
    assert code == 2
    assert err.splitlines()[1] == "hint: anabranch verify start old-new"
    assert "start, show, stop, resume" in err


def test_run_on_a_cluster_hands_on_what_is_sent(run: Run, engine: Engine, tmp_path: Path) -> None:
    """Settings, archive, files and where the driver runs."""
    sent = ("--archive", "env.tar.gz", "--file", "a", "--file", "b", "--conf", "x=1", "--conf", "y=a=b")
    assert run("link", "run", "old-new", "--master", "yarn", "--deploy-mode", "cluster", *sent)[0] == 0
    files = (Path("a"), Path("b"))
    assert engine.how == Submission("yarn", {"x": "1", "y": "a=b"}, Path("env.tar.gz"), files, in_cluster=True)
    assert run("link", "run", "old-new", "--conf", "x")[0] == 2


def test_run_with_a_driver_elsewhere_never_says_that_the_link_has_stopped(run: Run, engine: Engine) -> None:
    """spark-submit may end long before it; where the driver failed the way to its words is told."""
    cluster = ("--master", "yarn", "--deploy-mode", "cluster")
    code, _, err = run("link", "run", "old-new", *cluster)
    assert (code, "the driver may run on" in err and "end it with: anabranch link stop old-new" in err) == (0, True)
    assert "before that end it where it waits" in err and "yarn application -kill" in err
    engine.code = 143
    assert run("link", "run", "old-new", *cluster)[0] == 143
    engine.code = 1
    code, _, err = run("link", "run", "old-new", *cluster)
    assert code == 5 and "yarn logs" in err.splitlines()[-1] and "stopped cleanly" not in err


def test_run_only_describes_its_job_where_that_is_wanted(run: Run, engine: Engine, tmp_path: Path) -> None:
    """For spark-submit; nobody else may read it."""
    assert run("link", "run", "old-new", "--spec", "run.json")[0] == 0
    assert [a for a in engine.asked if a[0] == "run"] == []
    assert (tmp_path / "run.json").read_text() == "{}" and (tmp_path / "run.json").stat().st_mode & 0o077 == 0
    assert run("link", "run", "old-new", "--spec", "run.json", "--file", "none")[0] == 2
