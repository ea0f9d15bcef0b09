"""Run a link until it is told to stop: ``spark-submit link.py SPEC.json`` or ``python -m anabranch.spark.jobs.link``.

Arguments: the file with a LinkJob, then ``--master``, ``--checkpoint``, ``--slots`` and ``--conf KEY=VALUE``
(Spark settings, repeatable; they win over the job's own) where wanted.  SIGTERM, SIGINT and ``anabranch link stop``
end the leases cleanly, then the query; with ``--tied`` the end of standard input does so, too.

Each event is a line on standard error, as text or with ``--log-format json`` as an object; an error and its hint are a
line each.  Each finished micro-batch is a line of JSON on standard output.  With ``--log FILE`` all but the events goes
to that file, with what Spark, its JVM and its workers print.
"""

from __future__ import annotations

import os
import sys

from anabranch.config.jobsettings import STATED_PYTHON, is_here, session_settings
from anabranch.spark.forkserver import ForkServer
from anabranch.spark.jobs.events import EventLog, keep_apart
from anabranch.spark.jobs.link_options import LinkOptions
from anabranch.spark.jobs.tied import end_with_command, terminate
from anabranch.spark.quickjvm import QuickJvm
from anabranch.spark.scratch import remove_abandoned


def main(arguments: list[str] | None = None) -> int:
    """Run the job; 0 after a clean stop, else the error's exit code."""
    options = LinkOptions.of(__doc__ or "", arguments)
    events = EventLog(keep_apart(options.log), options.log_format)
    forks = ForkServer.prepare() if _runs_this_python(options) else None
    jvm = QuickJvm(options.master)
    settings = session_settings(options.master, options.settings)
    try:
        jvm.start(settings | ({} if options.master is None else {"spark.master": options.master}))
        # Only now: the JVM starts meanwhile, which takes about as long.
        remove_abandoned()
        from anabranch.spark.jobs import link_driver

        if forks is not None:
            forks.start("anabranch.spark.link.source")
        if options.tied:
            end_with_command(terminate)
        return link_driver.run(options, events, jvm)
    finally:
        jvm.close()
        if forks is not None:
            forks.remove()


def _runs_this_python(options: LinkOptions) -> bool:
    """Whether Spark starts this Python, on this machine: whoever has asked for another one gets that."""
    stated = options.settings.get(STATED_PYTHON) or os.environ.get("PYSPARK_PYTHON") or sys.executable
    return is_here(options.master) and stated == sys.executable


if __name__ == "__main__":
    sys.exit(main())
