"""The lives that are simulated: which logs, which faults, which target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from anabranch.model.link import ModePolicy
from qa.faults.topics import LoadTopic, TopicKind
from qa.simulation.faults import Fault
from qa.simulation.life import Plan

_PROCESSES = (Fault.WORKER_KILL, Fault.WORKER_STOP, Fault.DRIVER_KILL, Fault.SECOND_RUN)
_NETWORK = (Fault.RESET, Fault.TARGET_CUT, Fault.SOURCE_CUT)
_BROKERS = (Fault.TARGET_KILL, Fault.TARGET_STOP, Fault.SOURCE_KILL, Fault.SOURCE_STOP)
_LEADERS = (Fault.TARGET_MOVE, Fault.SOURCE_MOVE)

PLANS: Mapping[str, Plan] = {
    plan.name: plan
    for plan in (
        Plan(
            "history",
            (LoadTopic("history", 2, old=True),),
            (*_PROCESSES, *_NETWORK, *_BROKERS, Fault.PAUSE),
            expiration_ms=60_000,
        ),
        Plan(
            "equal",
            (LoadTopic("live", 1, old=False), LoadTopic("payments", 1, old=False, kind=TopicKind.TRANSACTIONAL)),
            (*_PROCESSES, *_NETWORK, *_BROKERS, Fault.FILTER, Fault.FILTER),
        ),
        Plan(
            "holes",
            (
                LoadTopic("payments", 1, old=False, kind=TopicKind.TRANSACTIONAL),
                LoadTopic("balances", 1, old=False, kind=TopicKind.COMPACTED),
                LoadTopic("clicks", 1, old=False, kind=TopicKind.SINGLE),
                LoadTopic("stamped", 1, old=False, kind=TopicKind.APPEND_TIME),
            ),
            (*_PROCESSES, *_NETWORK),
            mode=ModePolicy.MAPPED,
        ),
        Plan(
            "leaders",
            (LoadTopic("history", 1, old=True), LoadTopic("live", 1, old=False)),
            (*_PROCESSES, *_NETWORK, *_BROKERS, *_LEADERS),
            brokers=3,
            expiration_ms=60_000,
        ),
        Plan(
            "unclean",
            (
                LoadTopic("history", 1, old=True, unclean=True),
                LoadTopic("payments", 1, old=False, kind=TopicKind.TRANSACTIONAL, unclean=True),
            ),
            (*_PROCESSES, Fault.RESET, Fault.TARGET_UNCLEAN, Fault.TARGET_MOVE),
            brokers=3,
            expiration_ms=60_000,
        ),
        # Without the right to write markers: earlier owners are fenced by the transaction coordinator.
        Plan(
            "guarded",
            (LoadTopic("history", 2, old=True),),
            (*_PROCESSES, *_NETWORK),
            may_mark=False,
        ),
        # The same with a target that tells its settings and remembers producer ids for longer than its coordinator does
        # transactional ids, on a link that is not run for days.
        Plan(
            "guarded-days",
            (LoadTopic("history", 1, old=True), LoadTopic("live", 1, old=False)),
            (*_PROCESSES, *_NETWORK, *[Fault.HOURS] * 2, *[Fault.AWAY] * 4),
            pace=1.0,
            expiration_ms=24 * 86_400_000,
            may_mark=False,
            may_ask=True,
        ),
        # The same while leaders move and brokers die, the coordinator's among them.
        Plan(
            "guarded-leaders",
            (LoadTopic("history", 1, old=True), LoadTopic("live", 1, old=False)),
            (*_PROCESSES, *_NETWORK, *_BROKERS, *_LEADERS),
            brokers=3,
            expiration_ms=60_000,
            may_mark=False,
            may_ask=True,
        ),
        # Both clusters delete, and the source's cleaner works, while the link copies.
        Plan(
            "deleted",
            (
                LoadTopic("history", 1, old=True),
                LoadTopic("live", 1, old=False),
                LoadTopic("stock", 1, old=False, kind=TopicKind.BOTH_COMPACTED),
            ),
            (*_PROCESSES, *_NETWORK, Fault.RETENTION, Fault.RETENTION),
        ),
        # Hours and days in which nothing happens: claims grow old, producer ids and transactional ids are forgotten.
        Plan(
            "days",
            (LoadTopic("history", 1, old=True), LoadTopic("live", 1, old=False)),
            (*_PROCESSES, *_NETWORK, *[Fault.HOURS] * 5),
            pace=1.0,
        ),
    )
}

LONG: Mapping[str, Plan] = {
    plan.name: plan
    for plan in (
        # A month of the wall clock at least, mostly two and more; claims of 60 hours and more.
        Plan(
            "month",
            (LoadTopic("history", 1, old=True), LoadTopic("live", 1, old=False)),
            (*_PROCESSES, *_NETWORK, *[Fault.HOURS] * 20),
            seconds=100.0,
            pace=1.0,
        ),
        # Some ten thousand transactions in each virtual second.
        Plan(
            "transactions",
            (LoadTopic("payments", 1, old=False, kind=TopicKind.TRANSACTIONAL),),
            (*_PROCESSES, Fault.RESET),
            seconds=8.0,
            pace=1.0,
            gap_s=1.5,
            load_gap_s=0.02,
            burst=200,
            mode=ModePolicy.MAPPED,
        ),
    )
}

BRIEF_S, BRIEF_GAP_S = 1.5, 0.3


def _brief(plan: Plan) -> list[Plan]:
    """A plan's lives with one lane each, its faults within moments: a tenth of the computing, and as many at a time."""
    return [
        replace(
            plan,
            name=f"{plan.name}:{topic.name}",
            topics=(replace(topic, partitions=1),),
            seconds=BRIEF_S,
            gap_s=BRIEF_GAP_S,
            pace=1.0,
        )
        for topic in plan.topics
    ]


BRIEF: Mapping[str, Plan] = {plan.name: plan for whole in PLANS.values() for plan in _brief(whole)}
"""Some thousand of these are lived in a minute."""

EVERY: Mapping[str, Plan] = {**PLANS, **BRIEF, **LONG}
