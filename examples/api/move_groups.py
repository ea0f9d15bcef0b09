"""Move the groups of a link that nothing forbids, and say of every other one why not.

    python -m examples.api.move_groups LINK TARGET [--execute]

``TARGET`` is the context of the cluster that stores the link; the contexts are those of the command line.
"""

from __future__ import annotations

import argparse
import asyncio

import anabranch
from anabranch.groups.plan import GroupStep
from anabranch.operations import groups, links


async def move(link: str, target_name: str, execute: bool) -> int:
    """Show the plan, and apply it if asked; returns how many groups were moved."""
    contexts = anabranch.contexts()
    async with anabranch.open_cluster(contexts.get(target_name)) as target:
        status = await links.show.show(target, link)
        async with anabranch.open_cluster(contexts.get(status.spec.source.context)) as source:
            plan = await groups.sync.plan(source, target, link)
            for group in plan.groups:
                print(f"{group.group}: {group.step.value}")
                for reason in group.refusals:
                    print(f"  {reason.what}; {reason.fix}")
            if not execute or not plan.of(GroupStep.MOVE):
                print(f"nothing was changed; this is plan {plan.hash}")
                return 0
            done = await groups.sync.apply(source, target, plan)
            moved = done.of(GroupStep.MOVED)
            print(f"moved: {', '.join(group.group for group in moved)}; undo with {done.undo}")
            return len(moved)


def main() -> None:
    """Parse the options and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("link")
    parser.add_argument("target")
    parser.add_argument("--execute", action="store_true")
    options = parser.parse_args()
    asyncio.run(move(options.link, options.target, options.execute))


if __name__ == "__main__":
    main()
