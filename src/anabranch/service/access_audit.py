"""What the service itself changes of access rules and quotas, in the audit: each rule and each quota by its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import structlog

from anabranch.migration.access.diff import AccessDiff
from anabranch.migration.access.values import WaveName
from anabranch.model.clock import now_ms
from anabranch.service.access_looks import Came, done_words, planned_words
from anabranch.service.hub import Hub
from anabranch.service.stored import Stored
from anabranch.store.audit import LONGEST, AuditEntry, Outcome
from anabranch.store.errors import StoreError

ACCOUNT, VERB = "(service)", "migrations.access"
"""Whom and what the audit names: nobody has asked for it but the migration's file."""

log = structlog.get_logger()


class AccessAudit:
    """The audit of what rounds change; who listens hears of each entry."""

    def __init__(self, stored: Stored, hub: Hub) -> None:
        self._stored = stored
        self._hub = hub
        self._failed: dict[WaveName, str] = {}

    async def note(self, owner: WaveName, planned: AccessDiff, came: Came) -> None:
        """Note what a round did for a wave, or what it was to do and why it failed; what fails again is not said again.

        A store that does not take it holds nothing up: the log has it, too.
        """
        if isinstance(came, str):
            outcome, words = Outcome.FAILED, [came, *planned_words(planned)]
            if self._failed.get(owner) == (said := "; ".join(words)):
                return
            self._failed[owner] = said
        else:
            outcome, words = Outcome.DONE, done_words(came)
            self._failed.pop(owner, None)
        for detail in _details(f"wave {owner.wave}: ", words):
            entry = AuditEntry(now_ms(), ACCOUNT, "", "", VERB, f"migration {owner.migration}", outcome, detail)
            try:
                await self._stored.ask(partial(self._stored.audit.add, entry))
            except StoreError as error:
                log.warning("a change could not be kept in the audit", why=error.message, detail=detail)
            else:
                self._hub.tell("audit", {"verb": VERB, "account": ACCOUNT, "outcome": outcome.value})


def _details(head: str, words: Sequence[str]) -> Iterator[str]:
    """Texts that an entry can hold each, with all of these; none for none."""
    text = ""
    for word in words:
        more = f"{text}; {word}" if text else head + word
        if text and len(more) > LONGEST:
            yield text
            more = head + word
        text = more
    if text:
        yield text
