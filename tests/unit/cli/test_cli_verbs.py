"""The verbs, from flags to the engine's port and back to text and exit codes."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml

from anabranch import __version__
from anabranch.cli import main as cli
from anabranch.cli import port
from anabranch.errors import AnabranchError, ClusterError, ProtocolError, RefusedError
from anabranch.kafka.errors import AuthenticationError, UnreachableError
from anabranch.model.cluster import ClusterContext
from anabranch.model.link import ClusterRef, LinkRecord, LinkSpec, WantedState
from anabranch.model.plugins import PluginSpec
from anabranch.model.reports import (
    ClusterFacts,
    DeletePlan,
    Finding,
    LinkPlan,
    LinkStatus,
    ProbeReport,
    Severity,
    StopReport,
)
from anabranch.model.runevents import LogFormat
from anabranch.operations.jobs.jobprocess import StartedLink
from anabranch.operations.jobs.submission import Submission

pytestmark = pytest.mark.unit
RUNNING = import_module("anabranch.cli.links.run")  # its package has the verb under that name

SPEC = LinkSpec("old-new", ClusterRef("old", "A"), ClusterRef("new", "B"), lease_seconds=45)
STATUS = LinkStatus(LinkRecord(WantedState(SPEC), ("A",), 0), (), None, 0)


class Engine:
    """The port, filled with values; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.findings: tuple[Finding, ...] = ()
        self.fails: BaseException | None = None
        self.status = STATUS
        self.code = 0
        self.runs = False
        self.runs_that_stop: tuple[str, ...] = ()

    def create(
        self,
        source: ClusterContext,
        target: ClusterContext,
        spec: LinkSpec,
        execute: bool,
        adopt: tuple[Any, ...] = (),
    ) -> ProbeReport:
        self._ask("create", source.name, target.name, spec, execute)
        facts = ClusterFacts("old", "A", "3.9.1", 1)
        return ProbeReport(spec, facts, facts, (), self.findings, created=execute and not self.findings)

    def list_links(self, target: ClusterContext) -> tuple[LinkStatus, ...]:
        self._ask("list", target.name)
        return (STATUS,)

    def show(self, target: ClusterContext, link_id: str) -> LinkStatus:
        self._ask("show", target.name, link_id)
        return self.status

    def set_wanted(self, target: ClusterContext, link_id: str, **changes: Any) -> None:
        self._ask("set", target.name, link_id, changes)

    def pause(self, target: ClusterContext, link_id: str) -> None:
        self._ask("pause", target.name, link_id)

    def resume(self, target: ClusterContext, link_id: str) -> None:
        self._ask("resume", target.name, link_id)

    def delete(self, target: ClusterContext, link_id: str, execute: bool, fingerprint: str | None = None) -> DeletePlan:
        self._ask("delete", target.name, link_id, execute, fingerprint)
        forget = {"__anabranch_links": 1}
        return DeletePlan(link_id, (), {}, forget, self.runs, "cafe", executed=execute)

    def run_link(
        self,
        target: ClusterContext,
        source: ClusterContext,
        link_id: str,
        how: Submission,
        lease_seconds: int,
        directory: Path,
        log_format: LogFormat,
    ) -> int:
        self.directory, self.how = directory, how
        self._ask("run", target.name, source.name, link_id, how.master, lease_seconds, log_format.value)
        return self.code

    def start_link(
        self,
        target: ClusterContext,
        source: ClusterContext,
        link_id: str,
        how: Submission,
        lease_seconds: int,
        directory: Path,
        log_format: LogFormat,
        detached: bool,
    ) -> StartedLink:
        self._ask("start", link_id, how.master, detached)
        directory.mkdir(parents=True, exist_ok=True)
        log = directory / "run-1.log"
        log.write_text("noise\nerror: no master answers\nhint: check --master\n")
        plan = LinkPlan(link_id, "run-1", 1, 0, 2)
        process = SimpleNamespace(pid=4711, poll=lambda: self._begin(plan), wait=lambda: self.code)
        return StartedLink("run-1", cast(Any, process), log)

    def job_spec(self, target: ClusterContext, source: ClusterContext, link_id: str, lease_seconds: float) -> str:
        self._ask("spec", target.name, source.name, link_id, lease_seconds)
        return "{}"

    def _begin(self, plan: LinkPlan) -> int | None:
        """The job ends with its code, or has planned by the next look."""
        self.status = replace(self.status, plan=plan)
        return self.code or None

    def stop(self, target: ClusterContext, link_id: str, wait_s: float) -> StopReport:
        self._ask("stop", target.name, link_id, wait_s)
        return StopReport(link_id, self.runs_that_stop, ended=wait_s > 0)

    def _ask(self, *what: Any) -> None:
        self.asked.append(what)
        if self.fails is not None:
            raise self.fails


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    """The engine that the verbs reach."""
    made = Engine()
    monkeypatch.setattr(port, "links", lambda: made)
    monkeypatch.setattr(port, "launcher", lambda: made)
    monkeypatch.setattr(port, "stopping", lambda: made)
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
    command = "anabranch link create --source old --include 'a.*' --execute"
    assert (code, err) == (0, f"Dry run. Apply with: {command}\n")
    assert [asked[-1] for asked in engine.asked] == [False]
    assert run(*shlex.split(command)[1:])[2] == ""
    assert engine.asked[-1][-1] is True


def test_a_link_is_created_from_flags(run: Run, engine: Engine) -> None:
    """Flags become the same spec as a file's fields."""
    code, out, _ = run(
        *("link", "create", "--source", "old", "--id", "mirror", "--include", "a.*", "--include", "b"),
        *("--exclude", "c", "--naming", "{source}-{topic}", "--replication-factor", "2", "--start", "latest"),
        *("--mode", "mapped", "--rate-limit", "50MB/s", "--lease-seconds", "20", "--execute"),
    )
    assert code == 0
    name, source, target, spec, execute = engine.asked[0]
    assert (name, source, target, execute) == ("create", "old", "new", True)
    assert spec.filter == PluginSpec("regex", {"include": ["a.*", "b"], "exclude": ["c"]})
    assert spec.naming == PluginSpec("template", {"template": "{source}-{topic}"})
    assert (spec.id, spec.replication_factor, spec.rate_limit, spec.lease_seconds) == ("mirror", 2, 50_000_000, 20)
    assert "anabranch link run mirror" in out


def test_a_link_is_created_from_a_file(run: Run, engine: Engine, tmp_path: Path) -> None:
    """The file says all, and flags beside it are refused."""
    (tmp_path / "link.yaml").write_text("{source: old, target: new, naming: {kind: prefix}}")
    code, out, _ = run("link", "create", "-f", "link.yaml", "-o", "json")
    assert code == 0
    assert json.loads(out)["created"] is False
    assert engine.asked[0][3].naming == PluginSpec("prefix")
    assert engine.asked[0][4] is False
    assert run("link", "create", "-f", "link.yaml", "--mode", "auto")[2].startswith("error: link create: --mode")
    assert run("link", "create")[2].startswith("error: link create: --source: missing")


def test_a_link_that_is_not_created_is_an_error(run: Run, engine: Engine) -> None:
    """The report is printed whole, and the exit code says that nothing was stored."""
    engine.findings = (Finding(Severity.ERROR, "no topic matches the filter", "anabranch link create --include ..."),)
    code, out, err = run("link", "create", "--source", "old")
    assert code == 3
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


def test_the_live_view_ends_with_ctrl_c(run: Run, engine: Engine) -> None:
    """Leaving the view is no error."""
    engine.fails = KeyboardInterrupt()
    assert run("link", "show", "old-new", "--watch") == (0, "detached; the link is as it was\n", "")


def test_a_running_link_is_changed(run: Run, engine: Engine) -> None:
    """Filter and rate are changed, pause and resume take effect; no change is an error."""
    assert run("link", "set", "old-new", "--include", "a", "--rate-limit", "none")[0] == 0
    assert run("link", "set", "old-new", "--rate-limit", "1MB")[0] == 0
    assert run("link", "pause", "old-new")[0] == 0
    assert run("link", "resume", "old-new")[0] == 0
    assert engine.asked == [
        ("show", "new", "old-new"),
        ("set", "new", "old-new", {"filter": PluginSpec("regex", {"include": ["a"]}), "rate_limit": None}),
        ("set", "new", "old-new", {"rate_limit": 1_000_000}),
        ("pause", "new", "old-new"),
        ("resume", "new", "old-new"),
    ]
    assert run("link", "set", "old-new")[0] == 2
    assert run("link", "set", "old-new", "--include", "[")[0] == 2
    assert [asked[0] for asked in engine.asked[5:]] == ["show"]


def test_of_a_filter_only_the_list_that_is_given_is_replaced(run: Run, engine: Engine) -> None:
    """To leave one topic more out takes in no others; what a plug-in selects cannot be kept, and is refused."""
    kept = {"include": ["a.*"], "exclude": ["ab"]}

    def changed(before: PluginSpec, *flags: str) -> Any:
        wanted = WantedState(replace(SPEC, filter=before))
        engine.status = LinkStatus(LinkRecord(wanted, ("A",), 0), (), None, 0)
        code = run("link", "set", "old-new", *flags)[0]
        return engine.asked[-1][3]["filter"].options if code == 0 else code

    assert changed(PluginSpec("regex", kept), "--exclude", "ac") == {"include": ["a.*"], "exclude": ["ac"]}
    assert changed(PluginSpec("regex", kept), "--include", "b") == {"include": ["b"], "exclude": ["ab"]}
    assert changed(PluginSpec("theirs", {"x": 1}), "--include", "b") == {"include": ["b"]}
    assert changed(PluginSpec("theirs", {"x": 1}), "--exclude", "b") == 2
    assert engine.asked[-1][0] == "show"


def test_a_deletion_is_only_shown_without_execute(run: Run, engine: Engine) -> None:
    """With it the plan is shown, and carried out under the fingerprint of what was shown."""
    code, out, err = run("link", "delete", "old-new")
    assert (code, engine.asked) == (0, [("delete", "new", "old-new", False, None)])
    assert "__anabranch_links: 1 records forgotten" in out
    assert err == "Dry run. Apply with: anabranch link delete old-new --execute\n"
    code, out, _ = run("link", "delete", "old-new", "--execute")
    assert engine.asked[1:] == [
        ("delete", "new", "old-new", False, None),
        ("delete", "new", "old-new", True, "cafe"),
    ]
    assert "done: link old-new is deleted" in out
    assert json.loads(run("link", "delete", "old-new", "--execute", "-o", "json")[1])["executed"] is True


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
    assert "run-7 was heard of" in err and "anabranch link stop old-new --target new" in err


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
    monkeypatch.setattr(RUNNING, "_PLAN_S", 0.0)
    monkeypatch.setattr(engine, "start_link", lambda *_, **__: StartedLink("run-1", cast(Any, submitted), tmp_path))
    code, out, err = run("link", "run", "old-new", "--master", "yarn", "--deploy-mode", "cluster", "--detach")
    assert (code, out) == (0, "") and "run-1" not in err and "spark-submit starts as process 4711" in err
    assert "submitted; it has not planned yet" in err and "anabranch link show old-new; on YARN: yarn app" in err
    assert "yarn application -kill" in err


def test_a_target_that_is_away_for_a_moment_ends_no_wait(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run goes on meanwhile; what does not pass is told."""
    monkeypatch.setattr(RUNNING, "_LOOK_S", 0.0)
    looks: list[AnabranchError | None] = [None, UnreachableError("new", ("n:1: refused",)), None]
    show = engine.show

    def look(target: ClusterContext, link_id: str) -> LinkStatus:
        if (error := looks.pop(0)) is not None:
            raise error
        return show(target, link_id)

    monkeypatch.setattr(engine, "show", look)
    code, _, err = run("link", "run", "old-new", "--detach")
    assert (code, looks) == (0, []) and err.splitlines()[-1].startswith("it runs; ")
    looks += [None, AuthenticationError("new", "User:ann", "PLAIN", "wrong credentials")]
    assert run("link", "run", "old-new", "--detach")[0] == 4


def test_a_link_is_stopped_from_anywhere(run: Run, engine: Engine) -> None:
    """What was asked, and whether it has ended; one that does not run is no error."""
    assert run("link", "stop", "old-new")[:2] == (0, "link old-new does not run\n")
    engine.runs_that_stop = ("run-1", "run-2")
    code, out, _ = run("link", "stop", "old-new")
    assert (code, out) == (0, "run-1, run-2 has ended; go on with: anabranch link run old-new\n")
    assert run("link", "stop", "old-new", "--wait", "0")[1] == "run-1, run-2 is asked to stop\n"
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
