"""Reference pages that are written from the program: ``python -m qa.reference``; a unit test compares them.

``docs/reference/cli.md`` is the tree of verbs with their help.  ``docs/reference/metrics.md`` has the metrics that
``anabranch link metrics`` and the service serve.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import typer
from prometheus_client.metrics_core import Metric

from anabranch.cli.app import app
from anabranch.cli.verify.guard import COULD_NOT_TELL
from anabranch.errors import AnabranchError
from anabranch.operations.links.metrics import LinkCollector
from anabranch.service.client_totals import client_metrics
from anabranch.service.migration_metrics import access_metrics
from anabranch.service.rest.metrics import own_metrics, route_metrics
from anabranch.service.stream_metrics import alert_metrics, lineage_metrics, stream_metrics, trial_metrics
from anabranch.service.trial_figures import TrialFigures
from anabranch.verify.report import ComparisonVerdict
from qa import at_once

COMMAND = "python -m qa.reference"
REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
WRITTEN = f"<!-- Written by `{COMMAND}` from the program. Change the help there, and run it again. -->"
GENERAL_CODES = {1, 2, 4, 5}
"""Exit codes that errors of any verb have; the page of exit codes explains them."""
REFUSED = 3
"""Told of a verb only where its own module says what it means there."""

CLI = """\
# Command line

{written}

`anabranch [--contexts FILE] NOUN VERB`. `--help` (`-h`) of each verb says what is on this page.

- **Answers** go to standard output: as a table, or with `-o` as `json` or `yaml`. In JSON, field names are those of
  `anabranch.model`; topic ids, partitions (`orders-3`) and lane keys are strings.
- **Errors** go to standard error: `error: ...`, and `hint: ...` with the next command. See [exit codes](exit-codes.md).
- **Secrets** are never options. See [contexts](contexts.md).
- **Dry run.** A verb whose change the same noun cannot undo shows its plan and changes nothing: {dry}.
  It prints the command that applies the plan: the same one with `--execute --plan HASH`, which applies that plan and no
  other. `--execute` alone applies the plan that it has just shown. With `-o` a dry run answers with the plan, and
  `--execute` with a report of what was done. All other verbs only read, or [act at once](#what-acts-at-once).
- **Completion.** `anabranch --install-completion` installs it for your shell. It offers verbs, options, contexts,
  links, topics and partitions, and groups. It reads the contexts file and the clusters that the line names so far, and
  offers nothing where that takes more than 2.5 seconds once Python has started.

{contents}
"""

AT_ONCE = """\
## What acts at once

Without `--execute`, since something undoes it, or nothing that others read is changed. `sandbox` changes this machine
alone.

| verb | what undoes it, or why it acts at once |
|---|---|
{rows}
"""

METRICS = """\
# Metrics

{written}

`anabranch link metrics` serves every link of a target to Prometheus. See [watch a link](../how-to/watch-a-link.md) for
how to run it, the dashboard and the alert rules. A metric without a known value is left out; it is never 0 instead.

| metric | type | labels | meaning |
|---|---|---|---|
{rows}

## Of the service

`GET /metrics` of `anabranch serve` has all of these but `anabranch_up`, of every cluster that was just read, and:

| metric | type | labels | meaning |
|---|---|---|---|
{own}

## Of applications

`GET /metrics` of `anabranch serve` has these of the clients of the [SDK](sdk.md), by what they call their application.
They begin with the instance, and go on across switches and restarts of clients; an instance tells of those that report
to it. The first 200 applications are told apart, all others together as `(others)`. A lag is each client's own word of
its last report.

| metric | type | labels | meaning |
|---|---|---|---|
{clients}

## Of streams

`GET /metrics` of `anabranch serve` tells these, too. An instance tells of the queries and connectors whose runs are on
its machine. What it counts of connectors, failures and trials begins with the instance: it goes on from run to run, and
begins again at 0 where the service starts again. `deploy/grafana/streams.json` is a dashboard of them, and the group
`anabranch-streams` of `deploy/prometheus/alerts.yaml` has alert rules.

| metric | type | labels | meaning |
|---|---|---|---|
{streams}

A summary has `_count` and `_sum`. [Sinks](sinks.md#metrics) has what each connector knows.
"""


def pages() -> dict[Path, str]:
    """Each page's path and what must stand there."""
    return {REFERENCE / "cli.md": cli_page(), REFERENCE / "metrics.md": metrics_page()}


def metrics_page() -> str:
    """The metrics of a scrape, in its order."""
    rows, own = ("\n".join(_metric(one) for one in found) for found in (LinkCollector(tuple).collect(), _own()))
    clients = "\n".join(_metric(one) for one in client_metrics({}, {}))
    trials = trial_metrics(TrialFigures({}, {}, {}))
    of_streams = (*stream_metrics(()), *alert_metrics((), {}), *lineage_metrics({}, 0), *trials)
    streams = "\n".join(map(_metric, of_streams))
    return METRICS.format(written=WRITTEN, rows=rows, own=own, clients=clients, streams=streams)


def _own() -> Iterator[Metric]:
    """The service's own."""
    yield from own_metrics({}, False, 0, {})
    yield from route_metrics(0, {}, {})
    yield from access_metrics({}, {})


def _metric(metric: Metric) -> str:
    name = f"{metric.name}_total" if metric.type == "counter" else metric.name
    labels = ", ".join(getattr(metric, "_labelnames", ()))
    return f"| `{name}` | {metric.type} | {labels} | {metric.documentation} |"


def cli_page() -> str:
    """The whole command line, one section a noun, one part a verb."""
    root: Any = typer.main.get_command(app)
    contents = "\n".join(
        f"- [`{noun}`](#{noun})" + _colon(", ".join(f"[`{verb}`](#{noun}-{verb})" for verb in verbs_of(group) if verb))
        for noun, group in root.commands.items()
    )
    dry = ", ".join(
        f"`{noun} {verb}`"
        for noun, group in root.commands.items()
        for verb, command in verbs_of(group).items()
        if any("--execute" in one.opts for one in command.params) and f"{noun} {verb}" not in at_once.IN_PART
    )
    dry += "".join(
        f"; `{verb}` with {' or '.join(f'`{option}`' for option in options)}"
        for verb, (options, _) in at_once.IN_PART.items()
    )
    parts = [CLI.format(written=WRITTEN, contents=contents, dry=dry), _parameters(root)]
    for noun, group in root.commands.items():
        if hasattr(group, "commands"):
            parts += [f"## `{noun}`\n", f"{_prose(group.help)}\n"]
        parts += [_verb(noun, verb, command) for verb, command in verbs_of(group).items()]
    parts.append(AT_ONCE.format(rows=at_once.rows()))
    return "\n".join(parts).rstrip() + "\n"


def verbs_of(group: Any) -> dict[str, Any]:
    """The verbs of a noun; one that is a verb itself has one without a name."""
    found: dict[str, Any] = getattr(group, "commands", {"": group})
    return found


def _colon(names: str) -> str:
    return f": {names}" if names else ""


def _verb(noun: str, verb: str, command: Any) -> str:
    arguments = [_argument(one) for one in command.params if one.param_type_name == "argument"]
    usage = " ".join(["anabranch", noun, *([verb] if verb else []), *arguments])
    parts = [
        f"### `{noun} {verb}`\n" if verb else f"## `{noun}`\n",
        f"    {usage} [OPTIONS]\n",
        f"{_prose(command.help)}\n",
        _parameters(command),
    ]
    codes = list(_exit_codes(noun, command))
    if codes:
        parts += ["Exit codes of its own:\n", "\n".join(codes) + "\n"]
    return "\n".join(part for part in parts if part)


def _parameters(command: Any) -> str:
    """A table of arguments and options; empty where there are none."""
    rows = [_row(one) for one in command.params if one.name not in ("install_completion", "show_completion")]
    return "\n".join(["| | value | default | meaning |", "|---|---|---|---|", *rows, ""]) if rows else ""


def _row(parameter: Any) -> str:
    names = [*parameter.opts, *parameter.secondary_opts]
    if parameter.param_type_name == "argument":
        names = [_name(parameter)]
    names.sort(key=lambda name: len(name) == 2)
    shown = ", ".join(f"`{name}`" for name in names)
    text = _prose(getattr(parameter, "help", None) or "")
    if (parameter.multiple or parameter.nargs == -1) and "epeatable" not in text:
        text = f"{text} Repeatable.".strip()
    if parameter.required and parameter.param_type_name == "option":
        text = f"{text} Required.".strip()
    cells = (shown, _value(parameter), _default(parameter), text)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _name(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def _argument(parameter: Any) -> str:
    name = _name(parameter)
    more = "..." if parameter.nargs == -1 else ""
    return f"{name}{more}" if parameter.required or name.startswith("[") else f"[{name}{more}]"


def _value(parameter: Any) -> str:
    """What is typed after an option; empty for a switch, and for an argument, whose name says it."""
    if parameter.param_type_name == "argument" or parameter.is_flag:
        return ""
    kind = parameter.type_descriptor.annotation
    if parameter.metavar:
        return f"`{parameter.metavar}`"
    if issubclass(kind, Enum):
        return ", ".join(f"`{one.value}`" for one in kind)
    name = {Path: "file", int: "integer", float: "number"}.get(kind, "text")
    low, high = parameter.min, parameter.max
    if low is not None and high is not None:
        return f"{name}, {low:g} to {high:g}"
    return name if low is None else f"{name}, at least {low:g}"


def _default(parameter: Any) -> str:
    default = parameter.default
    if default is None or default is False or default in ((), []) or callable(default) or parameter.required:
        return ""
    if isinstance(default, Enum):
        default = default.value
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


def _exit_codes(noun: str, command: Any) -> Iterator[str]:
    """The verdicts of a comparison, and the errors that the verb's own module defines, or its operation with a code
    that no other error has.
    """
    module = sys.modules[command.callback.__module__]
    if noun == "verify" and command.name != "stop":
        yield f"- {ComparisonVerdict.EQUAL.exit_code}: equal"
        yield f"- {ComparisonVerdict.DIFFERENT.exit_code}: different"
        yield f"- {COULD_NOT_TELL} or more: could not be determined; see [exit codes](exit-codes.md#verify)"
    errors = [one for one in _errors(module) if one.__module__.startswith("anabranch.cli")]
    errors = [one for one in errors if one.exit_code not in GENERAL_CODES]
    name = module.__name__.replace("anabranch.cli", "anabranch.operations")
    if find_spec(name.rpartition(".")[0]) and find_spec(name):
        errors += [one for one in _errors(import_module(name)) if one.exit_code not in {*GENERAL_CODES, REFUSED}]
    for error in sorted(errors, key=lambda one: (one.exit_code, one.__name__)):
        yield f"- {error.exit_code}: {_prose((error.__doc__ or '').partition(chr(10) * 2)[0])}"


def _errors(module: ModuleType) -> list[type[AnabranchError]]:
    return [one for one in vars(module).values() if isinstance(one, type) and issubclass(one, AnabranchError)]


def _prose(text: str | None) -> str:
    """Help as Markdown: paragraphs in one line each, pages of ``docs`` as links."""
    paragraphs = re.split(r"\n\s*\n", (text or "").strip())
    lines = [" ".join(one.replace("``", "`").split()) for one in paragraphs]
    return "\n\n".join(re.sub(r"docs/([\w/-]+/)?([\w-]+)\.md", _link, one) for one in lines)


def _link(found: re.Match[str]) -> str:
    folder, name = found[1] or "", found[2]
    return f"[{name.replace('-', ' ')}]({'' if folder == 'reference/' else f'../{folder}'}{name}.md)"


def main() -> None:
    """Write the pages."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
