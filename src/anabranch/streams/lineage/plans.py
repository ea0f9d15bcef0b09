"""Spark's JSON of an analysed plan, read into trees.

Spark writes a tree as a list of its nodes, each before its children, with their number.  An expression of a plan's node
is such a list in a field, and the plan of a subquery is one in a field of an expression.

Invariants
    L1  what is read has as many nodes as the text: no node is passed over, none is left.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.errors import ProtocolError


@dataclass(eq=False)
class PlanFormatError(ProtocolError):
    """A text that is no plan as Spark writes it."""

    problem: str

    _message = "this is no analysed plan of Spark: {problem}"
    _hint = "give the text of queryExecution().analyzed().toJSON() of Spark 4"


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a plan or of an expression: its class, its own fields, its children."""

    type: str
    fields: Mapping[str, Any]
    children: tuple[Node, ...]

    @property
    def name(self) -> str:
        """The class without its package."""
        return self.type.rpartition(".")[2].rstrip("$")

    @property
    def child(self) -> Node:
        """The only child; raises PlanFormatError."""
        if len(self.children) != 1:
            raise PlanFormatError(f"{self.name} has {len(self.children)} children, and not one")
        return self.children[0]

    @property
    def id(self) -> int:
        """The expression id of an attribute or an alias; raises PlanFormatError."""
        try:
            return int(self.fields["exprId"]["id"])
        except (KeyError, TypeError, ValueError):
            raise PlanFormatError(f"{self.name} has no expression id") from None

    @property
    def label(self) -> str:
        """The name that an attribute or an alias gives."""
        return str(self.fields.get("name", ""))

    def expression(self, name: str) -> Node | None:
        """The expression in a field; None where the field is empty."""
        found = self.fields.get(name)
        return tree(found) if found else None

    def expressions(self, name: str) -> tuple[Node, ...]:
        """The expressions in a field that has a list of them."""
        return tuple(tree(one) for one in self.fields.get(name) or ())

    def all_expressions(self) -> tuple[Node, ...]:
        """Each expression of any field, for a node of which nothing else is known."""
        return tuple(one for field in self.fields.values() for one in _found(field))


def read_plan(text: str) -> Node:
    """The tree of an analysed plan; raises PlanFormatError (L1)."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise PlanFormatError(str(error)) from None
    return tree(found)


def tree(nodes: Any) -> Node:
    """The tree of a list of nodes; raises PlanFormatError (L1)."""
    if not isinstance(nodes, Sequence) or isinstance(nodes, str) or not nodes:
        raise PlanFormatError("a list of nodes was expected")
    waiting: list[Node] = []
    for one in reversed(nodes):
        try:
            number, kind = int(one["num-children"]), str(one["class"])
        except (KeyError, TypeError, ValueError):
            raise PlanFormatError("a node has no class, or no number of children") from None
        if not 0 <= number <= len(waiting):
            raise PlanFormatError(f"{kind} has fewer children than it says")
        children = tuple(waiting.pop() for _ in range(number))
        waiting.append(Node(kind, one, children))
    if len(waiting) != 1:
        raise PlanFormatError(f"it has {len(waiting)} roots")
    return waiting[0]


def _found(field: Any) -> list[Node]:
    if not isinstance(field, list) or not field:
        return []
    if isinstance(field[0], dict):
        is_expression = "num-children" in field[0] and ".plans." not in str(field[0].get("class"))
        return [tree(field)] if is_expression else []
    return [one for part in field for one in _found(part)]
