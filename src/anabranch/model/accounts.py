"""Who may do what through the service."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

NAMES = r"^[A-Za-z0-9][A-Za-z0-9._@+-]{0,199}$"
"""What an account that an admin makes may be called."""


class Role(IntEnum):
    """What an account may do; each role may do what those below it may.

    ``CLIENT`` is an application, which asks where its own clients are led and where offsets are on the other side, and
    sees nothing else.  ``VIEWER`` looks.  ``OPERATOR`` plans, and does what the same noun undoes.  ``APPROVER`` applies
    plans of what it does not undo.  ``ADMIN`` manages accounts, tokens and clusters.
    """

    CLIENT = 0
    VIEWER = 1
    OPERATOR = 2
    APPROVER = 3
    ADMIN = 4

    @property
    def word(self) -> str:
        """As it is written everywhere."""
        return self.name.lower()

    @classmethod
    def of(cls, word: str) -> Role:
        """The role of this name; raises ``ValueError``."""
        for role in cls:
            if role.word == word:
                return role
        raise ValueError(f"{word!r} is no role: choose one of {', '.join(role.word for role in cls)}")


@dataclass(frozen=True, slots=True)
class Account:
    """A person or a program.  ``issuer`` is who vouches for it, empty where only a token does."""

    id: str
    name: str
    role: Role
    issuer: str = ""
    created_at: int = 0
    disabled_at: int | None = None
