"""Compare both sides of a link, say how far it is, and exit with the verdict.

    python -m examples.api.compare LINK TARGET [--resume]

``TARGET`` is the context of the cluster that stores the link; the contexts are those of the command line.  Spark runs
on this machine; Ctrl-C ends the comparison, and ``--resume`` goes on with it.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

import anabranch
from anabranch.operations import links, verify
from anabranch.operations.jobs.readerjob import ReaderJob
from anabranch.operations.verify.started import NoComparisonError
from anabranch.state.codecs.verified import VerifyStatus
from anabranch.verify.report import ComparisonVerdict


async def tell(status: VerifyStatus) -> None:
    """Print how far it is."""
    print(f"{status.run.done:,} of {status.run.offsets:,} offsets")


async def compare(link: str, target_name: str, resume: bool, directory: Path) -> int:
    """Start the comparison and wait for its end; returns 0 (equal), 1 (different) or 2 (could not tell)."""
    contexts = anabranch.contexts()
    there = contexts.get(target_name)
    async with anabranch.open_cluster(there) as target:
        here = contexts.get((await links.show.show(target, link)).spec.source.context)
        async with anabranch.open_cluster(here) as source:
            plan = await (verify.resume if resume else verify.start).plan(source, target, link)
        started = await verify.start.apply(target, plan, ReaderJob(here, there, "local[*]", directory))
        print(f"{started.run} is process {started.job.pid}")
        try:
            status = await started.ended(target, tell)
        except NoComparisonError as error:
            print(f"{error.message}; {error.hint}", file=sys.stderr)
            return error.exit_code
        verdict = ComparisonVerdict((status.own_report or {})["verdict"])
        print(f"{verdict.value}; the report is in {directory}")
        return verdict.exit_code


def main() -> int:
    """Parse the options and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("link")
    parser.add_argument("target")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--directory", type=Path, default=Path("comparisons"))
    options = parser.parse_args()
    return asyncio.run(compare(options.link, options.target, options.resume, options.directory))


if __name__ == "__main__":
    sys.exit(main())
