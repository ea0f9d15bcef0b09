"""The end of the demo: applications end, the migration is completed, and all is counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from anabranch.cli.words import count
from examples.demo import desk, load, migration, proof, shop
from examples.demo.screen import Screen
from examples.demo.stage import Stage
from examples.demo.typed import Terminal
from examples.demo.views import Views

_GOOD, _BAD = "[green]{}[/]", "[bold red]{}[/]"


def prove(screen: Screen, stage: Stage, terminal: Terminal, views: Views) -> bool:
    """End the applications, complete the migration, and print the proof; returns whether all of it holds.

    Meanwhile the job of the stream is killed, and started again.
    """
    screen.step("applications end; the way back has all; complete")
    views.start()
    with screen.waiting("what was written is read"):
        sold, paid = stage.end("shop"), stage.end("desk")
        orders = sum(sold["written"].values())
        stage.until("the Spark query has read all", lambda: counted(stage.told("totals")) >= orders)
        stage.counts.await_all(sum(paid["written"].values()))
    with screen.waiting("the way back catches up"):
        terminal.type("link", "wait", migration.link(3), "--target", "old", "--caught-up")
    screen.quote(terminal.type("migrate", "complete", migration.NAME, "--execute")[-1:])
    views.kill()
    runs = [one["run"] for one in reversed(stage.runs())]
    moved = [run for run in runs if run["what"] in ("switch", "reverse")]
    screen.step("the proof: every record of both clusters, read by another client (librdkafka)")
    with screen.waiting("both clusters are read"):
        topics = read_both(stage)
    rows = list(parts(stage, {one.topic: one for one in topics}, sold, paid))
    tell_topics(screen, topics)
    tell_parts(screen, rows)
    tell_pauses(screen, moved, sold["standstills_ms"], paid["standstills_ms"])
    exact = views.prove()
    holds = all(one.equal for one in topics) and all(one.holds for one in rows) and len(moved) == 3 and exact
    text = "Proved: nothing lost, repeated, reordered or altered." if holds else "NOT proved; see above."
    screen.verdict(holds, text)
    return holds


def counted(told: Mapping[str, Any]) -> int:
    """How many orders the Spark query has counted."""
    return sum(one[0] for one in told.get("totals", {}).values())


def read_both(stage: Stage) -> list[proof.TopicProof]:
    """Each topic on both clusters, which are read beside each other."""
    with ThreadPoolExecutor(2) as pool:
        logs = {
            (side, name): pool.submit(proof.read_topic, cluster.client_config(), name, partitions)
            for name, partitions in load.PARTITIONS.items()
            for side, cluster in stage.clusters.items()
        }
    return [proof.TopicProof(name, logs["old", name].result(), logs["new", name].result()) for name in load.PARTITIONS]


def parts(
    stage: Stage, topics: Mapping[str, proof.TopicProof], sold: Mapping[str, Any], paid: Mapping[str, Any]
) -> Iterator[proof.Part]:
    """What each application has done, held against what it says and what the logs hold."""
    orders, payments = (topics[name].new.reading for name in (shop.TOPIC, desk.TOPIC))
    yield from proof.of_ledger("shop (SDK)", "orders acknowledged", f"orders read by group {shop.GROUP}", sold, orders)
    yield from proof.of_ledger(
        "desk (plain)", "payments acknowledged", f"payments read by group {desk.GROUP}", paid, payments
    )
    yield proof.of_totals(stage.told("totals")["totals"], sold["written"])
    seen = stage.counts.reading
    what = "counted in its state"
    yield proof.of_reading(
        "Flink job counts", f"payments {what}", seen.records, seen.next, seen.samples, paid["written"]
    )


def tell_topics(screen: Screen, topics: list[proof.TopicProof]) -> None:
    """Both sides of each topic."""
    screen.table(
        "TOPIC", "RECORDS IN old", "IN new", "DIGEST OF old", "OF new", "",
        rows=[
            (
                one.topic,
                *(count(side.records) for side in (one.old, one.new)),
                *(side.digest for side in (one.old, one.new)),
                _GOOD.format("equal") if one.equal else _BAD.format("DIFFERENT"),
            )
            for one in topics
        ],
    )  # fmt: skip
    screen.say("digest: key, value, headers, timestamp of every record, in order", "dim")


def tell_parts(screen: Screen, rows: list[proof.Part]) -> None:
    """Each application, and what is wrong."""
    screen.table(
        "APPLICATION", "WHAT", "RECORDS", "",
        rows=[
            (
                one.who,
                one.what,
                count(one.records),
                _GOOD.format("each once, in order") if one.holds else _BAD.format("WRONG"),
            )
            for one in rows
        ],
        left=2,
    )  # fmt: skip
    for one in rows:
        for problem in one.problems:
            screen.say(f"{one.who}: {problem}", "red")


def tell_pauses(screen: Screen, moved: list[Mapping[str, Any]], sold: list[int], paid: list[int]) -> None:
    """For how long applications were held up: by the service's journal, and as their own producers saw it."""
    screen.table(
        "HELD UP", "BY THE JOURNAL", "SHOP WITHOUT AN ORDER", "DESK WITHOUT A PAYMENT",
        rows=[
            (
                f"{run['what']} to {run['target']}",
                f"{count(run['paused_until_ms'] - run['paused_since_ms'])} ms",
                *(f"{count(seen[at])} ms" if at < len(seen) else "?" for seen in (sold, paid)),
            )
            for at, run in enumerate(moved)
        ],
    )  # fmt: skip
