"""Verbs that change nothing without ``--execute``, verbs that act at once, and why: what the reference says of each."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

_FILE = "writes a file that you name"
UNDONE: Mapping[str, str] = {
    "link set": "`link set` sets it back",
    "link pause": "`link resume`",
    "link resume": "`link pause`",
    "link run": "`link stop`; it copies what `link create --execute` agreed to",
    "link stop": "`link run` continues exactly there",
    "groups baseline": "is stored again by the same verb; no group is touched",
    "verify stop": "`verify resume`",
    "verify resume": "`verify stop`",
    "migrate verify": "writes progress and a report",
    "migrate hold": "`migrate release`",
    "migrate release": "`migrate hold`",
    "migrate throttle": "`migrate resume`",
    "migrate resume": "`migrate throttle`",
    "stream create": "nothing runs yet; `stream delete`",
    "stream edit": "another version; the former ones stay",
    "stream publish": "`stream rollback`; what runs stays as it is",
    "stream rollback": "`stream publish`; what runs stays as it is",
    "stream stop": "`stream start` goes on exactly there",
    "stream run": "Ctrl-C; it runs the script that you name",
    "stream alerts": "the same verb sets it back",
    "artifact upload": "another version; the former ones stay",
    "context add": "`context remove`; a file of yours",
    "context use": "`context use`; a file of yours",
    "context remove": "keeps the former file as a backup",
    "account add": "`account set --disable`",
    "account set": "the same verb sets it back",
    "token create": "`token revoke`",
    **dict.fromkeys(("link package", "offsets export", "offsets rebuild", "artifact download"), _FILE),
}
"""Verbs that act at once: what undoes each, or why nothing has to."""
NOT_UNDONE: Mapping[str, str] = {
    "token revoke": "a token in wrong hands must end at once",
}
"""What acts at once though nothing takes it back, and why."""
_BEGINS = ("--new-state", "--keep-state", "--from", "--from-checkpoint")
IN_PART: Mapping[str, tuple[tuple[str, ...], str]] = {
    "stream start": (_BEGINS, "`stream stop`"),
    "stream restart": (_BEGINS, "goes on exactly where it ended"),
    "verify start": (("--fresh",), "`verify stop`; writes progress and a report"),
    "stream checkpoint": (("--delete",), "what `--save` saved is deleted by the same verb"),
}
"""Verbs that act at once but with these options, which require ``--execute``; and what undoes the rest."""
READS = frozenset(
    f"{noun} {verb}".strip()
    for noun, verbs in {
        "serve": [""],
        "context": ["list", "show", "test"],
        "link": ["list", "show", "wait", "metrics"],
        "groups": ["list", "show", "plan"],
        "mm2": ["report", "translate"],
        "offsets": ["translate", "ranges"],
        "checkpoint": ["inspect", "advise", "plan", "verify"],
        "verify": ["show"],
        "migrate": ["discover", "plan", "status", "show"],
        "route": ["show", "versions", "explain", "clients", "switches"],
        "stream": ["validate", "preview", "try", "list", "show", "versions", "diff", "logs", "lineage"],
        "artifact": ["list", "show"],
        "catalog": ["list", "show", "versions", "grants", "groups"],
        "account": ["list"],
        "token": ["list"],
    }.items()
    for verb in verbs
)
"""Verbs that change nothing that others see; ``serve`` is what others ask."""


def at_once() -> frozenset[str]:
    """Verbs that act at once whatever their options are."""
    return frozenset(" ".join(words.split()[:2]) for words in chain(UNDONE, NOT_UNDONE))


def rows() -> str:
    """A table of what acts at once, each with what undoes it or why it does."""
    parts = {verb: f"{why}; but {_all(options)} `--execute`" for verb, (options, why) in IN_PART.items()}
    never = ((verb, f"**nothing undoes it**: {why}") for verb, why in NOT_UNDONE.items())
    lines = [*UNDONE.items(), *parts.items(), *never]
    return "\n".join(f"| `{verb}` | {why} |" for verb, why in lines)


def _all(options: tuple[str, ...]) -> str:
    named = ", ".join(f"`{one}`" for one in options)
    return f"{named} {'require' if len(options) > 1 else 'requires'}"
